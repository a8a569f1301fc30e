//! Starts runs of the program, waits for their end or their first status line, and checks cases in parallel.

use crate::command::{nanopace, object, scratch};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::thread;

pub(crate) fn output(line: &str) -> Output {
    nanopace(line).output().unwrap()
}

/// Returns the output of a command whose options may contain spaces and quotes.
pub(crate) fn output_of(args: &[&str]) -> Output {
    nanopace("").args(args).output().unwrap()
}

pub(crate) fn results(line: &str) -> Value {
    object(&output(&format!("{line} --json -")))
}

pub(crate) fn file(name: &str, content: impl AsRef<[u8]>) -> String {
    let path = scratch(name);
    fs::write(&path, content).unwrap();
    path.display().to_string()
}

pub(crate) fn refusal(output: Output) -> String {
    only_line(output, 2)
}

pub(crate) fn unreachable(output: Output) -> String {
    only_line(output, 5)
}

pub(crate) fn only_line(output: Output, status: i32) -> String {
    let line = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), line.lines().count()), (Some(status), 1), "{line}");
    assert!(output.stdout.is_empty(), "{line}");
    line
}

pub(crate) struct Progress {
    pub(crate) said: String,
    pub(crate) errors: BufReader<ChildStderr>,
}

/// Starts a run, and reads its standard error up to the first status line, which shows that the schedule has started.
pub(crate) fn at_work(line: &str) -> (Child, Progress) {
    command_at_work(&mut nanopace(line))
}

pub(crate) fn command_at_work(command: &mut Command) -> (Child, Progress) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let (mut said, mut read) = (String::new(), String::new());
    while !read.contains("  backlog ") {
        read.clear();
        assert_ne!(errors.read_line(&mut read).unwrap(), 0, "{command:?} has ended");
        said.push_str(&read);
    }
    (child, Progress { said, errors })
}

pub(crate) struct Target {
    pub(crate) process: Child,
    pub(crate) url: String,
}

impl Target {
    pub(crate) fn start(options: &str) -> Target {
        let line = format!("run --rate 1/h --duration 1h {options}");
        let mut process =
            nanopace(&line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut title = String::new();
        BufReader::new(process.stderr.take().unwrap()).read_line(&mut title).unwrap();
        let url = title.split_whitespace().next().unwrap().to_owned();
        Target { process, url }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Checks each case in its own thread, because runs mostly wait.
pub(crate) fn side_by_side<C: Send>(
    cases: impl IntoIterator<Item = C>,
    check: impl Fn(C) + Send + Sync,
) {
    let check = &check;
    thread::scope(|scope| {
        for case in cases {
            scope.spawn(move || check(case));
        }
    });
}
