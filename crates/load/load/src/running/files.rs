//! Checks the files that a run reads and writes: no two outputs may be the same file, and no output may be an input.

use super::args::RunArgs;
use crate::console::{Output, ResultFile, is_stdout, keep_apart};
use anyhow::bail;
use std::path::Path;

/// An input file, with the option or the purpose for which it is read.
pub(crate) type Input<'a> = (&'static str, &'a Path);

#[derive(Debug)]
pub(crate) struct ResultFiles {
    pub(crate) output: Output,
    pub(crate) html: Option<ResultFile>,
    pub(crate) junit: Option<ResultFile>,
    pub(crate) summary: Option<ResultFile>,
    pub(crate) slowest: Option<ResultFile>,
}

impl ResultFiles {
    pub(crate) fn create(args: &RunArgs) -> anyhow::Result<ResultFiles> {
        let csv_on_stdout = args.csv.as_deref().is_some_and(is_stdout);
        let output = Output::create(args.json.as_deref())?.with_stdout_taken(csv_on_stdout);
        let html = ResultFile::optional("--html", args.html.as_deref())?;
        let junit = ResultFile::optional("--junit", args.junit.as_deref())?;
        let summary = ResultFile::optional("--summary", args.summary.as_deref())?;
        let slowest = ResultFile::optional("--slowest", args.slowest.as_deref())?;
        Ok(ResultFiles { output, html, junit, summary, slowest })
    }
}

pub(crate) fn check(args: &RunArgs, others: &[Input<'_>]) -> anyhow::Result<()> {
    check_are_files(args)?;
    keep_apart(outputs(args), all_inputs(args, others))
}

pub(crate) fn check_all(args: &RunArgs, loads: &[(&RunArgs, &[Input<'_>])]) -> anyhow::Result<()> {
    check_are_files(args)?;
    let outputs = loads
        .iter()
        .fold(outputs(args).to_vec(), |all, (load, _)| [all, outputs(load).to_vec()].concat());
    let read = loads.iter().flat_map(|(load, others)| all_inputs(load, others));
    keep_apart(outputs, inputs(args).chain(read))
}

fn check_are_files(args: &RunArgs) -> anyhow::Result<()> {
    for (option, what, file) in [
        ("hdr", "interval log", &args.hdr),
        ("html", "page", &args.html),
        ("junit", "list of test cases", &args.junit),
        ("summary", "summary", &args.summary),
        ("slowest", "list of requests", &args.slowest),
    ] {
        if let Some(file) = file.as_deref().filter(|file| is_stdout(file)) {
            bail!(
                "--{option} {}: the {what} needs a file; --json and --csv can go to standard output",
                file.display()
            );
        }
    }
    Ok(())
}

fn all_inputs<'a>(args: &'a RunArgs, others: &'a [Input<'a>]) -> impl Iterator<Item = Input<'a>> {
    inputs(args).chain(args.schedule.inputs()).chain(others.iter().copied())
}

/// Checks the bodies that requests name, which are known only after the files of the options have been read.
pub(crate) fn check_bodies<'a>(
    args: &'a RunArgs,
    others: &'a [Input<'a>],
    bodies: impl IntoIterator<Item = Input<'a>>,
) -> anyhow::Result<()> {
    keep_apart(outputs(args), all_inputs(args, others).chain(bodies))
}

fn outputs(args: &RunArgs) -> [(&'static str, Option<&Path>); 8] {
    let outputs = [
        ("json", &args.json),
        ("html", &args.html),
        ("csv", &args.csv),
        ("hdr", &args.hdr),
        ("junit", &args.junit),
        ("summary", &args.summary),
        ("slowest", &args.slowest),
        ("svg", &args.svg),
    ];
    outputs.map(|(option, file)| (option, file.as_deref()))
}

fn inputs(args: &RunArgs) -> impl Iterator<Item = Input<'_>> {
    let named = [
        ("--again", &args.again),
        ("--baseline", &args.baseline),
        ("--config", &args.config),
        ("--control-token-file", &args.control.control_token_file),
    ];
    named.into_iter().filter_map(|(input, file)| Some((input, file.as_deref()?)))
}
