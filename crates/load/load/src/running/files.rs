//! Checks the files that a run reads and writes: no output may be another output or an input.

use super::args::RunArgs;
use crate::console::{is_stdout, keep_apart};
use anyhow::bail;
use std::path::Path;

/// An input file, with the option or the purpose for which it is read.
pub(crate) type Input<'a> = (&'static str, &'a Path);

/// Rejects outputs that are also another output or an input, and outputs that must be regular files but are not.
pub(crate) fn check(args: &RunArgs, others: &[Input<'_>]) -> anyhow::Result<()> {
    for (option, what, file) in [
        ("hdr", "interval log", &args.hdr),
        ("html", "page", &args.html),
        ("junit", "list of test cases", &args.junit),
        ("summary", "summary", &args.summary),
    ] {
        if let Some(file) = file.as_deref().filter(|file| is_stdout(file)) {
            bail!(
                "--{option} {}: the {what} needs a file; --json and --csv can go to standard output",
                file.display()
            );
        }
    }
    let inputs = inputs(args).chain(args.schedule.inputs()).chain(others.iter().copied());
    keep_apart(outputs(args), inputs)
}

pub(crate) fn spare<'a>(
    args: &'a RunArgs,
    inputs: impl IntoIterator<Item = Input<'a>>,
) -> anyhow::Result<()> {
    keep_apart(outputs(args), inputs)
}

fn outputs(args: &RunArgs) -> [(&'static str, Option<&Path>); 7] {
    let outputs = [
        ("json", &args.json),
        ("html", &args.html),
        ("csv", &args.csv),
        ("hdr", &args.hdr),
        ("junit", &args.junit),
        ("summary", &args.summary),
        ("svg", &args.svg),
    ];
    outputs.map(|(option, file)| (option, file.as_deref()))
}

fn inputs(args: &RunArgs) -> impl Iterator<Item = Input<'_>> {
    let named = [
        ("--baseline", &args.baseline),
        ("--config", &args.config),
        ("--control-token-file", &args.control.control_token_file),
    ];
    named.into_iter().filter_map(|(input, file)| Some((input, file.as_deref()?)))
}
