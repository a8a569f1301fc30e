//! Runs test programs in parallel, and then those that need the whole machine one at a time. Unless too many fail,
//! tests that fail or are not judged are run a second time, one at a time.

use crate::programs::Program;
use crate::steps::shown;
use crate::test_report::{self, Test};
use std::fmt::Display;
use std::fs;
use std::io::{self, Write, stderr, stdout};
use std::path::PathBuf;
use std::process::Output;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

/// If more programs than this fail or are not judged, no program is run again, because a busy machine is not the cause.
const MOST_AGAIN: usize = 8;
const MOST_NOT_JUDGED: usize = 3;
const SLOWEST: usize = 10;

struct Ended<'a> {
    program: &'a Program,
    succeeded: bool,
    tests: Vec<Test>,
}

/// The file to which each test that is not judged appends a line: its name, a colon and the reason.
pub(crate) struct NotJudged(pub(crate) PathBuf);

impl NotJudged {
    fn take(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        let _ = fs::remove_file(&self.0); // the file may not exist
        text.lines().map(str::to_owned).collect()
    }
}

pub(crate) fn succeed(
    programs: &[Program],
    lanes: usize,
    not_judged: &NotJudged,
    run: &(impl Fn(&Program) -> io::Result<Output> + Sync),
) -> bool {
    not_judged.take();
    let (alone, parallel): (Vec<_>, Vec<_>) =
        programs.iter().cloned().partition(Program::needs_the_machine);
    let mut ended = run_all(&parallel, lanes, run);
    ended.extend(run_all(&alone, 1, run));
    print_slowest(&ended);
    let unclear = not_judged.take();
    let again: Vec<_> = ended.iter().filter_map(|ended| ended.again(&unclear)).collect();
    if again.len() > MOST_AGAIN {
        print_each("FAILED", &again);
        return false;
    }
    let ended = run_all(&again, 1, run);
    print_each("NOT JUDGED at first", &unclear);
    for ended in &ended {
        let outcome =
            if ended.succeeded { "failed or was not judged, then passed alone" } else { "FAILED" };
        eprintln!("{outcome}: {}", ended.program);
    }
    let unclear = not_judged.take();
    print_each("NOT JUDGED", &unclear);
    unclear.len() <= MOST_NOT_JUDGED && ended.iter().all(|ended| ended.succeeded)
}

fn run_all<'a>(
    programs: &'a [Program],
    lanes: usize,
    run: &(impl Fn(&Program) -> io::Result<Output> + Sync),
) -> Vec<Ended<'a>> {
    let waiting = Mutex::new((1..).zip(programs));
    let all = Mutex::new(Vec::new());
    let take = || waiting.lock().unwrap().next();
    let lane = || {
        while let Some((number, program)) = take() {
            let title = format!("[{number}/{}] {program}", programs.len());
            eprintln!("{title} begins");
            let began = Instant::now();
            let output = run(program);
            let mut all = all.lock().unwrap();
            println!("\n{title}, {}", shown(began.elapsed()));
            all.push(Ended::print(program, output));
        }
    };
    thread::scope(|scope| (0..lanes).for_each(|_| drop(scope.spawn(lane))));
    all.into_inner().unwrap()
}

