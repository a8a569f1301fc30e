//! Defines the metrics of a run, which are counters, gauges and distributions, independently of their format.
//!
//! The number of metrics is limited, because the values of labels come from short lists.

#[cfg(feature = "otlp")]
pub(crate) mod otlp;
pub(crate) mod text;

use super::snapshot::{ObservedState, Phase, Snapshot};
use crate::console::human::float;
use crate::load::kind::{self, FailureKind};
use crate::results::tally::{Buckets, LabelTally, Tally};
use std::collections::BTreeMap;

/// Metrics with the same name and different labels.
#[derive(Debug)]
pub(crate) struct Family<'run> {
    /// The name of the metrics, without the prefix and the suffixes that a format adds.
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) unit: Option<Unit>,
    pub(crate) data: Data<'run>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Bytes,
}

#[derive(Debug)]
pub(crate) enum Data<'run> {
    Counters(Vec<Point<u64>>),
    Gauges(Vec<Point<f64>>),
    Times(Vec<Point<&'run Buckets>>),
}

#[derive(Debug)]
pub(crate) struct Point<V> {
    pub(crate) labels: Vec<(&'static str, String)>,
    pub(crate) value: V,
}

const LABEL: &str = "label";
const SERVICE: &str = "Time from sending to the end of the response, for completed requests";
const RESPONSE: &str = "Time from the intended start to the end of the response; a lower bound if the request did not complete";

const PHASES: [(Option<Phase>, &str); 6] = [
    (None, "preparing"),
    (Some(Phase::WarmUp), "warm-up"),
    (Some(Phase::Running), "running"),
    (Some(Phase::Paused), "paused"),
    (Some(Phase::WaitingForAnswers), "waiting-for-answers"),
    (Some(Phase::Over), "over"),
];

pub(crate) fn phase(state: &ObservedState) -> &'static str {
    let phase = state.phase();
    PHASES.iter().find(|(known, _)| *known == phase).map_or("", |(_, name)| name)
}

/// Returns the metrics of a run. Before the schedule starts, the phase is the only metric.
pub(crate) fn families(state: &ObservedState) -> Vec<Family<'_>> {
    let phase = phase(state);
    let phases = PHASES.iter().map(|(_, name)| ("phase", *name, float((*name == phase).into())));
    let mut families = vec![gauges("phase", "Whether the run is in this phase", None, phases)];
    if let Some(snapshot) = state.snapshot() {
        families.extend(counts(&snapshot.tally, snapshot.ledger.skipped));
        families.extend(rates(snapshot));
        families.extend(times(&snapshot.tally));
        families.extend(labels(&snapshot.tally));
    }
    families
}

/// Joins the metrics of several loads: each metric gets the label `load` with the name of its load, if there is one.
pub(crate) fn joined<'run, 'name>(
    loads: impl IntoIterator<Item = (Option<&'name str>, Vec<Family<'run>>)>,
) -> Vec<Family<'run>> {
    let mut all: Vec<Family<'run>> = Vec::new();
    for (name, families) in loads {
        for mut family in families {
            family.data.add_label(name);
            match all.iter_mut().find(|of| of.name == family.name) {
                Some(same) => same.data.append(family.data),
                None => all.push(family),
            }
        }
    }
    all
}

impl Data<'_> {
    fn add_label(&mut self, load: Option<&str>) {
        fn add<V>(points: &mut [Point<V>], load: &str) {
            for point in points {
                point.labels.insert(0, ("load", load.to_owned()));
            }
        }
        let Some(load) = load else { return };
        match self {
            Data::Counters(points) => add(points, load),
            Data::Gauges(points) => add(points, load),
            Data::Times(points) => add(points, load),
        }
    }
}

impl<'run> Data<'run> {
    fn append(&mut self, other: Data<'run>) {
        match (self, other) {
            (Data::Counters(points), Data::Counters(more)) => points.extend(more),
            (Data::Gauges(points), Data::Gauges(more)) => points.extend(more),
            (Data::Times(points), Data::Times(more)) => points.extend(more),
            _ => {}
        }
    }
}

