//! Starts the program, and reads its results.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

pub(crate) fn nanopace(line: &str) -> Command {
    let parts = line.split('"').enumerate();
    let words = parts.flat_map(|(index, part)| match index % 2 {
        1 => vec![part],
        _ => part.split_whitespace().collect(),
    });
    let mut command = Command::new(env!("CARGO_BIN_EXE_nanopace"));
    command.args(words).stdin(Stdio::null()).env_remove("NANOPACE_STORE");
    command
}

pub(crate) fn object(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

pub(crate) fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

pub(crate) fn signal(process: u32, name: &str) {
    let status = Command::new("kill").args([name, &process.to_string()]).status().unwrap();
    assert!(status.success(), "{name}");
}
