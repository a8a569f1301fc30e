//! Tests the full-screen view in an emulated terminal.

use crate::command::{scratch, signal};
use rexpect::session::{PtySession, spawn_command};
use serde_json::Value;
use std::fs;
use std::iter;
use std::num::NonZeroU16;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};
use vt100::{Parser, Screen};

const TIMEOUT: Duration = Duration::from_secs(60);

const AROUND: &str = r#"
    stty rows 24 cols 80
    echo "terminal $(tty) is $(stty -g)."
    sh -c 'echo "process $$." && exec "$@"' sh "$@"
    echo "status $?"
    echo "terminal $(tty) is $(stty -g)."
    echo over"#;

fn size(characters: u16) -> NonZeroU16 {
    NonZeroU16::new(characters).unwrap()
}

struct Terminal {
    session: PtySession,
    parser: Parser,
    written: Vec<u8>,
}

impl Terminal {
    fn new(command: Command) -> Terminal {
        let timeout = u64::try_from(TIMEOUT.as_millis()).ok();
        let session = spawn_command(command, timeout).unwrap();
        let parser = Parser::new(size(24), size(80), 1_000);
        Terminal { session, parser, written: Vec::new() }
    }

    /// Starts a run in a terminal. In `options`, `|` stands for a space within an argument.
    fn run(options: &str, json: &Path) -> Terminal {
        let mut command = Command::new("sh");
        command.args(["-c", AROUND, "sh", env!("CARGO_BIN_EXE_nanopace"), "run", "--json"]);
        command.arg(json).args(options.split(' ').map(|word| word.replace('|', " ")));
        command.env("TERM", "xterm-256color");
        Terminal::new(command)
    }

    fn until(&mut self, what: &str, is_shown: impl Fn(&Screen) -> bool) {
        let begin = Instant::now();
        while !is_shown(self.parser.screen()) {
            let shown = self.parser.screen().contents();
            assert!(begin.elapsed() < TIMEOUT, "no {what:?} in\n{shown}");
            self.read();
        }
    }

    /// Waits until the terminal has received the text, even if other text covers it at once.
    fn until_written(&mut self, text: &str) {
        let begin = Instant::now();
        while !self.written().contains(text) {
            assert!(begin.elapsed() < TIMEOUT, "no {text:?} in\n{}", self.written());
            self.read();
        }
    }

    fn read(&mut self) {
        thread::sleep(Duration::from_millis(5));
        // Each item is a byte, even if it is a part of a character of several bytes.
        let read = iter::from_fn(|| self.session.try_read()).take(1_000);
        let bytes: Vec<u8> = read.map(|char| u8::try_from(char).unwrap()).collect();
        self.parser.process(&bytes);
        self.written.extend(bytes);
    }

    fn see(&mut self, text: &str) {
        self.until(text, |screen| screen.contents().contains(text));
    }

    fn type_and_see(&mut self, keys: &str, shown: &str) {
        self.session.send(keys).unwrap();
        self.session.flush().unwrap();
        self.see(shown);
    }

    fn written(&self) -> String {
        String::from_utf8_lossy(&self.written).into_owned()
    }

    fn word_behind(&self, word: &str) -> String {
        let written = self.written();
        let (_, behind) = written.split_once(word).unwrap();
        behind.split_whitespace().next().unwrap().trim_end_matches('.').to_owned()
    }

    fn resize(&mut self, rows: u16, columns: u16) {
        self.parser.screen_mut().set_size(size(rows), size(columns));
        let size = [rows.to_string(), columns.to_string()];
        let name = self.word_behind("terminal ");
        let mut stty = Command::new("stty");
        stty.args(["-F", &name, "rows", &size[0], "cols", &size[1]]);
        assert!(stty.status().unwrap().success());
    }