impl<'a> Ended<'a> {
    fn print(program: &'a Program, output: io::Result<Output>) -> Ended<'a> {
        let printed = output.and_then(|output| {
            stdout().write_all(&output.stdout)?;
            stderr().write_all(&output.stderr)?;
            Ok(output)
        });
        match printed {
            Ok(output) => {
                let tests = test_report::tests(&String::from_utf8_lossy(&output.stdout));
                Ended { program, succeeded: output.status.success(), tests }
            }
            Err(error) => {
                eprintln!("{error}");
                Ended { program, succeeded: false, tests: Vec::new() }
            }
        }
    }

    /// Returns the program with the tests to run again. If the program failed without a failed test, returns the whole
    /// program.
    fn again(&self, unclear: &[String]) -> Option<Program> {
        let is_unclear = |test: &&Test| {
            let reason = |line: &String| {
                line.strip_prefix(&test.name).is_some_and(|rest| rest.starts_with(": "))
            };
            test.has_failed && !self.succeeded || unclear.iter().any(reason)
        };
        let names: Vec<_> =
            self.tests.iter().filter(is_unclear).map(|test| test.name.clone()).collect();
        match (self.succeeded, names.is_empty()) {
            (true, true) => None,
            (false, true) => Some(self.program.clone()),
            (_, false) => Some(self.program.with_only(&names)),
        }
    }
}

fn print_each(outcome: &str, all: &[impl Display]) {
    for one in all {
        eprintln!("{outcome}: {one}");
    }
}

fn print_slowest(ended: &[Ended<'_>]) {
    let tests =
        ended.iter().flat_map(|ended| ended.tests.iter().map(move |test| (test, ended.program)));
    let mut tests: Vec<_> = tests.filter(|(test, _)| !test.took.is_zero()).collect();
    tests.sort_by_key(|(test, _)| std::cmp::Reverse(test.took));
    eprintln!("\nSlowest tests:");
    for (test, program) in tests.iter().take(SLOWEST) {
        eprintln!("{:>10}  {} in {program}", shown(test.took), test.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::env::temp_dir;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{ExitStatus, id};

    fn succeeds(outcomes: [&str; 2], reason: &str) -> (bool, usize) {
        let programs = ["a", "b", "c"].map(|name| Program::new(name, "/", name, &[]));
        let file = temp_dir().join(format!("not-judged-{}", id()));
        let runs = Mutex::new(0);
        let run = |program: &Program| {
            let mut outcome = "ok";
            if program.to_string().starts_with('b') {
                let mut runs = runs.lock().unwrap();
                outcome = outcomes[*runs];
                *runs += 1;
                if !reason.is_empty() {
                    fs::write(&file, reason)?;
                }
            }
            let stdout = format!("test law ... {outcome} <0.1s>\n").into_bytes();
            let status = ExitStatus::from_raw(if outcome == "ok" { 0 } else { 256 });
            Ok(Output { status, stdout, stderr: Vec::new() })
        };
        let succeeded = succeed(&programs, 2, &NotJudged(file.clone()), &run);
        (succeeded, runs.into_inner().unwrap())
    }

    #[test]
    fn a_test_that_failed_runs_once_more_and_then_counts() {
        assert_eq!(succeeds(["ok", "never"], ""), (true, 1));
        assert_eq!(succeeds(["FAILED", "ok"], ""), (true, 2));
        assert_eq!(succeeds(["FAILED", "FAILED"], ""), (false, 2));
        assert_eq!(succeeds(["ok", "ok"], "law: stalled for 0.4 s\n"), (true, 2));
        assert_eq!(succeeds(["ok", "ok"], &"law: stalled\n".repeat(4)), (false, 2));
    }

    #[test]
    fn programs_that_need_the_machine_run_after_the_others_and_alone() {
        let names = ["alone-1 of cli", "laws-1 of core", "fleet-1 of trials", "load-1 of load"];
        let programs = names.map(|name| Program::new(name, "/", name, &[]));
        let (running, began) = (Mutex::new(0), Mutex::new(Vec::new()));
        let run = |program: &Program| {
            *running.lock().unwrap() += 1;
            began.lock().unwrap().push((program.to_string(), *running.lock().unwrap()));
            thread::yield_now();
            *running.lock().unwrap() -= 1;
            Ok(Output { status: ExitStatus::default(), stdout: Vec::new(), stderr: Vec::new() })
        };
        let file = temp_dir().join(format!("alone-{}", id()));
        assert!(succeed(&programs, 3, &NotJudged(file), &run));
        let began = began.into_inner().unwrap();
        let last = [("alone-1 of cli".to_owned(), 1), ("fleet-1 of trials".to_owned(), 1)];
        assert_eq!(began[2..], last);
    }

    #[test]
    fn a_program_that_cannot_run_fails() {
        let programs = [Program::new("a", "/", "a", &[])];
        let file = NotJudged(temp_dir().join(format!("no-program-{}", id())));
        assert!(!succeed(&programs, 1, &file, &|_| Err(io::ErrorKind::NotFound.into())));
    }
}
