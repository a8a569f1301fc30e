//! Tests that the reference page lists the options of the commands.

use std::process::Command;

const PAGE: &str = include_str!("../../docs/run/reference.md");

fn options(command: &str) -> Vec<String> {
    let mut program = Command::new(env!("CARGO_BIN_EXE_nanopace"));
    let output = program.args(command.split(' ')).arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let lines = help.lines().filter(|line| line.starts_with("  -") || line.starts_with("      --"));
    let option =
        |line: &str| line.split([' ', ',']).find(|word| word.starts_with("--")).unwrap().to_owned();
    lines.map(option).collect()
}

#[test]
fn the_reference_lists_every_option() {
    for command in [
        "run",
        "search",
        "compare",
        "merge",
        "plan",
        "calibrate",
        "witness",
        "fleet status",
        "fleet report",
    ] {
        let options = options(command);
        assert!(options.len() > 2, "{command}: {options:?}");
        for option in options {
            assert!(PAGE.contains(&format!("`{option}`")), "{command} {option}");
        }
    }
}
