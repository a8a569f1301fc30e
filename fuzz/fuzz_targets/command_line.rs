//! Any command line, and any line of requests, is understood or refused with a reason.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nanopace_cli::fuzzing::{command_line, request_line};

const COMMANDS: [&str; 3] = ["run", "calibrate", "limit"];

/// Each takes a value of its own kind; the fuzzer chooses one and makes up the value.
const OPTIONS: [&str; 26] = [
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
    "--limit",
    "--limiter",
    "--capacity",
    "--cost",
    "--slots",
    "--backfill",
    "--refill-every",
    "--phases",
    "--phase-duration",
    "--seed",
    "--unknown",
];

fuzz_target!(|input: (u8, Vec<(u8, &str)>, &[u8])| {
    let (command, options, line) = input;
    let mut words = vec!["nanopace", COMMANDS[usize::from(command) % COMMANDS.len()]];
    for (option, value) in options {
        words.extend([OPTIONS[usize::from(option) % OPTIONS.len()], value]);
    }
    for read in [command_line(&words), request_line(line)] {
        assert_ne!(read, Err(String::new()));
    }
});
