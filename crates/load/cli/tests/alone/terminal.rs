//! Tests the keys that are typed at a terminal, and the status line.

use crate::command::scratch;
use rexpect::session::PtySession;
use rexpect::spawn;
use serde_json::Value;
use std::fs;
use std::path::Path;

const TIMEOUT_MS: Option<u64> = Some(60_000);

fn line(options: &str, json: &Path) -> String {
    format!("{} run --no-tui {options} --json {}", env!("CARGO_BIN_EXE_nanopace"), json.display())
}

/// Waits for the run's first status, after which the run reads keys.
fn begin(session: &mut PtySession) {
    session.exp_string("keys: ").unwrap();
    session.exp_string(" of ").unwrap();
}

fn type_and_see(session: &mut PtySession, keys: &str, shown: &str) {
    session.send(keys).unwrap();
    session.flush().unwrap();
    session.exp_string(shown).unwrap_or_else(|error| panic!("{keys:?}: no {shown:?}: {error}"));
}

#[test]
fn keys_change_the_rate_and_end_the_run() {
    let json = scratch("keys.json");
    let mut session = spawn(&line("--rate 1k/s --duration 10min", &json), TIMEOUT_MS).unwrap();
    begin(&mut session);
    type_and_see(&mut session, "+", "of 1100/s");
    type_and_see(&mut session, "-", "of 1000/s");
    type_and_see(&mut session, "2", "> 2");
    type_and_see(&mut session, "50\r", "of 250/s");
    type_and_see(&mut session, " ", "(paused)");
    type_and_see(&mut session, " ", "of 250/s  backlog");
    // Terminals send this byte for Ctrl-\ and for Ctrl-4. It is not a digit, so Enter sets nothing.
    type_and_see(&mut session, "\x1c\r", "of 250/s");
    type_and_see(&mut session, "0\r", "rate");
    type_and_see(&mut session, "q", " scheduled: ");
    session.exp_eof().unwrap();
    let results: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!(results["settings"]["rate"], "1k/s");
}

#[test]
fn keys_end_a_shape() {
    let json = scratch("shape.json");
    // The words of a shape must stay one argument.
    let options = "--shape 'ramp 1k/s..1k/s 5min, hold 5min'";
    let mut session = spawn(&line(options, &json), TIMEOUT_MS).unwrap();
    begin(&mut session);
    type_and_see(&mut session, " ", "(paused)");
    type_and_see(&mut session, " ", "/s  backlog");
    type_and_see(&mut session, "+", "of 1100/s");
    type_and_see(&mut session, "2k\r", "of 2000/s");
    type_and_see(&mut session, "q", " scheduled: ");
    session.exp_eof().unwrap();
    let results: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!(results["settings"]["shape"], "ramp 1k/s..1k/s 5min, hold 5min");
}

#[test]
fn a_shape_without_requests_left_takes_no_rate() {
    let json = scratch("over.json");
    let options = "--shape 'hold 200/s 500ms, hold 0/s 10min'";
    let mut session = spawn(&line(options, &json), TIMEOUT_MS).unwrap();
    begin(&mut session);
    session.exp_string("of 0").unwrap();
    type_and_see(&mut session, "2k\r", "the load has no requests left");
    type_and_see(&mut session, "1", "> 1");
    type_and_see(&mut session, "+", "the load has no requests left");
    type_and_see(&mut session, "q", " scheduled: ");
    session.exp_eof().unwrap();
    let results: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!((&results["due"], &results["started"]), (&100.into(), &100.into()), "{results}");
}

#[test]
fn keys_set_the_speed_of_a_recording() {
    let (json, starts) = (scratch("speed.json"), scratch("speed.starts"));
    fs::write(&starts, "0\n1\n2000\n2000\n").unwrap();
    let options = format!("--arrivals replay:{}", starts.display());
    let mut session = spawn(&line(&options, &json), TIMEOUT_MS).unwrap();
    begin(&mut session);
    // The run ends with its last request, and not at the time when this request was due before the change.
    type_and_see(&mut session, "2k\r", " scheduled: ");
    session.exp_eof().unwrap();
    let results: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!((&results["due"], &results["started"]), (&4.into(), &4.into()), "{results}");
}

#[test]
fn a_shell_can_suspend_and_continue_it() {
    let json = scratch("suspended.json");
    let mut shell = spawn("bash --norc --noprofile -i", TIMEOUT_MS).unwrap();
    shell.send_line(&line("--rate 100 --duration 10min", &json)).unwrap();
    shell.exp_string("keys: ").unwrap();
    shell.exp_string(" of 100/s").unwrap();
    shell.send_control('z').unwrap();
    shell.exp_string("Stopped").unwrap();
    shell.send_line("fg").unwrap();
    shell.send("+").unwrap();
    shell.flush().unwrap();
    shell.exp_string("of 110/s").unwrap();
    shell.send("q").unwrap();
    shell.flush().unwrap();
    shell.exp_string(" scheduled: ").unwrap();
    shell.exp_regex(r"bash-[0-9.]+[$#] ").unwrap();
    shell.send_line("exit").unwrap();
    shell.exp_eof().unwrap();
}
