//! Writes the results of a run as a JSON object.

use super::comparison::ComparisonObject;
use super::confidence::ConfidenceObject;
use super::labels::{self, LabelObject};
use super::spectrum::{self, Point};
use crate::console::machine::Machine;
use crate::judged::checks::Finding;
use crate::judged::merged;
use crate::judged::merged_part::MergedPart;
use crate::judged::summary::{LoadResults, Summary};
use crate::judged::verdict::Verdict;
use crate::load::kind;
use crate::load::own_times::{OwnTimes, Part, counters, timed};
use crate::results::confidence::Confidence;
use crate::results::outcome::{Due, Ending};
use crate::results::over_time::Interval;
use crate::results::percentiles::Percentiles;
use crate::results::pool_growth::PoolGrowth;
use crate::results::realtime::RealtimeResult;
use crate::results::repetition::Repetition;
use crate::results::retained_histograms::RetainedHistograms;
use crate::results::started_at::StartedAt;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;
use toml::Table;

/// The results of a run as a JSON object. Programs depend on the names of its fields, so the names must not change.
#[derive(Debug, Serialize)]
pub(crate) struct Object<F> {
    version: &'static str,
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    scenario_hash: Option<String>,
    start: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_at: Option<StartedAt>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<MergedPart>,
    settings: Table,
    target_rate: f64,
    achieved_rate: f64,
    rate_over_time: Vec<IntervalObject>,
    #[serde(flatten)]
    results: ResultsObject,
    skipped: u64,
    due: u64,
    ratio: Option<f64>,
    errors: Option<f64>,
    unstarted: u64,
    duration_seconds: f64,
    set_up_time_ns: Percentiles,
    connect_time_ns: Percentiles,
    tls_time_ns: Percentiles,
    resolve_time_ns: u64,
    #[serde(flatten)]
    own_times: OwnTimesObject,
    bytes_read: u64,
    bytes_written: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<u64>,
    lateness: Lateness,
    processor: Option<Processor>,
    gaps: Gaps,
    #[serde(skip_serializing_if = "Option::is_none")]
    pool: Option<PoolGrowth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    realtime: Option<RealtimeResult>,
    ledger: Option<Ledger>,
    spun_ns: u64,
    verdict: Verdict,
    checks: Vec<Finding>,
    warnings: Vec<String>,
    incomplete: Option<String>,
    ended_early: Option<String>,
    missed: Vec<String>,
    spectrum: Spectrum,
    machine: Machine,
    histograms: RetainedHistograms,
    /// The results of a part of a load, as `merge` reads them.
    #[serde(skip_serializing_if = "Option::is_none")]
    shard_results: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    again: Option<Repetition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<ComparisonObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_compared: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    loads: BTreeMap<String, Object<()>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fleet: Option<F>,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct OwnTimesObject {
    #[serde(flatten)]
    parts: BTreeMap<&'static str, OwnObject>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    trends: BTreeMap<&'static str, OwnObject>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    counters: BTreeMap<&'static str, u64>,
}

impl OwnTimesObject {
    pub(crate) fn new(own: &[OwnTimes]) -> OwnTimesObject {
        let mut object = OwnTimesObject::default();
        object.counters.extend(counters(own));
        for own in timed(own) {
            let is_trend = matches!(own.part, Part::Trend(_));
            let by_name = if is_trend { &mut object.trends } else { &mut object.parts };
            by_name.insert(own.part.key(), OwnObject::new(own));
        }
        object
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct OwnObject {
    #[serde(flatten)]
    times: Percentiles,
    /// The number of additional responses for which this time is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<u64>,
}

impl OwnObject {
    fn new(own: &OwnTimes) -> OwnObject {
        let unknown = Some(own.untimed).filter(|unknown| *unknown > 0);
        OwnObject { times: Percentiles::new(&own.times), unknown }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct ResultsObject {
    started: u64,
    completed: u64,
    failed: u64,
    unfinished: u64,
    retried: u64,
    failures: BTreeMap<String, u64>,
    statuses: BTreeMap<u16, u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, LabelObject>,
    wait_time_ns: Percentiles,
    service_time_ns: Percentiles,
    response_time_ns: Percentiles,
    response_times_at_least: u64,
    confidence_95: ConfidenceObject,
}

#[derive(Debug, Serialize)]
pub(crate) struct IntervalObject {
    from_seconds: f64,
    to_seconds: f64,
    target_rate: f64,
    achieved_rate: f64,
    asked: f64,
    started: u64,
    completed: u64,
    failed: u64,
    backlog_slots: u64,
    backlog_seconds: f64,
    wait_time_ns: Brief,
    service_time_ns: Brief,
    response_time_ns: Brief,
    by_intended_start: DueObject,
}

#[derive(Debug, Serialize)]
struct DueObject {
    due: u64,
    completed: u64,
    failed: u64,
    unfinished: u64,
    unstarted: u64,
    failures: BTreeMap<String, u64>,
    wait_time_ns: Brief,
    response_time_ns: Brief,
    response_times_at_least: u64,
}

/// Percentiles in nanoseconds, with at most two significant digits. They are null if no times were recorded.
#[derive(Debug, Serialize)]
struct Brief {
    p50: Option<u64>,
    p90: Option<u64>,
    p99: Option<u64>,
    max: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Spectrum {
    service_time_ns: Vec<Point>,
    response_time_ns: Vec<Point>,
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names in JSON must not change")]
struct Lateness {
    target_seconds: f64,
    generator_seconds: f64,
    /// An upper bound of the program's wait for the CPU.
    processor_seconds: f64,
    held_seconds: f64,
    think_times_seconds: f64,
}

/// The CPU time of the load threads. It is null if the system does not report CPU times.
#[derive(Debug, Serialize)]
struct Processor {
    had_ns: u64,
    wanted_ns: u64,
}

/// The fields are null if there were too few starts, if the requested arrivals were not even, or if the results are
/// those of several loads or processes.
#[derive(Debug, Serialize)]
struct Gaps {
    within_25_percent: Option<f64>,
    coefficient_of_variation: Option<f64>,
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names in JSON must not change")]
pub(crate) struct Ledger {
    elapsed_ns: u64,
    allocated_ns: u64,
    idle_ns: u64,
    waiting_ns: u64,
    backlog_ns: u64,
}

impl<F> Object<F> {
    pub(crate) fn new(summary: &Summary, fleet: Option<F>) -> Object<F> {
        let stats = &summary.stats;
        let (title, beside) = (&summary.title, summary.beside.as_ref());
        Object {
            version: env!("CARGO_PKG_VERSION"),
            url: title.url.clone(),
            scenario_hash: title.scenario_hash.clone(),
            start: humantime::format_rfc3339_millis(title.start).to_string(),
            start_at: title.start_at.clone(),
            parts: summary.parts.clone(),
            settings: title.settings.clone(),
            target_rate: summary.target_hz,
            achieved_rate: summary.achieved_hz,
            rate_over_time: summary.over_time.intervals().iter().map(IntervalObject::new).collect(),
            results: ResultsObject::new(&summary.confidence()),
            skipped: stats.skipped,
            due: stats.due(),
            ratio: summary.known_ratio(),
            errors: summary.known_errors(),
            unstarted: stats.unstarted,
            duration_seconds: summary.duration.as_secs_f64(),
            set_up_time_ns: Percentiles::new(&stats.set_ups.all),
            connect_time_ns: Percentiles::new(&stats.set_ups.connect),
            tls_time_ns: Percentiles::new(&stats.set_ups.tls),
            resolve_time_ns: nanos(summary.resolved_in),
            own_times: OwnTimesObject::new(&summary.own_times),
            bytes_read: stats.traffic.read,
            bytes_written: stats.traffic.written,
            items: summary.items(),
            lateness: Lateness {
                target_seconds: stats.lateness.target,
                generator_seconds: stats.lateness.generator,
                processor_seconds: stats.lateness.queued,
                held_seconds: stats.lateness.held,
                think_times_seconds: stats.lateness.resting,
            },
            processor: summary
                .processor
                .map(|time| Processor { had_ns: nanos(time.had), wanted_ns: nanos(time.wanted) }),
            gaps: Gaps {
                within_25_percent: summary.gaps.map(|gaps| gaps.within_25_percent),
                coefficient_of_variation: summary.gaps.map(|gaps| gaps.coefficient_of_variation),
            },
            pool: summary.pool,
            realtime: summary.realtime,
            ledger: summary.ledger.as_ref().map(Ledger::new),
            spun_ns: nanos(stats.spun),
            verdict: summary.verdict,
            checks: summary.findings.clone(),
            warnings: summary.warnings.clone(),
            incomplete: summary.incomplete.clone(),
            ended_early: summary.lost.clone(),
            missed: summary.missed.clone(),
            spectrum: Spectrum {
                service_time_ns: spectrum::points(&stats.service),
                response_time_ns: spectrum::points(&stats.response),
            },
            machine: title.machine.clone(),
            histograms: RetainedHistograms::new(&summary.confidence()),
            shard_results: merged::encoded(summary),
            again: summary.repetition,
            comparison: beside
                .and_then(|beside| Some(ComparisonObject::new(beside.as_ref().ok()?, &[]))),
            not_compared: beside.and_then(|beside| beside.as_ref().err().cloned()),
            loads: summary.loads.iter().map(named).collect(),
            fleet,
        }
    }
}

fn named(load: &LoadResults) -> (String, Object<()>) {
    (load.name.clone(), Object::new(&load.summary, None))
}

impl ResultsObject {
    pub(crate) fn new(confidence: &Confidence<'_>) -> ResultsObject {
        let stats = confidence.stats;
        ResultsObject {
            started: stats.started(),
            completed: stats.completed(),
            failed: stats.failed(),
            unfinished: stats.unfinished,
            retried: stats.traffic.retried,
            failures: kind::in_words(stats.failures.clone()),
            statuses: stats.statuses.clone(),
            labels: labels::objects(stats),
            wait_time_ns: Percentiles::new(&stats.wait),
            service_time_ns: Percentiles::new(&stats.service),
            response_time_ns: Percentiles::new(&stats.response),
            response_times_at_least: stats.responses().at_least(),
            confidence_95: ConfidenceObject::new(confidence),
        }
    }
}

impl IntervalObject {
    pub(crate) fn new(interval: &Interval) -> IntervalObject {
        let brief = &interval.brief;
        IntervalObject {
            from_seconds: interval.from.as_secs_f64(),
            to_seconds: interval.to.as_secs_f64(),
            target_rate: interval.asked_hz(),
            achieved_rate: interval.achieved_hz(),
            asked: interval.asked,
            started: brief.started(),
            completed: brief.completed(),
            failed: brief.failed,
            backlog_slots: interval.backlog.slots,
            backlog_seconds: interval.backlog.time.as_secs_f64(),
            wait_time_ns: Brief::new(&brief.wait),
            service_time_ns: Brief::new(&brief.service),
            response_time_ns: Brief::new(&brief.response),
            by_intended_start: DueObject::new(&interval.due),
        }
    }
}

impl DueObject {
    fn new(due: &Due) -> DueObject {
        let responses = due.responses();
        DueObject {
            due: due.slots(),
            completed: due.ended(Ending::Completed),
            failed: due.failures().map(|(_, slots)| slots).sum(),
            unfinished: due.ended(Ending::Unfinished),
            unstarted: due.ended(Ending::Unstarted),
            failures: kind::in_words(due.failures()),
            wait_time_ns: Brief::new(&due.wait),
            response_time_ns: Brief::new(responses.times),
            response_times_at_least: responses.at_least(),
        }
    }
}

impl Brief {
    fn new(times: &Histogram<u64>) -> Brief {
        let at = |quantile| (!times.is_empty()).then(|| times.value_at_quantile(quantile));
        Brief { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1.0) }
    }
}

impl Ledger {
    pub(crate) fn new(ledger: &nanopace::Ledger) -> Ledger {
        Ledger {
            elapsed_ns: nanos(ledger.elapsed),
            allocated_ns: nanos(ledger.allocated),
            idle_ns: nanos(ledger.idle),
            waiting_ns: nanos(ledger.waiting),
            backlog_ns: nanos(ledger.backlog),
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::own_times::Name;
    use crate::shown::fixture;
    use serde_json::{Value, json};

    #[test]
    fn trends_and_counters_have_objects_of_their_own() {
        let mut summary = fixture::empty();
        let own = |part, untimed| OwnTimes { part, times: Histogram::new(3).unwrap(), untimed };
        let (hits, lock) = (Part::Counter(Name("hits")), Part::Trend(Name("lock")));
        summary.own_times = vec![own(Part::FirstItem, 0), own(hits, 7), own(lock, 0)];
        let object = serde_json::to_value(Object::<()>::new(&summary, None)).unwrap();
        assert_eq!(object["counters"], json!({"hits": 7}));
        assert_eq!(object["trends"]["lock"]["count"], 0);
        assert!(object["first_item_time_ns"].is_object() && object.get("hits").is_none());
    }

    /// A check of a percentile in CI must fail if no request received a response, so the percentile must not be a
    /// number.
    #[test]
    fn a_time_that_nobody_measured_is_null() {
        let mut summary = fixture::long(3, 1_000);
        summary.stats.service.reset();
        let part = Part::FirstItem;
        summary.own_times = vec![OwnTimes { part, times: Histogram::new(3).unwrap(), untimed: 7 }];
        let object = serde_json::to_value(Object::<()>::new(&summary, None)).unwrap();
        let none = json!({
            "count": 0, "mean": null, "p50": null, "p90": null, "p99": null, "p99_9": null,
            "p99_99": null, "max": null,
        });
        for times in ["service_time_ns", "set_up_time_ns", "connect_time_ns", "tls_time_ns"] {
            assert_eq!(object[times], none, "{times}");
        }
        let mut first_item = none;
        first_item["unknown"] = 7.into();
        assert_eq!(object["first_item_time_ns"], first_item);
        let known = |name: &str| object["wait_time_ns"][name].as_f64() > Some(0.0);
        assert!(["count", "mean", "p50", "p99_99", "max"].into_iter().all(known), "{object}");
        assert_eq!((&object["ratio"], &object["errors"]), (&json!(1.0), &json!(0.0)));
    }

    #[test]
    fn shares_of_nothing_are_null() {
        let object = serde_json::to_value(Object::<()>::new(&fixture::empty(), None)).unwrap();
        assert_eq!([&object["ratio"], &object["errors"]], [&Value::Null; 2]);
    }
}