fn counts(tally: &Tally, skipped: u64) -> Vec<Family<'_>> {
    let items = tally.traffic.items;
    let items = (items > 0).then(|| counter("items", "Items in responses", None, items));
    let counts = vec![
        counter("requests_started", "Requests started since the warm-up", None, tally.started),
        counter(
            "requests_completed",
            "Requests that completed without an error",
            None,
            tally.completed,
        ),
        counters("requests_failed", "Requests that failed", "kind", failures(&tally.failures)),
        counter(
            "requests_unfinished",
            "Requests given up when the run ended",
            None,
            tally.unfinished,
        ),
        counter(
            "slots_skipped",
            "Slots skipped because they were too late, including the warm-up",
            None,
            skipped,
        ),
        counter(
            "slots_unstarted",
            "Slots that were due but had not started when the schedule ended",
            None,
            tally.unstarted,
        ),
        counters("responses", "Responses with this status", "status", statuses(&tally.statuses)),
        counter("connections_opened", "Connections opened", None, tally.connections),
        counter("read", "Bytes of HTTP read", Some(Unit::Bytes), tally.traffic.read),
        counter("written", "Bytes of HTTP written", Some(Unit::Bytes), tally.traffic.written),
    ];
    counts.into_iter().chain(items).collect()
}

fn rates(snapshot: &Snapshot) -> Vec<Family<'_>> {
    let (recent, ledger) = (&snapshot.recent, &snapshot.ledger);
    let seconds = Some(Unit::Seconds);
    let parts = [
        ("part", "allocated", ledger.allocated.as_secs_f64()),
        ("part", "idle", ledger.idle.as_secs_f64()),
        ("part", "waiting", ledger.waiting.as_secs_f64()),
        ("part", "backlog", ledger.backlog.as_secs_f64()),
    ];
    let elapsed = snapshot.elapsed.as_secs_f64();
    let in_flight = float(snapshot.tally.in_flight());
    vec![
        gauge("elapsed", "Time since the schedule started", seconds, elapsed),
        gauge("asked_rate", "Requested rate in the last second", None, recent.asked_hz),
        gauge("achieved_rate", "Achieved rate in the last second", None, recent.hz),
        gauge(
            "backlog_requests",
            "Requests that are due but have not started",
            None,
            float(snapshot.backlog.slots),
        ),
        gauge(
            "backlog",
            "Schedule time of the backlog",
            seconds,
            snapshot.backlog.time.as_secs_f64(),
        ),
        gauge("requests_in_flight", "Requests without a response yet", None, in_flight),
        gauges("ledger", "Schedule time by part of the ledger", seconds, parts),
    ]
}

fn times(tally: &Tally) -> Vec<Family<'_>> {
    let one = |times| vec![Point { labels: Vec::new(), value: times }];
    vec![
        distribution("wait", "Time from the intended start to the start", one(&tally.wait)),
        distribution("service", SERVICE, one(&tally.service)),
        distribution("response", RESPONSE, one(&tally.response)),
    ]
}

fn labels(tally: &Tally) -> Vec<Family<'_>> {
    let counts = |count: fn(&LabelTally) -> u64| {
        let mut counts = BTreeMap::new();
        counts.extend(tally.labels_apart().map(|(label, of)| (label.to_owned(), count(of))));
        counts
    };
    let times = |times: fn(&LabelTally) -> &Buckets| {
        let point =
            |(label, of)| Point { labels: vec![(LABEL, str::to_owned(label))], value: times(of) };
        tally.labels_apart().map(point).collect()
    };
    if tally.labels_apart().next().is_none() {
        return Vec::new();
    }
    vec![
        counters("labelled_completed", "Requests that completed", LABEL, counts(|of| of.completed)),
        counters("labelled_failed", "Requests that failed", LABEL, counts(|of| of.failed)),
        distribution("labelled_service", SERVICE, times(|of| &of.service)),
        distribution("labelled_response", RESPONSE, times(|of| &of.response)),
    ]
}

fn distribution<'run>(
    name: &'static str,
    help: &'static str,
    points: Vec<Point<&'run Buckets>>,
) -> Family<'run> {
    Family { name, help, unit: Some(Unit::Seconds), data: Data::Times(points) }
}

fn counter(
    name: &'static str,
    help: &'static str,
    unit: Option<Unit>,
    value: u64,
) -> Family<'static> {
    Family { name, help, unit, data: Data::Counters(vec![Point { labels: Vec::new(), value }]) }
}

