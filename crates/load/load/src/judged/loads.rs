//! Sums up the results of several loads of one run.
//!
//! Counts and times are added. If the verdict of a load is not good, it is the verdict of the sum, because the other
//! loads cannot compensate for a load that is late. If several verdicts are not good, the first of them counts. Loads
//! that recorded nothing come last.

use super::criteria::Required;
use super::summary::{LoadResults, Summary, Title, late};
use super::verdict::Verdict;
use crate::console::human::{count, float};
use crate::load::own_times;
use crate::results::over_time::OverTime;
use crate::results::stats::OperationStats;
use toml::Table;

impl Summary {
    pub(crate) fn of_loads(loads: Vec<LoadResults>, settings: Table) -> Summary {
        let all = || loads.iter().map(|load| &*load.summary);
        let (mut stats, mut own_times) = (OperationStats::new(), Vec::new());
        for summary in all() {
            stats.add(&summary.stats);
            own_times::add(&mut own_times, summary.own_times.clone());
        }
        let recorded = || loads.iter().filter(|load| !load.summary.duration.is_zero());
        let begin = recorded().map(|load| load.recorded_from).min().unwrap_or_default();
        let end = recorded().map(|load| load.recorded_from + load.summary.duration).max();
        let duration = end.unwrap_or_default().saturating_sub(begin);
        let hz = |slots: f64| {
            if duration.is_zero() { 0.0 } else { slots / duration.as_secs_f64() }
        };
        let asked = all().map(|summary| summary.target_hz * summary.duration.as_secs_f64());
        let target_hz = hz(asked.sum());
        // If the loads do not begin and end together, the sum of their rates exceeds the mean rate of the run.
        let peak_hz: f64 = all().map(|summary| summary.target_hz).sum();
        let required: f64 = all().map(required).sum();
        let over_time: Vec<_> =
            loads.iter().map(|load| (load.start, &load.summary.over_time)).collect();
        let late = late(&loads);
        let warnings = late.iter().skip(1).map(|load| load.verdict_line());
        let is_open = all().any(|summary| summary.verdict == Verdict::OnSchedule);
        let well = if is_open { Verdict::OnSchedule } else { Verdict::ClosedLoop };
        Summary {
            title: title(&loads, settings),
            target_hz,
            changes_rate: all().any(|summary| summary.changes_rate) || target_hz < 0.99 * peak_hz,
            achieved_hz: hz(float(stats.started())),
            ratio: if required > 0.0 { float(stats.started()) / required } else { 1.0 },
            failed_share: stats.failed_share(),
            duration,
            over_time: OverTime::sum(&over_time),
            gaps: None,
            ledger: None,
            pool: None,
            realtime: None,
            parts: Vec::new(),
            processor: all().filter_map(|summary| summary.processor).max_by_key(|time| time.wanted),
            resolved_in: all().map(|summary| summary.resolved_in).sum(),
            own_times,
            is_closed: all().all(|summary| summary.is_closed),
            verdict: late.first().map_or(well, |load| load.summary.verdict),
            warnings: warnings.collect(),
            incomplete: joined(&loads, |summary| summary.incomplete.as_ref()),
            is_cut_short: all().any(|summary| summary.is_cut_short),
            lost: joined(&loads, |summary| summary.lost.as_ref()),
            missed: Vec::new(),
            required: Vec::new(),
            findings: Vec::new(),
            beside: None,
            repetition: None,
            stats,
            loads,
        }
    }
}

impl LoadResults {
    pub(crate) fn required(&self) -> impl Iterator<Item = Required> {
        let named = |text: &String| format!("{}: {text}", self.name);
        self.summary.required.iter().map(move |Required { text, value, missed }| Required {
            text: named(text),
            value: value.clone(),
            missed: missed.as_ref().map(named),
        })
    }
}

fn title(loads: &[LoadResults], settings: Table) -> Title {
    let names: Vec<_> = loads.iter().map(|load| load.name.as_str()).collect();
    let titles = loads.iter().map(|load| &load.summary.title);
    let first = titles.min_by_key(|title| title.start).expect("there is at least one load");
    Title {
        url: format!("{}: {}", count(loads.len(), "load"), names.join(", ")),
        scenario_hash: None,
        given: settings.keys().cloned().collect(),
        settings,
        rate_is_default: false,
        ..first.clone()
    }
}

/// Returns the number of slots that a load had to start.
fn required(summary: &Summary) -> f64 {
    let started = float(summary.stats.started());
    if summary.ratio > 0.0 { started / summary.ratio } else { float(summary.stats.due()) }
}

fn joined(loads: &[LoadResults], text: impl Fn(&Summary) -> Option<&String>) -> Option<String> {
    let of = |load: &LoadResults| Some(format!("{}: {}", load.name, text(&load.summary)?));
    let texts: Vec<_> = loads.iter().filter_map(of).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}
