//! Defines the state of a run as a JSON object.

use crate::load::kind;
use crate::results::percentiles::Percentiles;
use crate::shown::json::Ledger;
use crate::shown::metrics;
use crate::shown::snapshot::{ObservedState, Snapshot};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// The field names are stable. Fields of the results have the same names as in `--json`.
#[derive(Debug, Serialize)]
pub(super) struct State<'run> {
    version: &'static str,
    url: &'run str,
    control: &'run str,
    phase: &'static str,
    #[serde(flatten)]
    going: Option<Going>,
}

#[derive(Debug, Serialize)]
pub(super) struct LoadsState<'run> {
    version: &'static str,
    loads: BTreeMap<&'run str, State<'run>>,
}

impl<'run> LoadsState<'run> {
    pub(super) fn new(loads: BTreeMap<&'run str, State<'run>>) -> LoadsState<'run> {
        LoadsState { version: env!("CARGO_PKG_VERSION"), loads }
    }
}

#[derive(Debug, Serialize)]
struct Going {
    elapsed_seconds: f64,
    planned_end_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<String>,
    target_rate: f64,
    achieved_rate: f64,
    backlog: u64,
    backlog_seconds: f64,
    in_flight: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blind_seconds: Option<f64>,
    started: u64,
    completed: u64,
    failed: u64,
    skipped: u64,
    unstarted: u64,
    unfinished: u64,
    failures: BTreeMap<String, u64>,
    statuses: BTreeMap<u16, u64>,
    connections_opened: u64,
    bytes_read: u64,
    bytes_written: u64,
    last_second: LastSecond,
    ledger: Ledger,
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names in JSON must not change")]
struct LastSecond {
    wait_time_ns: Percentiles,
    service_time_ns: Percentiles,
    response_time_ns: Percentiles,
}

impl<'run> State<'run> {
    pub(super) fn new(url: &'run str, control: &'run str, state: &ObservedState) -> State<'run> {
        State {
            version: env!("CARGO_PKG_VERSION"),
            url,
            control,
            phase: metrics::phase(state),
            going: state.snapshot().map(Going::new),
        }
    }
}

impl Going {
    fn new(snapshot: &Snapshot) -> Going {
        let (tally, recent, ledger) = (&snapshot.tally, &snapshot.recent, &snapshot.ledger);
        let load = Some(snapshot.load.clone());
        let (rate, shape) = if snapshot.is_shape { (None, load) } else { (load, None) };
        Going {
            elapsed_seconds: snapshot.elapsed.as_secs_f64(),
            planned_end_seconds: snapshot.planned_end.as_ref().map(Duration::as_secs_f64),
            rate,
            shape,
            target_rate: recent.asked_hz,
            achieved_rate: recent.hz,
            backlog: snapshot.backlog.slots,
            backlog_seconds: snapshot.backlog.time.as_secs_f64(),
            in_flight: tally.in_flight(),
            nodes: snapshot.fleet.as_ref().map(|fleet| fleet.nodes),
            blind_seconds: snapshot
                .fleet
                .as_ref()
                .map(|it| it.blind.unwrap_or_default().as_secs_f64()),
            started: tally.started,
            completed: tally.completed,
            failed: tally.failed(),
            skipped: ledger.skipped,
            unstarted: tally.unstarted,
            unfinished: tally.unfinished,
            failures: kind::in_words(tally.failures.clone()),
            statuses: tally.statuses.clone(),
            connections_opened: tally.connections,
            bytes_read: tally.traffic.read,
            bytes_written: tally.traffic.written,
            last_second: LastSecond {
                wait_time_ns: Percentiles::new(&recent.brief.wait),
                service_time_ns: Percentiles::new(&recent.brief.service),
                response_time_ns: Percentiles::new(&recent.brief.response),
            },
            ledger: Ledger::new(ledger),
        }
    }
}