    fn is_as_before(&mut self, status: &[&str]) {
        self.until("over", |screen| screen.contents().lines().any(|line| line == "over"));
        let written = self.written();
        let reports: Vec<_> = written.match_indices("terminal /").collect();
        let state = |at: usize| written[at..].split('.').next().unwrap().to_owned();
        assert_eq!(state(reports[0].0), state(reports[1].0), "{written}");
        let screen = self.parser.screen();
        assert!(!screen.alternate_screen() && !screen.hide_cursor(), "{}", screen.contents());
        assert!(screen.fgcolor() == vt100::Color::Default && !screen.bold());
        let ended = self.word_behind("status ");
        assert!(status.contains(&ended.as_str()), "{ended}");
    }
}

/// The exit statuses of a run that the user ends. The status is 4 if slots are overdue at that time, as on a busy
/// machine.
const ENDED: [&str; 2] = ["0", "4"];

fn results(json: &Path) -> Value {
    serde_json::from_slice(&fs::read(json).unwrap()).unwrap()
}

#[test]
fn the_view_starts_is_resized_takes_keys_and_ends() {
    let json = scratch("screen.json");
    let mut terminal = Terminal::run("--rate 1k/s --duration 10min", &json);
    terminal.see("running");
    assert!(terminal.parser.screen().alternate_screen());
    for text in ["of 1000/s", "10m", "requests per second", "16 connections", "? help"] {
        terminal.see(text);
    }
    for (rows, columns) in [(40, 120), (5, 30), (1, 9), (30, 100)] {
        terminal.resize(rows, columns);
        terminal.until("another size", |screen| {
            let is_filled = rows < 10 || screen.contents().lines().count() == usize::from(rows);
            is_filled && !screen.contents().trim().is_empty()
        });
    }
    terminal.type_and_see("+", "of 1100/s");
    terminal.type_and_see("-", "of 1000/s");
    terminal.type_and_see("?", "raise the rate");
    // A key directly after Escape would be read as a key with Alt. The help may not have covered the whole view yet, so
    // its own text is checked too.
    terminal.session.send("\x1b").unwrap();
    terminal.session.flush().unwrap();
    terminal.until("end of the help", |screen| {
        let shown = screen.contents();
        shown.contains("last second") && !shown.contains("raise the rate")
    });
    terminal.type_and_see(" ", "paused");
    terminal.type_and_see(" ", "running");
    terminal.type_and_see("25q", "rate> 25q");
    terminal.type_and_see("\x7f0\r", "of 250/s");
    terminal.type_and_see("q", " scheduled: ");
    terminal.is_as_before(&ENDED);
    assert_eq!(results(&json)["settings"]["rate"], "1k/s");
}

#[test]
fn a_shape_is_typed_and_corrected() {
    let json = scratch("typed.json");
    let mut terminal = Terminal::run("--rate 1k/s --duration 10min", &json);
    terminal.see("running");
    terminal.type_and_see("shold 200/s 5min, q1", "shape> hold 200/s 5min, q1");
    terminal.type_and_see("\r", "column 18");
    terminal.type_and_see("\x1b[3~\x1b[3~hold 300/s 5min\r", "hold 200/s 5min, hold 300/s 5min");
    terminal.see("of 200");
    terminal.type_and_see("sq", "shape> q");
    terminal.type_and_see("\x1b", "faster");
    terminal.type_and_see("q", " scheduled: ");
    terminal.is_as_before(&ENDED);
}

#[test]
fn an_interrupt_ends_it_while_a_text_is_typed() {
    let options = "--rate 100 -c 3 --duration 10min --timeout 10min --target-stall 10min@0s";
    let mut terminal = Terminal::run(options, &scratch("interrupted.json"));
    terminal.see("running");
    terminal.type_and_see("squit", "shape> quit");
    terminal.type_and_see("\x03", "waiting for responses");
    terminal.type_and_see("\x03", "3 given up");
    terminal.is_as_before(&["4"]);
}

