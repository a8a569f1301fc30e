//! Sums the results of processes that have shared one load with `--shard`.

use super::merged_part::MergedPart;
use super::summary::{Summary, Title};
use super::verdict::{Evidence, Verdict};
use crate::console::human::{float, long_time};
use crate::console::machine::Machine;
use crate::results::nodes::results::Results;
use crate::results::over_time::OverTime;
use crate::results::pool_growth::PoolGrowth;
use crate::results::realtime::RealtimeResult;
use crate::results::started_at::StartedAt;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::time::{Duration, SystemTime};
use toml::{Table, Value};

/// The options that define the load. They must be the same for all parts.
#[rustfmt::skip]
const LOAD: [&str; 17] = [
    "rate", "shape", "arrivals", "seed", "duration", "requests", "warmup", "url", "targets", "scenario", "har", "data",
    "data-order", "data-end", "strictness", "max-backlog", "skip-later-than",
];

/// A part that lasted for a smaller share of its planned duration ended early.
const LEAST_OF_PLAN: f64 = 0.99;

#[derive(Debug, Deserialize)]
pub(crate) struct PartFile {
    url: String,
    start: String,
    scenario_hash: Option<String>,
    settings: Table,
    target_rate: f64,
    started: u64,
    ratio: Option<f64>,
    verdict: Verdict,
    incomplete: Option<String>,
    warnings: Vec<String>,
    checks: Vec<Check>,
    machine: Machine,
    pool: Option<PoolGrowth>,
    realtime: Option<RealtimeResult>,
    start_at: Option<StartedAt>,
    shard_results: Option<String>,
    loads: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
struct Check {
    is_well: bool,
    text: String,
}

struct Part<'a> {
    name: &'a str,
    index: usize,
    /// The number of parts into which the load is divided, or the weights of the parts.
    division: &'a str,
    start: SystemTime,
    file: &'a PartFile,
    results: Results,
}

pub(crate) fn encoded(summary: &Summary) -> Option<String> {
    summary.title.settings.get("shard")?;
    let Summary { duration, stats, own_times, over_time, .. } = summary;
    let bytes = Results::of(*duration, stats, own_times, over_time).to_bytes();
    Some(BASE64_STANDARD.encode(bytes.ok()?))
}

/// Merges the results in these files, each of which comes with its name. Returns an error unless the files are exactly
/// the parts of one load.
pub(crate) fn merged(files: &[(String, PartFile)]) -> Result<Summary, String> {
    let mut parts = files.iter().map(Part::read).collect::<Result<Vec<_>, _>>()?;
    parts.sort_by_key(|part| part.index);
    parts.iter().try_for_each(|part| part.check_load(&parts[0]))?;
    check_numbers(&parts)?;
    check_starts(&parts)?;
    Ok(sum(&parts))
}

