//! Reads a run from its JSON file, and checks whether two runs can be compared.

use crate::console::human;
use crate::console::machine::Machine;
use crate::console::secret::public;
use crate::results::retained_histograms::{Batch, RetainedHistograms, Times};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Two loads, or the lengths of two runs, count as equal if their relative difference is at most this.
const MOST_APART: f64 = 0.05;

/// Settings that don't affect the results of a run, and settings that are compared in other ways.
const ASIDE: [&str; 35] = [
    "arrivals",
    "baseline",
    "blind",
    "config",
    "control",
    "control-token-file",
    "csv",
    "duration",
    "fail-below",
    "fail-fast",
    "fail-if",
    "hdr",
    "html",
    "join-timeout",
    "json",
    "junit",
    "longest",
    "no-tui",
    "otlp",
    "otlp-interval",
    "quiet",
    "rate",
    "requests",
    "run",
    "seed",
    "shape",
    "slowest",
    "slowest-count",
    "start-at",
    "summary",
    "target-seed",
    "until-confident",
    "url",
    "verbose",
    "when-blind",
];

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct StoredRun {
    pub(crate) url: String,
    pub(crate) start: String,
    #[serde(default)]
    pub(crate) scenario_hash: Option<String>,
    pub(crate) settings: Map<String, Value>,
    pub(crate) target_rate: f64,
    pub(crate) duration_seconds: f64,
    pub(crate) machine: Machine,
    pub(crate) started: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    #[serde(default)]
    pub(crate) incomplete: Option<String>,
    #[serde(default)]
    pub(crate) fleet: Option<IgnoredAny>,
    #[serde(default)]
    pub(crate) loads: Option<IgnoredAny>,
    pub(crate) histograms: RetainedHistograms,
}

impl StoredRun {
    pub(crate) fn check(&self) -> Result<(), String> {
        let is_time = |seconds: f64| seconds.is_finite() && seconds >= 0.0;
        for (field, value) in
            [("target_rate", self.target_rate), ("duration_seconds", self.duration_seconds)]
        {
            if !is_time(value) {
                return Err(format!("its `{field}` is {value}"));
            }
        }
        let RetainedHistograms { all, batches } = &self.histograms;
        if !batches.iter().map(|batch| &batch.times).chain([all]).all(Times::has_its_bounds) {
            return Err(
                "its `histograms` have lower bounds that are not among the times".to_owned()
            );
        }
        if batches.is_empty() {
            return Err("its `histograms.batches` is empty: nothing was recorded".to_owned());
        }
        let mut end = 0.0;
        for (index, batch) in batches.iter().enumerate() {
            let Batch { from_seconds: from, to_seconds: to, .. } = *batch;
            if !(is_time(from) && is_time(to) && end <= from && from < to) {
                return Err(format!(
                    "its `histograms.batches[{index}]` is from {from} s to {to} s, and the previous batch ends at {end} s"
                ));
            }
            end = to;
        }
        self.check_sums()
    }

    /// Checks that the batches together have the totals of the whole run. The totals of a fleet are not checked,
    /// because they include slots that no node has recorded.
    fn check_sums(&self) -> Result<(), String> {
        let RetainedHistograms { all, batches } = &self.histograms;
        let sum = |of: fn(&Batch) -> u64| batches.iter().map(of).fold(0, u64::saturating_add);
        let sums = [
            ("starts", sum(|batch| batch.started), self.started),
            ("failures", sum(|batch| batch.failed), self.failed),
            ("service times", sum(|batch| batch.times.service.len()), all.service.len()),
            (
                "response times",
                sum(|batch| batch.times.response.len()).saturating_add(self.skipped),
                all.response.len(),
            ),
        ];
        match sums.iter().find(|(_, batches, whole)| self.fleet.is_none() && batches != whole) {
            Some((what, batches, whole)) => Err(format!(
                "its `histograms.batches` have {batches} {what}, and the whole run has {whole}"
            )),
            None => Ok(()),
        }
    }

    pub(crate) fn is_same(&self, other: &StoredRun) -> bool {
        self.start == other.start && self.histograms.all.response == other.histograms.all.response
    }

    pub(crate) fn is_comparable(&self, other: &StoredRun) -> Result<(), String> {
        self.is_like(&other.settings, Some(other.target_rate), Some(other.duration_seconds))
    }

