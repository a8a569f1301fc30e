//! The program under limits of the system: it has the stack that it needs, and a file that may not get
//! longer costs that file and not the run.
#![cfg(target_os = "linux")]

use crate::beside::side_by_side;
use std::fs;
use std::process::{Command, Output};
use tempfile::TempDir;

fn limited(limit: &str, line: &str) -> Output {
    let program = env!("CARGO_BIN_EXE_nanopace");
    let line = format!("ulimit {limit} && exec '{program}' {line}");
    Command::new("sh").args(["-c", &line]).output().unwrap()
}

#[test]
fn a_small_limit_of_the_stack_is_enough() {
    for line in ["--version", "run --requests 10 --rate 1k", "plan --rate 5/s --duration 1s"] {
        let output = limited("-s 64", line);
        assert!(output.status.success(), "{line}: {output:?}");
    }
}

#[test]
fn a_file_that_may_not_get_longer_costs_only_that_file() {
    let folder = TempDir::new().unwrap();
    side_by_side(["--json", "--csv"], |option| {
        let path = folder.path().join(option);
        fs::write(&path, "old").unwrap();
        // Shorter than one kB, the log's heading included, is neither.
        let line = format!("run --requests 3000 --rate 1k {option} '{}'", path.display());
        let output = limited("-f 1", &line);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{option}: {output:?}");
        assert!(error.contains(&format!("cannot write {option}")), "{option}: {error}");
        let report = String::from_utf8_lossy(&output.stdout);
        assert!(report.contains("3000 scheduled: "), "{option}: {report}");
        if option == "--json" {
            assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        }
    });
}
