//! Compares the results of finished runs, for `compare` and `--baseline`.

use super::args::RunArgs;
use super::fleet::Shown;
use crate::console::{Output, ResultFile, is_stdout, keep_apart};
use crate::judged::comparison::Comparison;
use crate::judged::comparison::demand::Demand;
use crate::judged::comparison::stored_run::StoredRun;
use crate::judged::criteria::Required;
use crate::judged::summary::Summary;
use crate::shown::compared;
use crate::shown::comparison::{ComparisonObject, ComparisonText, difference, upshot};
use crate::shown::json;
use anyhow::{Context, anyhow, ensure};
use clap::Args;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::slice;

pub(crate) const HELP: &str = "\
Examples:
  nanopace compare before.json after.json
  nanopace compare before.json after.json --fail-if \"p99 response slower by 5%\"
  nanopace compare before.json after.json --html compared.html
  nanopace compare a1.json a2.json a3.json --with b1.json b2.json b3.json

A difference is reported if its 95 % confidence interval does not include zero; a time must also
differ by more than 1 %. Expect up to 1 in 20 unchanged figures to be reported as different. With
--fail-if, the exit status is 3 if a change that the option names is found. The status is also 3 if
the change is unknown, for example because there are too few samples or a run is incomplete.";

/// The options of a comparison.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Compare two --json files, A and B; if --with is given, all these files belong to A
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Compare A with these files, which all belong to B
    #[arg(long, value_name = "FILE", num_args = 1..)]
    with: Vec<PathBuf>,

    /// Exit with status 3 if a change of at least this size, as in "p99 response slower by 5%", is seen or cannot be
    /// excluded; repeatable
    #[arg(long, value_name = "CHANGE")]
    fail_if: Vec<Demand>,

    /// Write the comparison as JSON; with -, write it to standard output and the report to standard error
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write the comparison as HTML, with the response times of A and B in one chart
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl CompareArgs {
    fn sides(&self) -> anyhow::Result<[&[PathBuf]; 2]> {
        if !self.with.is_empty() {
            return Ok([&self.files, &self.with]);
        }
        ensure!(self.files.len() == 2, "name two files, or the files of B after --with");
        Ok([&self.files[..1], &self.files[1..]])
    }
}

pub(crate) fn perform(args: &CompareArgs) -> anyhow::Result<Shown> {
    let files = args.sides()?;
    let inputs = files.into_iter().flatten().map(|file| ("compare", file.as_path()));
    let (json, html) = (args.json.as_deref(), args.html.as_deref());
    ensure!(
        !html.is_some_and(is_stdout),
        "--html -: the page needs a file; --json can go to standard output"
    );
    keep_apart([("json", json), ("html", html)], inputs)?;
    let read_all =
        |files: &[PathBuf]| files.iter().map(|file| read(file)).collect::<Result<_, _>>();
    let sides: [anyhow::Result<Vec<StoredRun>>; 2] = files.map(read_all);
    let [first, second] = sides;
    let comparison = Comparison::new(&first?, &second?).map_err(|why| anyhow!("{why}"))?;
    let failed: Vec<_> =
        args.fail_if.iter().filter_map(|demand| demand.check(&comparison)).collect();
    let output = Output::create(json)?;
    let page = ResultFile::optional("--html", html)?;
    let html = || compared::html(&comparison, files, &failed);
    let page = page.map_or(Ok(()), |page| page.write_text(&html()));
    let json = output.write_json(|| ComparisonObject::new(&comparison, &failed));
    let table = ComparisonText(&comparison, &failed);
    let text = output.write_text(&format!("{}\n{table}", upshot(&comparison.rows)));
    Ok((page.and(json).and(text), failed.is_empty()))
}

pub(crate) fn baseline(args: &RunArgs) -> anyhow::Result<Option<StoredRun>> {
    let Some(path) = &args.baseline else {
        ensure!(
            args.is_versus || args.demands().next().is_none(),
            "--fail-if: a requirement about a change needs --baseline FILE or --versus URL"
        );
        return Ok(None);
    };
    let baseline = read(path)?;
    ensure!(
        baseline.loads.is_none(),
        "--baseline: {} has the results of several loads: name the --json file of a run with one load",
        path.display()
    );
    check_is_like(&baseline, args).context("--baseline")?;
    Ok(Some(baseline))
}

