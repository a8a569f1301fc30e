//! Finds the workspace's test programs in the messages of cargo.

use serde_json::Value;
use std::env::current_exe;
use std::fmt::{self, Display, Formatter};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

const TIMES: [&str; 2] = ["-Zunstable-options", "--report-time"];

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Program {
    name: String,
    folder: PathBuf,
    path: PathBuf,
    words: Vec<String>,
}

impl Program {
    #[cfg(test)]
    pub(crate) fn new(name: &str, folder: &str, path: &str, words: &[String]) -> Program {
        let name = name.to_owned();
        Program { name, folder: folder.into(), path: path.into(), words: words.to_vec() }
    }

    pub(crate) fn with_only(&self, names: &[String]) -> Program {
        let options = self.words.iter().filter(|word| word.starts_with('-')).cloned();
        let words = options
            .chain(["--exact", "--test-threads=1"].map(str::to_owned))
            .chain(names.iter().cloned())
            .collect();
        Program { name: format!("{}: {}", self.name, names.join(", ")), words, ..self.clone() }
    }

    /// Returns whether other programs would disturb these tests, because they test processes and links in real time.
    pub(crate) fn needs_the_machine(&self) -> bool {
        self.name.starts_with("alone-") || self.name.ends_with(" of trials")
    }

    pub(crate) fn told_in(messages: &str, words: &[String]) -> Vec<Program> {
        let objects = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
        objects.filter_map(|message| Program::told(&message, words)).collect()
    }

    pub(crate) fn own(name: &str, root: &str, word: &str) -> io::Result<Program> {
        let (name, path) = (name.to_owned(), current_exe()?);
        Ok(Program { name, folder: root.into(), path, words: vec![word.into()] })
    }

    fn told(message: &Value, words: &[String]) -> Option<Program> {
        let path = PathBuf::from(message["executable"].as_str()?);
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
        let last = |path: &Path| path.file_name().unwrap_or_default().display().to_string();
        // The file name ends with a hash from cargo.
        let name = format!("{} of {}", last(&path), last(&folder));
        let words = TIMES.iter().map(ToString::to_string).chain(words.iter().cloned()).collect();
        (message["profile"]["test"] == true).then_some(Program { name, folder, path, words })
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.words).current_dir(&self.folder);
        if self.words.iter().any(|word| word == TIMES[0]) {
            command.env("RUSTC_BOOTSTRAP", "1"); // lets a stable test program take unstable options
        }
        command
    }
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_programs_built_for_tests_are_test_programs() {
        let messages = r#"
            {"manifest_path":"/it/Cargo.toml","executable":"/it/laws-1","profile":{"test":true}}
            {"manifest_path":"/it/Cargo.toml","executable":"/it/main","profile":{"test":false}}
            {"manifest_path":"/it/Cargo.toml","executable":null,"profile":{"test":true}}
            {"reason":"build-finished","success":true}
            not JSON"#;
        let words = ["a law".to_owned()];
        let timed = ["-Zunstable-options", "--report-time", "a law"].map(str::to_owned);
        let program = Program::new("laws-1 of it", "/it", "/it/laws-1", &timed);
        assert_eq!(Program::told_in(messages, &words), [program]);
    }
}