    /// Returns an error unless the other run, which has these settings, had the same load. The rate and the length of
    /// the other run are compared too, if they are known.
    pub(crate) fn is_like(
        &self,
        settings: &Map<String, Value>,
        rate: Option<f64>,
        seconds: Option<f64>,
    ) -> Result<(), String> {
        let both = |name| [&self.settings, settings].map(|settings| setting(settings, name));
        for name in ["shape", "arrivals"] {
            let [one, two] = both(name);
            if one != two {
                return Err(format!("the loads differ: --{name} is {one} and {two}"));
            }
        }
        let [is_closed, is_other] = both("rate").map(|rate| rate == "max");
        if is_closed != is_other {
            return Err("the loads differ: only one has --rate max".to_owned());
        }
        // In a closed loop, no rate is requested, so the achieved rates may differ.
        let rate = rate.filter(|_| !is_closed);
        // The time for a fixed number of requests depends on the target, so the lengths may differ.
        let seconds = seconds.filter(|_| !(is_counted(&self.settings) && is_counted(settings)));
        is_near("loads", self.target_rate, rate, human::hz)?;
        is_near("lengths of the runs", self.duration_seconds, seconds, |s| format!("{s:.1}s"))
    }

    fn public_setting(&self, name: &str) -> String {
        let value = self.settings.get(name);
        value.map_or_else(|| "none".to_owned(), |value| text(&public_value(name, value)))
    }
}

fn is_counted(settings: &Map<String, Value>) -> bool {
    settings.contains_key("requests") || setting(settings, "data-end") == "stop"
}

fn is_near(what: &str, one: f64, two: Option<f64>, show: fn(f64) -> String) -> Result<(), String> {
    match two.filter(|two| (one - two).abs() > MOST_APART * one.max(*two)) {
        Some(two) => {
            let most = MOST_APART * 100.0;
            Err(format!("the {what} differ by more than {most} %: {} and {}", show(one), show(two)))
        }
        None => Ok(()),
    }
}

fn setting(settings: &Map<String, Value>, name: &str) -> String {
    settings.get(name).map_or_else(|| "none".to_owned(), text)
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn public_value(name: &str, value: &Value) -> Value {
    match value {
        Value::String(text) => public(name, text).into(),
        Value::Array(values) => values.iter().map(|value| public_value(name, value)).collect(),
        other => other.clone(),
    }
}

pub(crate) fn differences(first: &[StoredRun], second: &[StoredRun]) -> Vec<String> {
    let of = |runs: &[StoredRun], text: &dyn Fn(&StoredRun) -> String| {
        let mut texts = BTreeSet::new();
        texts.extend(runs.iter().map(text));
        texts.into_iter().collect::<Vec<_>>().join(", ")
    };
    let differ = |text: &dyn Fn(&StoredRun) -> String| of(first, text) != of(second, text);
    let tell = |what: &str, text: &dyn Fn(&StoredRun) -> String| {
        format!("{what}: A: {}; B: {}", of(first, text), of(second, text))
    };
    let told =
        |what: &str, text: &dyn Fn(&StoredRun) -> String| differ(text).then(|| tell(what, text));
    let machine = |run: &StoredRun| {
        let Machine { cores, system, processor } = &run.machine;
        let processor = processor.as_deref().unwrap_or("unknown");
        format!("{}, {system}, {processor}", human::count(cores, "core"))
    };
    let names = first.iter().chain(second).flat_map(|run| run.settings.keys());
    let names = names.filter(|name| !ASIDE.contains(&name.as_str()));
    let mut settings = BTreeSet::new();
    settings.extend(names);
    let setting = |name: &String| {
        differ(&|run| setting(&run.settings, name))
            .then(|| tell(&format!("--{name}"), &|run| run.public_setting(name)))
    };
    let settings = settings.into_iter().map(setting);
    let scenario = |run: &StoredRun| run.scenario_hash.clone().unwrap_or_else(|| "none".to_owned());
    let incomplete =
        |run: &StoredRun| run.incomplete.clone().unwrap_or_else(|| "complete".to_owned());
    [
        told("URLs", &|run| run.url.clone()),
        told("hashes of the --scenario file", &scenario),
        told("machines", &machine),
        told("completeness", &incomplete),
    ]
    .into_iter()
    .chain(settings)
    .flatten()
    .collect()
}
