//! What the program says when it can't do what is asked of it.

use std::process::Output;

/// The one line that it says, and nothing where results go.
pub(crate) fn refusal(output: Output) -> String {
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), told.lines().count()), (Some(2), 1), "{told}");
    assert!(output.stdout.is_empty(), "{told}");
    told
}
