//! The project's own commands, for a machine that has nothing but Rust.
//!
//! ```text
//! cargo xtask test        every test: unit, integration, documentation, and the loom models at depth 2; 60 random
//!                         rounds of real threads in debug, and 60 in release; and whether the stored edits, which
//!                         show that the models bite, still apply
//! cargo xtask stress [N]  random rounds of real threads only, N in debug and N in release (60 by default)
//! cargo xtask loom [N]    the loom models only, at N preemptions (2 by default)
//! cargo xtask lint        format, clippy and documentation, with warnings as errors
//! ```

use std::env;
use std::process::{Command, ExitCode};

const USAGE: &str = "usage: cargo xtask test | stress [ROUNDS] | loom [PREEMPTIONS] | lint";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["test"] => test(),
        ["stress"] => stress("60"),
        ["stress", rounds] if rounds.parse::<u32>().is_ok() => stress(rounds),
        ["loom"] => loom("2"),
        ["loom", preemptions] if preemptions.parse::<u8>().is_ok() => loom(preemptions),
        ["lint"] => lint(),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    if done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn test() -> bool {
    cargo(&["test", "--workspace", "--no-fail-fast"], &[])
        & stress("60")
        & stored_edits_apply()
        & loom("2")
}

/// The seed is drawn from the time, and printed.
fn stress(rounds: &str) -> bool {
    let run = |profile| {
        let arguments = ["run", "--quiet", "--profile", profile, "--package", "nanopace-stress"];
        cargo(&[&arguments[..], &["--", "--rounds", rounds]].concat(), &[])
    };
    run("dev") & run("release")
}

fn stored_edits_apply() -> bool {
    cargo(&["run", "--quiet", "--package", "loom-tests", "--bin", "mutants", "--", "--check"], &[])
}

/// Models run optimised, in a target folder of their own: the flag reaches every dependency.
fn loom(preemptions: &str) -> bool {
    let flags = format!("{} --cfg loom", env::var("RUSTFLAGS").unwrap_or_default());
    let arguments = [
        "test",
        "--release",
        "--package",
        "loom-tests",
        "--target-dir",
        "target/loom",
        "--no-fail-fast",
    ];
    cargo(&arguments, &[("RUSTFLAGS", &flags), ("LOOM_MAX_PREEMPTIONS", preemptions)])
}

fn lint() -> bool {
    cargo(&["fmt", "--all", "--check"], &[])
        & cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"], &[])
        & cargo(&["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "--deny warnings")])
}

/// Runs cargo at the workspace's root, saying what it runs.
fn cargo(arguments: &[&str], variables: &[(&str, &str)]) -> bool {
    for (name, value) in variables {
        eprint!("{name}='{}' ", value.trim());
    }
    eprintln!("cargo {}", arguments.join(" "));
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(arguments)
        .envs(variables.iter().copied())
        .current_dir(root)
        .status();
    status.is_ok_and(|status| status.success())
}