/// Nothing starts during the stall, so only the requests in flight can show the cause of the lateness.
#[test]
fn a_stall_in_progress_is_attributed_to_the_target() {
    let options = "--rate 200 -c 2 --duration 10min --timeout 10min --target-stall 10min@1s";
    let mut terminal = Terminal::run(options, &scratch("lasting.json"));
    terminal.see("lateness: target 9");
    terminal.type_and_see("q", "waiting for 2 responses");
    terminal.type_and_see("q", "2 given up");
    terminal.is_as_before(&["4"]);
}

#[test]
fn a_further_interrupt_ends_the_view_at_once() {
    let options = "--rate 100 -c 3 --duration 10min --timeout 10min --target-stall 10min@0s";
    let mut terminal = Terminal::run(options, &scratch("too-many.json"));
    terminal.see("running");
    terminal.type_and_see("\x03\x03\x03\x03", "status");
    // The second interrupt may have ended the run before the third one arrived.
    terminal.is_as_before(&["130", "4"]);
}

#[test]
fn signals_end_it_with_a_report() {
    for name in ["-TERM", "-INT", "-HUP"] {
        let json = scratch(&format!("signal{name}.json"));
        let mut terminal = Terminal::run("--rate 100 --duration 10min", &json);
        terminal.see("running");
        signal(terminal.word_behind("process ").parse().unwrap(), name);
        terminal.see(" scheduled: ");
        terminal.is_as_before(&ENDED);
    }
}

#[test]
fn a_shell_can_suspend_and_continue_it() {
    let mut command = Command::new("bash");
    command.args(["--norc", "--noprofile", "-i"]).env("TERM", "xterm-256color");
    let mut terminal = Terminal::new(command);
    let program = env!("CARGO_BIN_EXE_nanopace");
    let line = format!("stty rows 24 cols 80; {program} run --rate 100 --duration 10min\r");
    terminal.type_and_see(&line, "running");
    terminal.type_and_see("\x1a", "Stopped");
    assert!(!terminal.parser.screen().alternate_screen());
    terminal.type_and_see("fg\r", "running");
    assert!(terminal.parser.screen().alternate_screen());
    terminal.see("? help");
    terminal.type_and_see("+", "of 110/s");
    terminal.type_and_see("q", " scheduled: ");
    assert!(!terminal.parser.screen().alternate_screen());
    // A shell discards keys typed before its prompt.
    terminal.until("a prompt", |screen| screen.contents().trim_end().ends_with(['$', '#']));
    terminal.type_and_see("echo $((40 + 2))\r", "\n42");
    terminal.session.send_line("exit").unwrap();
    terminal.session.exp_eof().unwrap();
}

#[test]
fn the_view_covers_output_of_other_programs() {
    let mut terminal = Terminal::run("--rate 100 --duration 10min", &scratch("others.json"));
    terminal.see("running");
    let name = terminal.word_behind("terminal ");
    fs::write(name, "\x1b[3;1Hsomebody else was here").unwrap();
    terminal.until_written("somebody else was here");
    terminal.until("the view", |screen| !screen.contents().contains("somebody"));
    terminal.type_and_see("q", " scheduled: ");
    terminal.is_as_before(&ENDED);
}

#[test]
fn lines_are_shown_if_requested_or_if_the_view_is_not_possible() {
    for (options, name) in [("--no-tui", "xterm"), ("--rate 100", "dumb"), ("--rate 100", "")] {
        let mut command = Command::new("sh");
        command.args(["-c", AROUND, "sh", env!("CARGO_BIN_EXE_nanopace"), "run"]);
        command.args(["--duration", "1s"]).args(options.split(' ')).env("TERM", name);
        let mut terminal = Terminal::new(command);
        terminal.see(" scheduled: ");
        // On a busy machine, less than half of the load may start.
        terminal.is_as_before(&["0", "3", "4"]);
        assert!(!terminal.written().contains("\x1b[?1049"), "{}", terminal.written());
    }
}
