//! What is no command of the project is refused, and nothing is run.

use std::process::Command;

#[test]
fn options_are_no_names_of_tests() {
    for words in
        ["test --without-services --help", "test --without-services x --list", "test --help"]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
        // What would be run does nothing, and succeeds.
        command.args(words.split(' ')).env("CARGO", "true");
        let output = command.output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words}: {error}");
        assert!(error.starts_with("usage: "), "{words}: {error}");
    }
}
