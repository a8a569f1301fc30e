//! Implements the command `merge`, which sums the results of processes that have shared one load.

use super::args::DetailArgs;
use super::compare::check_version;
use crate::console::{Output, ResultFile, is_stdout, keep_apart};
use crate::judged::criteria::Criterion;
use crate::judged::merged::{self, PartFile};
use crate::judged::summary::Summary;
use crate::shown::json::Object;
use crate::shown::page;
use crate::shown::report::RunReport;
use anyhow::{Context, anyhow, ensure};
use clap::Args;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::{fs, io};

pub(crate) const HELP: &str = "\
Examples, for three machines with the same command and --shard 1/3, 2/3 and 3/3:
  nanopace http://10.0.0.8/ --rate 9k/s --shard 1/3 --start-at 2026-01-31T12:00:00Z --json 1.json
  nanopace merge 1.json 2.json 3.json --html all.html --fail-if \"p99 response < 50ms\"

Name the files of all parts, each part once. All parts must have the same load, seed and start.
'nanopace compare' reads the --json file of a merge like that of a run.";

/// The options of a merge.
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Merge these --json files of runs with --shard
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Write the results as JSON; with -, the report goes to standard error
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write a self-contained HTML report with charts
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Exit with status 3 unless this requirement holds for all parts together, as in "p99 response < 50ms"; repeatable
    #[arg(long, visible_alias = "require", value_name = "REQUIREMENT")]
    fail_if: Vec<Criterion>,

    #[command(flatten)]
    report: DetailArgs,
}

pub(crate) fn perform(args: &MergeArgs) -> anyhow::Result<(Summary, io::Result<()>)> {
    let MergeArgs { files, json, html, fail_if, report } = args;
    let html = html.as_deref();
    ensure!(
        !html.is_some_and(is_stdout),
        "--html -: the page needs a file; --json can go to standard output"
    );
    let inputs = files.iter().map(|file| ("merge", file.as_path()));
    keep_apart([("json", json.as_deref()), ("html", html)], inputs)?;
    let parts = files.iter().map(|file| read(file)).collect::<anyhow::Result<Vec<_>>>()?;
    let mut summary = merged::merged(&parts).map_err(|why| anyhow!("{why}"))?;
    summary.require(fail_if);
    let output = Output::create(json.as_deref())?;
    let page = ResultFile::optional("--html", html)?;
    let page = page.map_or(Ok(()), |page| page.write_text(&page::html(&summary)));
    let json = output.write_json(|| Object::<()>::new(&summary, None));
    let text = output.write_text(&RunReport { summary: &summary, detail: report.detail() });
    Ok((summary, page.and(json).and(text)))
}

fn read(path: &Path) -> anyhow::Result<(String, PartFile)> {
    let name = path.display().to_string();
    let read = fs::read(path).map_err(anyhow::Error::from).and_then(|text| {
        let object: Value = serde_json::from_slice(&text).context("it is not a JSON object")?;
        check_version(object.get("version").and_then(Value::as_str))?;
        Ok(serde_json::from_slice(&text)?)
    });
    Ok((name.clone(), read.with_context(|| format!("cannot merge {name}"))?))
}