fn check_is_like(baseline: &StoredRun, args: &RunArgs) -> anyhow::Result<()> {
    let settings = serde_json::to_value(&args.settings)?;
    let settings = settings.as_object().context("settings are not an object")?;
    // The rate and the length are compared only if they are known before the run. A control server can change the load
    // during the run, and a shard has its own rate.
    let is_known = args.control.control.is_none() && args.schedule.shard.is_none();
    let rate = args.schedule.constant_hz()?.filter(|_| is_known);
    let length = args.duration.filter(|_| rate.is_some() && args.requests.is_none());
    let like = baseline.is_like(settings, rate, length.map(|length| length.as_secs_f64()));
    like.map_err(|why| anyhow!("{why}"))
}

pub(crate) fn add_comparison<'a>(
    baseline: &StoredRun,
    demands: impl Iterator<Item = &'a Demand>,
    summary: &mut Summary,
) {
    let comparison = stored(summary)
        .and_then(|this| Comparison::new(slice::from_ref(baseline), slice::from_ref(&this)));
    note(comparison, demands, summary);
}

pub(super) fn sides<'a>(demands: impl Iterator<Item = &'a Demand>, summary: &mut Summary) {
    let sides = [0, 1].map(|side| &*summary.loads[side].summary);
    let url = sides.map(|side| side.title.url.as_str()).join(" versus ");
    let [first, second] = sides.map(stored);
    let comparison = first.and_then(|first| Comparison::paired(&first, &second?));
    summary.title.url = url;
    note(comparison, demands, summary);
}

fn stored(summary: &Summary) -> Result<StoredRun, String> {
    let object = json::Object::<()>::new(summary, None);
    let stored = serde_json::to_value(object).and_then(serde_json::from_value);
    stored.map_err(|error| error.to_string())
}

fn note<'a>(
    comparison: Result<Comparison, String>,
    demands: impl Iterator<Item = &'a Demand>,
    summary: &mut Summary,
) {
    for demand in demands {
        let missed = match &comparison {
            Ok(comparison) => demand.check(comparison),
            Err(_) => Some(format!("{demand} is unknown: the runs were not compared")),
        };
        let row = comparison.as_ref().ok().and_then(|comparison| demand.row(comparison));
        let value = row.map(difference).unwrap_or_default();
        summary.note(Required { text: demand.requirement(), value, missed });
    }
    summary.beside = Some(comparison);
}

pub(crate) fn read(path: &Path) -> anyhow::Result<StoredRun> {
    let text = fs::read(path);
    let recording = text.map_err(anyhow::Error::from).and_then(|text| recording(&text));
    recording.with_context(|| format!("cannot compare {}", path.display()))
}

fn recording(text: &[u8]) -> anyhow::Result<StoredRun> {
    let object: Value = serde_json::from_slice(text).context("it is not a JSON object")?;
    ensure!(
        object.get("histograms").is_some(),
        "it has no `histograms`: it is not the result of a run, or is from an older version"
    );
    ensure!(
        object.pointer("/settings/versus").is_none(),
        "it has the results of a run with --versus: name the --json file of a run without --versus"
    );
    check_version(object.get("version").and_then(Value::as_str))?;
    let recording: StoredRun = serde_json::from_slice(text)?;
    recording.check().map_err(anyhow::Error::msg)?;
    Ok(recording)
}

pub(super) fn check_version(version: Option<&str>) -> anyhow::Result<()> {
    let own = env!("CARGO_PKG_VERSION");
    let known = |text: &str| {
        let mut parts = text.split('.').map(str::parse::<u64>);
        Some((parts.next()?.ok()?, parts.next()?.ok()?))
    };
    let version = version.context("it has no `version`")?;
    ensure!(
        known(version).is_some_and(|version| Some(version) <= known(own)),
        "its `version` is {version:?}, and this program reads versions up to {own}"
    );
    Ok(())
}
