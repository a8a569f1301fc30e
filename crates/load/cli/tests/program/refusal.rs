//! Checks how the program refuses a command line: with one line of error, and nothing where results go.

use std::process::Output;

/// Returns the error about something that was asked for wrongly.
pub(crate) fn refusal(output: Output) -> String {
    told(output, 2)
}

/// Returns the error about a server that is out of reach.
pub(crate) fn unreachable(output: Output) -> String {
    told(output, 5)
}

fn told(output: Output, status: i32) -> String {
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), told.lines().count()), (Some(status), 1), "{told}");
    assert!(output.stdout.is_empty(), "{told}");
    told
}