fn counters(
    name: &'static str,
    help: &'static str,
    label: &'static str,
    values: BTreeMap<String, u64>,
) -> Family<'static> {
    let point = |(key, value)| Point { labels: vec![(label, key)], value };
    let data = Data::Counters(values.into_iter().map(point).collect());
    Family { name, help, unit: None, data }
}

fn gauge(
    name: &'static str,
    help: &'static str,
    unit: Option<Unit>,
    value: f64,
) -> Family<'static> {
    Family { name, help, unit, data: Data::Gauges(vec![Point { labels: Vec::new(), value }]) }
}

fn gauges(
    name: &'static str,
    help: &'static str,
    unit: Option<Unit>,
    values: impl IntoIterator<Item = (&'static str, &'static str, f64)>,
) -> Family<'static> {
    let point =
        |(label, key, value): (_, &str, _)| Point { labels: vec![(label, key.to_owned())], value };
    Family { name, help, unit, data: Data::Gauges(values.into_iter().map(point).collect()) }
}

/// Returns the number of failures of each kind. Kinds without failures are included, because an alert needs the number
/// 0 instead of a missing metric.
fn failures(failures: &BTreeMap<FailureKind, u64>) -> BTreeMap<String, u64> {
    let mut kinds = BTreeMap::new();
    kinds.extend(kind::expected().into_iter().map(|group| (group.to_owned(), 0)));
    for (kind, count) in failures {
        *kinds.entry(kind.group().to_owned()).or_default() += count;
    }
    kinds
}

fn statuses(statuses: &BTreeMap<u16, u64>) -> BTreeMap<String, u64> {
    let mut known = BTreeMap::new();
    for (status, count) in statuses {
        let label = match status {
            100..600 => status.to_string(),
            _ => "other".to_owned(),
        };
        *known.entry(label).or_default() += count;
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::labels::tests::ended;
    use crate::results::stats::OperationStats;

    #[test]
    fn the_number_of_labels_has_a_bound() {
        let statuses = statuses(&(100..1_000).map(|status| (status, 1)).collect());
        assert_eq!((statuses.len(), statuses["404"], statuses["other"]), (501, 1, 400));
        kind::expect(&["status", "tls"]);
        let happened: BTreeMap<_, _> = (400..600)
            .map(|status| (FailureKind::of_group("status", &format!("answered {status}")), 2))
            .chain([(FailureKind::new("broken pipe"), 1)])
            .collect();
        let kinds = failures(&happened);
        assert_eq!((kinds["status"], kinds["broken pipe"], kinds["tls"]), (400, 1, 0));
    }

    #[test]
    fn labels_that_tell_requests_apart_are_counted_and_timed() {
        let mut stats = OperationStats::new();
        let tally = |stats: &OperationStats| {
            let mut tally = Tally::default();
            tally.add(stats);
            tally
        };
        stats.end(&ended("read", true, 1));
        assert!(labels(&tally(&stats)).is_empty());
        stats.end(&ended("write", false, 1));
        let tally = tally(&stats);
        let [completed, failed, service, response] = &labels(&tally)[..] else { panic!("four") };
        let counts = |family: &Family<'_>| match &family.data {
            Data::Counters(points) => points.iter().map(|point| point.value).collect::<Vec<_>>(),
            Data::Times(points) => {
                points.iter().map(|point| point.value.counts.iter().sum()).collect()
            }
            Data::Gauges(_) => panic!("no gauges"),
        };
        assert_eq!([completed, failed].map(counts), [[1, 0], [0, 1]]);
        assert_eq!([service, response].map(counts), [[1, 0], [1, 1]]);
        let Data::Times(points) = &response.data else { panic!("times") };
        assert_eq!(points[1].labels, [("label", "write".to_owned())]);
    }

    #[test]
    fn before_the_schedule_there_is_a_phase() {
        for (is_paused, name) in [(false, "preparing"), (true, "paused")] {
            let state = ObservedState::Preparing { is_paused };
            let [Family { data: Data::Gauges(phases), .. }] = &families(&state)[..] else {
                panic!("one family of gauges")
            };
            let current: Vec<_> = phases.iter().filter(|phase| phase.value > 0.0).collect();
            assert_eq!(current.len(), 1);
            assert_eq!(current[0].labels, [("phase", name.to_owned())]);
            assert_eq!(phase(&state), name);
        }
    }
}
