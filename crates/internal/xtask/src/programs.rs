//! The workspace's test programs, and the Python package's tests. Cargo builds the programs and tells where they
//! are, but runs them one after the other; most of them wait most of the time, so here some run beside each other.

use crate::steps::shown;
use serde_json::Value;
use std::env::current_exe;
use std::io::{self, Write, stderr, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

/// A test program.
#[derive(Debug, PartialEq)]
pub(crate) struct Program {
    name: String,
    /// Its package's folder: where its tests expect to be.
    folder: PathBuf,
    path: PathBuf,
    words: Vec<String>,
}

impl Program {
    /// The test programs that cargo tells of, to be run with these words: `messages` has a JSON object in each line.
    pub(crate) fn told_in(messages: &str, words: &[String]) -> Vec<Program> {
        let objects = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
        objects.filter_map(|message| Program::told(&message, words)).collect()
    }

    /// This program, as one of that name which does what `word` says.
    pub(crate) fn own(name: &str, root: &str, word: &str) -> io::Result<Program> {
        let (name, path) = (name.to_owned(), current_exe()?);
        Ok(Program { name, folder: root.into(), path, words: vec![word.into()] })
    }

    fn told(message: &Value, words: &[String]) -> Option<Program> {
        let path = PathBuf::from(message["executable"].as_str()?);
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
        let last = |path: &Path| path.file_name().unwrap_or_default().display().to_string();
        // Its own name ends with a number of cargo's.
        let name = format!("{} of {}", last(&path), last(&folder));
        let words = words.to_vec();
        (message["profile"]["test"] == true).then_some(Program { name, folder, path, words })
    }

    /// The command that runs it.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.words).current_dir(&self.folder);
        command
    }
}

/// Runs all programs, `lanes` of them at a time, as `run` says. Prints what each one printed when it has
/// ended. Returns whether all of them succeeded.
pub(crate) fn run_all(
    programs: &[Program],
    lanes: usize,
    run: impl Fn(&Program) -> io::Result<Output> + Sync,
) -> bool {
    let waiting = Mutex::new((1..).zip(programs));
    let failed = Mutex::new(Vec::new());
    let take = || waiting.lock().unwrap().next();
    let lane = || {
        while let Some((number, program)) = take() {
            let title = format!("[{number}/{}] {}", programs.len(), program.name);
            eprintln!("{title} begins");
            let began = Instant::now();
            let output = run(program);
            let mut failed = failed.lock().unwrap();
            println!("\n{title}, {}", shown(began.elapsed()));
            if !printed(output) {
                failed.push(title);
            }
        }
    };
    thread::scope(|scope| (0..lanes).for_each(|_| drop(scope.spawn(lane))));
    let failed = failed.into_inner().unwrap();
    for title in &failed {
        eprintln!("FAILED: {title}");
    }
    failed.is_empty()
}

/// Prints `output` as it is. Returns whether the program ran and succeeded.
fn printed(output: io::Result<Output>) -> bool {
    let written = output.and_then(|output| {
        stdout().write_all(&output.stdout)?;
        stderr().write_all(&output.stderr)?;
        Ok(output.status.success())
    });
    written.unwrap_or_else(|error| {
        eprintln!("{error}");
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(name: &str, folder: &str, path: &str) -> Program {
        let name = name.to_owned();
        Program { name, folder: folder.into(), path: path.into(), words: Vec::new() }
    }

    #[test]
    fn only_what_was_built_to_test_is_a_test_program() {
        let messages = r#"
            {"manifest_path":"/it/Cargo.toml","executable":"/it/laws-1","profile":{"test":true}}
            {"manifest_path":"/it/Cargo.toml","executable":"/it/main","profile":{"test":false}}
            {"manifest_path":"/it/Cargo.toml","executable":null,"profile":{"test":true}}
            {"reason":"build-finished","success":true}
            not JSON"#;
        let words = ["a law".to_owned()];
        let program =
            Program { words: words.to_vec(), ..program("laws-1 of it", "/it", "/it/laws-1") };
        assert_eq!(Program::told_in(messages, &words), [program]);
    }

    #[test]
    fn every_program_runs_and_one_failure_fails_all() {
        let programs = ["a", "b", "c", "d", "e"].map(|path| program(path, "/", path));
        for (lanes, failing, succeeds) in [(1, "b", false), (2, "e", false), (3, "none", true)] {
            let ran = Mutex::new(Vec::new());
            let run = |program: &Program| {
                ran.lock().unwrap().push(program.path.clone());
                let program = if program.path == Path::new(failing) { "false" } else { "true" };
                Command::new(program).output()
            };
            assert_eq!(run_all(&programs, lanes, run), succeeds);
            let mut ran = ran.into_inner().unwrap();
            ran.sort();
            assert_eq!(ran, ["a", "b", "c", "d", "e"].map(PathBuf::from));
        }
        assert!(!run_all(&programs, 1, |_| Err(io::ErrorKind::NotFound.into())));
    }
}
