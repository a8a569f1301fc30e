//! The program has the stack that it needs, whatever the limit is.
#![cfg(target_os = "linux")]

use std::process::Command;

#[test]
fn a_small_limit_of_the_stack_is_enough() {
    for line in ["--version", "run --requests 10 --rate 1k", "plan --rate 5/s --duration 1s"] {
        let program = env!("CARGO_BIN_EXE_nanopace");
        let limited = format!("ulimit -s 64 && exec '{program}' {line}");
        let output = Command::new("sh").args(["-c", &limited]).output().unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
    }
}
