//! Checks that every command line is accepted, or rejected with a reason.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nanopace_cli::check;

const COMMANDS: [&str; 2] = ["run", "calibrate"];

const OPTIONS: [&str; 17] = [
    "--rate",
    "--duration",
    "--requests",
    "--connections",
    "--strictness",
    "--max-backlog",
    "--skip-later-than",
    "--pause",
    "--timeout",
    "--warmup",
    "--target-latency",
    "--target-stall",
    "--fail-below",
    "--url",
    "--seconds",
    "--seed",
    "--unknown",
];

fuzz_target!(|input: (u8, Vec<(u8, &str)>)| {
    let (command, options) = input;
    let mut words = vec!["nanopace", COMMANDS[usize::from(command) % COMMANDS.len()]];
    for (option, value) in options {
        words.extend([OPTIONS[usize::from(option) % OPTIONS.len()], value]);
    }
    assert_ne!(check(&words), Err(String::new()));
});
