//! What versions that were released have written is read, and has no name that is gone: one file for each
//! version, in `tests/recorded`.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn nanopace(line: &str, files: &[&Path]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nanopace"));
    command.args(line.split_whitespace()).args(files).stdin(Stdio::null()).output().unwrap()
}

fn recorded() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// The run of the records, by this version.
fn made(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let output = nanopace("run --rate 100/s --requests 100 -c 2 --seed 1 --json", &[&path]);
    assert!(output.status.success(), "{output:?}");
    path
}

/// The names in an object and in the objects in it, with those around them.
fn names(object: &Value, around: &str) -> BTreeSet<String> {
    match object {
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, value)| {
                let name = format!("{around}.{name}");
                names(value, &name).into_iter().chain([name])
            })
            .collect(),
        Value::Array(elements) => elements.iter().flat_map(|value| names(value, around)).collect(),
        _ => BTreeSet::new(),
    }
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_run_is_compared_with_what_every_version_wrote() {
    let now = made("recorded-now.json");
    assert!(!recorded().is_empty());
    for old in recorded() {
        let output = nanopace("compare", &[&old, &now]);
        assert!(output.status.success(), "{}: {output:?}", old.display());
        let line = "run --rate 100/s --requests 100 -c 2 --seed 1 --baseline";
        let output = nanopace(line, &[&old]);
        assert!(output.status.success(), "{}: {output:?}", old.display());
    }
}

#[test]
fn results_have_every_name_that_a_version_wrote() {
    let now = names(&read(&made("recorded-names.json")), "");
    for old in recorded() {
        let gone: Vec<_> = names(&read(&old), "").difference(&now).cloned().collect();
        assert!(gone.is_empty(), "{}: {gone:?}", old.display());
    }
}
