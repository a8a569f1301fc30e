//! Any command line, and any line of requests, is understood or refused with a reason.
//!
//! The program is no library, so its own files stand in here as modules.

#![no_main]
#![allow(dead_code, unused_imports, unfulfilled_lint_expectations, reason = "parsed, not run")]

#[path = "../../crates/cli/src/args.rs"]
mod args;
#[path = "../../crates/cli/src/human.rs"]
mod human;

#[path = "."]
mod target {
    #[path = "../../crates/cli/src/target/stall.rs"]
    pub(crate) mod stall;
}

#[path = "."]
mod limit {
    #[path = "../../crates/cli/src/limit/kind.rs"]
    mod kind;
    #[path = "../../crates/cli/src/limit/line.rs"]
    pub(crate) mod line;
    #[path = "../../crates/cli/src/limit/load.rs"]
    mod load;

    /// In place of the program's charts, whose only word in a command line is a time.
    mod chart {
        pub(super) fn time(time: std::time::Duration) -> String {
            format!("{time:?}")
        }
    }

    pub(crate) use kind::Kind;
    pub(crate) use load::LoadPhases;
}

use clap::Parser;
use libfuzzer_sys::fuzz_target;

const COMMANDS: [&str; 3] = ["run", "calibrate", "limit"];

/// Each takes a value of its own kind; the fuzzer chooses one and makes up the value.
const OPTIONS: [&str; 26] = [
    "--rate",
    "--duration",
    "--requests",
    "--workers",
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
    if let Err(error) = args::Cli::try_parse_from(&words).map(args::Cli::into_command) {
        assert!(!error.to_string().is_empty());
    }
    if let Err(error) = limit::line::parse(line) {
        assert!(!error.to_string().is_empty());
    }
});
