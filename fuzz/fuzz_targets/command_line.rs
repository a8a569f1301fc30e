//! Any command line is understood or refused with a reason: rates, times, stalls, shares, counts.
//!
//! The program is no library, so its own files stand in here as modules.

#![no_main]

#[path = "../../crates/cli/src/args.rs"]
#[allow(dead_code, unused_imports, reason = "parsed, not run")]
mod args;

#[path = "../../crates/cli/src/target/stall.rs"]
#[allow(dead_code, reason = "parsed, not run")]
mod stall;

mod target {
    pub(crate) use super::stall;
}

use clap::Parser;
use libfuzzer_sys::fuzz_target;

/// Each takes a value of its own kind; the fuzzer chooses one and makes up the value.
const OPTIONS: [&str; 16] = [
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
    "--unknown",
];

fuzz_target!(|input: (bool, Vec<(u8, &str)>)| {
    let (calibrate, options) = input;
    let mut words = vec!["nanopace", if calibrate { "calibrate" } else { "run" }];
    for (option, value) in options {
        words.extend([OPTIONS[usize::from(option) % OPTIONS.len()], value]);
    }
    if let Err(error) = args::Cli::try_parse_from(&words).map(args::Cli::into_command) {
        assert!(!error.to_string().is_empty());
    }
});