impl<'a> Part<'a> {
    fn read((name, file): &'a (String, PartFile)) -> Result<Part<'a>, String> {
        if file.loads.is_some() {
            return Err(format!(
                "{name} has the results of several loads: merge accepts only one load"
            ));
        }
        let shard = file.settings.get("shard").and_then(|shard| shard.as_str()?.split_once('/'));
        let index = shard.and_then(|(index, division)| Some((index.parse().ok()?, division)));
        let Some((results, (index, division))) = file.shard_results.as_ref().zip(index) else {
            return Err(format!(
                "{name} is not the result of a part of a load: run each part with --shard INDEX/COUNT"
            ));
        };
        let wrong = |why: String| format!("cannot merge {name}: {why}");
        let bytes = BASE64_STANDARD.decode(results).map_err(|error| wrong(error.to_string()))?;
        let results = Results::from_bytes(&bytes).map_err(|error| wrong(format!("{error:#}")))?;
        let start = file.start_at.as_ref().map_or(&file.start, |start_at| &start_at.moment);
        let start = humantime::parse_rfc3339(start).map_err(|error| wrong(error.to_string()))?;
        Ok(Part { name, index, division, start, file, results })
    }

    fn load(&self) -> Vec<(String, String)> {
        let or_none = |value: Option<String>| value.unwrap_or_else(|| "none".to_owned());
        let value = |name| or_none(self.file.settings.get(name).map(ToString::to_string));
        let settings = LOAD.into_iter().map(|name| (format!("--{name}"), value(name)));
        let count = ("the number of parts".to_owned(), self.division.to_owned());
        let hash = ("the scenario".to_owned(), or_none(self.file.scenario_hash.clone()));
        [count, hash].into_iter().chain(settings).collect()
    }

    fn check_load(&self, first: &Part<'_>) -> Result<(), String> {
        let both = first.load().into_iter().zip(self.load());
        let Some(((what, one), (_, two))) = both.into_iter().find(|(one, two)| one != two) else {
            return Ok(());
        };
        let (first, name) = (first.name, self.name);
        Err(format!("the loads differ: {what} is {one} in {first} and {two} in {name}"))
    }

    fn required(&self) -> f64 {
        let (stats, ratio) = (&self.results.stats, self.file.ratio.unwrap_or_default());
        if ratio > 0.0 { float(stats.started()) / ratio } else { float(stats.due()) }
    }

    fn warnings(&self) -> impl Iterator<Item = String> {
        let checks = self.file.checks.iter().filter(|check| !check.is_well);
        let texts = self.file.warnings.iter().chain(checks.map(|check| &check.text));
        texts.map(|text| format!("{}: {text}", self.name))
    }

    /// Describes how early the part ended, unless other options than the duration may have ended it.
    fn early_end(&self) -> Option<String> {
        let (settings, until) = (&self.file.settings, self.results.until);
        let may_end =
            ["requests", "until-confident"].into_iter().any(|it| settings.contains_key(it))
                || settings.get("data-end").and_then(Value::as_str) == Some("stop");
        let planned = settings.get("duration").filter(|_| !may_end)?.as_str()?;
        let planned = humantime::parse_duration(planned).ok()?;
        (until < planned.mul_f64(LEAST_OF_PLAN)).then(|| {
            let [until, planned] = [until, planned].map(long_time);
            format!("{}: the part ended after {until} of {planned}", self.name)
        })
    }

    fn clock_error(&self) -> Option<f64> {
        self.file.start_at.as_ref()?.clock_error_seconds
    }

    fn merged(&self) -> MergedPart {
        MergedPart {
            file: self.name.to_owned(),
            shard: format!("{}/{}", self.index, self.division),
            started: self.file.started,
            verdict: self.file.verdict,
            clock_error_seconds: self.clock_error(),
        }
    }
}

fn check_numbers(parts: &[Part<'_>]) -> Result<(), String> {
    let division = parts[0].division;
    let weights = division.split(':').count();
    let count = if weights > 1 { weights } else { division.parse().unwrap_or(usize::MAX) };
    for number in 1..=count {
        let mut names = parts.iter().filter(|part| part.index == number).map(|part| part.name);
        match (names.next(), names.next()) {
            (Some(_), None) => {}
            (None, _) => {
                return Err(format!(
                    "part {number}/{division} is missing: name the --json files of all parts"
                ));
            }
            (Some(one), Some(two)) => {
                return Err(format!(
                    "{one} and {two} are both part {number}/{division}: name each part only once"
                ));
            }
        }
    }
    Ok(())
}

fn check_starts(parts: &[Part<'_>]) -> Result<(), String> {
    let error = |part: &Part<'_>| part.clock_error().unwrap_or_default();
    for (one, two) in parts.iter().flat_map(|one| parts.iter().map(move |two| (one, two))) {
        let apart = two.start.duration_since(one.start).unwrap_or_default();
        if apart.as_secs_f64() > error(one) + error(two) {
            let apart = humantime::format_duration(apart);
            return Err(format!(
                "{} started {apart} later than {}: start all parts with the same --start-at",
                two.name, one.name
            ));
        }
    }
    Ok(())
}

fn sum(parts: &[Part<'_>]) -> Summary {
    let others = parts[1..].iter().map(|part| part.results.clone());
    let all = others.fold(parts[0].results.clone(), Results::plus);
    let Results { until: duration, stats, own_times, timeline } = all;
    let started = float(stats.started());
    let required: f64 = parts.iter().map(Part::required).sum();
    let ratio = if required > 0.0 { f64::min(started / required, 1.0) } else { 1.0 };
    let evidence = Evidence::new(&stats, ratio, 0.0);
    let unrecorded = parts.iter().map(|part| part.file.verdict).find(|it| !it.is_recorded());
    let mut over_time = OverTime::new();
    timeline.intervals().into_iter().for_each(|interval| over_time.add(interval));
    let why = |part: &Part<'_>| Some(format!("{}: {}", part.name, part.file.incomplete.as_ref()?));
    let incomplete = parts.iter().filter_map(why).reduce(|all, why| format!("{all}; {why}"));
    Summary {
        loads: Vec::new(),
        pool: of_all(parts, |part| part.pool, PoolGrowth::plus),
        realtime: of_all(parts, |part| part.realtime, RealtimeResult::plus),
        title: title(parts),
        target_hz: parts.iter().map(|part| part.file.target_rate).sum(),
        changes_rate: !parts[0].file.settings.contains_key("rate"),
        achieved_hz: started / duration.as_secs_f64().max(1e-9),
        ratio,
        failed_share: evidence.failed,
        duration,
        over_time,
        verdict: unrecorded.filter(|_| stats.due() == 0).unwrap_or(Verdict::new(&evidence)),
        stats,
        gaps: None,
        ledger: None,
        processor: None,
        resolved_in: Duration::ZERO,
        own_times,
        is_closed: false,
        warnings: parts.iter().flat_map(|part| part.warnings().chain(part.early_end())).collect(),
        is_cut_short: incomplete.is_some(),
        incomplete,
        lost: None,
        missed: Vec::new(),
        required: Vec::new(),
        findings: Vec::new(),
        beside: None,
        repetition: None,
        parts: parts.iter().map(Part::merged).collect(),
    }
}

/// Returns the sum of the values of all parts, or `None` if a part has no value.
fn of_all<V>(
    parts: &[Part<'_>],
    value: impl Fn(&PartFile) -> Option<V>,
    plus: impl Fn(V, V) -> V,
) -> Option<V> {
    let values: Option<Vec<_>> = parts.iter().map(|part| value(part.file)).collect();
    values?.into_iter().reduce(plus)
}

fn title(parts: &[Part<'_>]) -> Title {
    let first = &parts[0];
    let mut settings = first.file.settings.clone();
    let is_same = |name: &str, value: &Value| {
        parts.iter().all(|part| part.file.settings.get(name) == Some(value))
    };
    settings.retain(|name, value| name != "shard" && is_same(name, value));
    let given = settings.keys().filter(|name| LOAD.contains(&name.as_str()));
    Title {
        url: first.file.url.clone(),
        scenario_hash: first.file.scenario_hash.clone(),
        start: first.start,
        start_at: None,
        given: given.cloned().collect(),
        settings,
        rate_is_default: false,
        machine: first.file.machine.clone(),
    }
}
