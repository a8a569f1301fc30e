//! The files that a run reads and writes: none of those that it writes is another one.

use super::args::RunArgs;
use crate::console::{is_stdout, keep_apart};
use anyhow::bail;
use std::path::{Path, PathBuf};

/// Refuses two outputs that are one file, one that is read, and one that has to be a file and is not.
pub(crate) fn check(args: &RunArgs) -> anyhow::Result<()> {
    for (option, what, file) in [("hdr", "interval log", &args.hdr), ("html", "page", &args.html)] {
        if let Some(file) = file.as_deref().filter(|file| is_stdout(file)) {
            bail!(
                "--{option} {}: the {what} needs a file; --json and --csv can go to standard output",
                file.display()
            );
        }
    }
    keep_apart(outputs(args), inputs(args).chain(args.schedule.inputs()))
}

/// Refuses outputs that the bodies of requests are read from.
pub(crate) fn spare_bodies(args: &RunArgs, bodies: &[PathBuf]) -> anyhow::Result<()> {
    let bodies = bodies.iter().map(|body| ("a request of --targets", body.as_path()));
    keep_apart(outputs(args), bodies)
}

fn outputs(args: &RunArgs) -> [(&'static str, Option<&Path>); 5] {
    let outputs = [
        ("json", &args.json),
        ("html", &args.html),
        ("csv", &args.csv),
        ("hdr", &args.hdr),
        ("svg", &args.svg),
    ];
    outputs.map(|(option, file)| (option, file.as_deref()))
}

fn inputs(args: &RunArgs) -> impl Iterator<Item = (&'static str, &Path)> {
    let named = [
        ("--config", &args.config),
        ("--targets", &args.targets),
        ("--body-file", &args.client.body_file),
        ("--cacert", &args.client.cacert),
        ("--control-token-file", &args.control.control_token_file),
    ];
    named.into_iter().filter_map(|(input, file)| Some((input, file.as_deref()?)))
}
