//! The alternate screen of the terminal behind standard error: what was on the terminal before
//! comes back when it is left.
//!
//! It is left from anywhere: at the end of a run, by an interrupt too many, before a panic is shown.
//! So whether it is shown belongs to the process, and is only looked at and changed under the lock
//! of standard error.

use crossterm::cursor::{Hide, Show};
use crossterm::terminal::{self, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{execute, style};
use std::io::{self, Write};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::Duration;
use std::{panic, thread};

/// How often it was entered or left: odd while it is shown.
// Relaxed at every place: the lock of standard error orders them. No model.
static TURNS: AtomicU32 = AtomicU32::new(0);

/// A terminal that takes nothing must not keep the process from ending.
const PATIENCE: Duration = Duration::from_millis(500);

/// Shows the alternate screen, and a panic of any thread on an ordinary terminal.
pub fn open() {
    let shown = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        leave();
        let _ = terminal::disable_raw_mode();
        shown(panic);
    }));
    enter();
}

/// Shows it, empty.
pub fn enter() {
    let mut stderr = io::stderr().lock();
    if !is_odd(TURNS.load(Ordering::Relaxed)) {
        TURNS.fetch_add(1, Ordering::Relaxed);
        let _ = execute!(stderr, EnterAlternateScreen, Hide);
    }
}

/// Shows what was on the terminal before. Returns whether it was not.
pub fn leave() -> bool {
    let mut stderr = io::stderr().lock();
    let is_shown = is_odd(TURNS.load(Ordering::Relaxed));
    if is_shown {
        TURNS.fetch_add(1, Ordering::Relaxed);
        let _ = execute!(stderr, style::ResetColor, LeaveAlternateScreen, Show);
    }
    is_shown
}

/// As [`leave`], but gives up on a terminal that takes nothing: for the end of the process.
pub fn leave_soon() {
    let (done, is_done) = mpsc::channel();
    let left = thread::Builder::new().spawn(move || {
        leave();
        let _ = done.send(());
    });
    if left.is_ok() {
        let _ = is_done.recv_timeout(PATIENCE);
    }
}

/// Which time it is that it is shown, if it is: what was drawn another time is gone.
pub fn turn() -> Option<u32> {
    let _stderr = io::stderr().lock();
    Some(TURNS.load(Ordering::Relaxed)).filter(|&turn| is_odd(turn))
}

/// Writes to it, unless it has been left or shown anew since that turn.
pub fn write(turn: u32, bytes: &[u8]) {
    let mut stderr = io::stderr().lock();
    if TURNS.load(Ordering::Relaxed) == turn {
        // A terminal that is gone shows nothing.
        let _ = stderr.write_all(bytes).and_then(|()| stderr.flush());
    }
}

fn is_odd(turn: u32) -> bool {
    turn % 2 == 1
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use rexpect::session::spawn_command;
    use std::env;
    use std::process::Command;

    /// Tells the process that this test starts to panic.
    const PANICS: &str = "NANOPACE_TEST_PANICS";

    /// What a shell sees around this process, which panics while the alternate screen is shown.
    const AROUND: &str = r#"
        stty -g
        "$0" --exact console::alternate::tests::a_panic_is_shown_on_an_ordinary_terminal --nocapture
        echo; stty -g; echo over"#;

    #[test]
    fn a_panic_is_shown_on_an_ordinary_terminal() {
        if env::var_os(PANICS).is_some() {
            terminal::enable_raw_mode().unwrap();
            open();
            write(turn().unwrap(), b"a picture");
            let drawing = thread::spawn(|| panic!("the widget broke"));
            assert!(drawing.join().is_err() && turn().is_none());
            write(1, b"too late");
            return;
        }
        let mut command = Command::new("sh");
        command.args(["-c", AROUND]).arg(env::current_exe().unwrap()).env(PANICS, "1");
        let mut terminal = spawn_command(command, Some(60_000)).unwrap();
        let before = terminal.read_line().unwrap();
        assert!(before.contains(':'), "{before}");
        terminal.exp_string("\x1b[?1049h").unwrap();
        terminal.exp_string("a picture").unwrap();
        terminal.exp_string("\x1b[?1049l").unwrap();
        terminal.exp_string("\x1b[?25h").unwrap();
        terminal.exp_string("the widget broke").unwrap();
        terminal.exp_string("1 passed").unwrap();
        let after = terminal.exp_string("over").unwrap();
        assert!(after.lines().any(|line| line == before), "{before} {after}");
        assert!(!after.contains("too late") && !after.contains('\x1b'), "{after:?}");
    }
}
