//! Creates summaries of runs for tests.

use crate::console::human::float;
use crate::console::machine::Machine;
use crate::judged::comparison::Comparison;
use crate::judged::comparison::stored_run::StoredRun;
use crate::judged::summary::{Summary, Title};
use crate::judged::verdict::Verdict;
use crate::load::kind::FailureKind;
use crate::results::cpu_time::CpuTime;
use crate::results::gaps::Quality;
use crate::results::outcome::{Due, Ending, Outcome};
use crate::results::over_time::{Backlog, Brief, Interval, OverTime};
use crate::results::repetition::{Cause, GroupResult, Repetition};
use crate::results::stats::OperationStats;
use crate::shown::json::Object;
use hdrhistogram::Histogram;
use nanopace::{Nanos, Pacer, Rate};
use std::time::{Duration, SystemTime};

pub(crate) fn empty() -> Summary {
    let title = Title {
        scenario_hash: None,
        url: "http://127.0.0.1/".to_owned(),
        start: SystemTime::UNIX_EPOCH,
        start_at: None,
        settings: toml::from_str("rate = '5k/s'\nheader = []\npin = false").unwrap(),
        given: ["rate".to_owned()].into(),
        rate_is_default: false,
        machine: Machine { cores: 2, system: "linux".to_owned(), processor: None },
    };
    Summary {
        title,
        target_hz: 0.0,
        changes_rate: false,
        achieved_hz: 0.0,
        ratio: 1.0,
        failed_share: 0.0,
        duration: Duration::ZERO,
        over_time: OverTime::new(),
        stats: OperationStats::new(),
        gaps: None,
        ledger: Some(Pacer::builder(Rate::per_second(1).unwrap()).start_paused().build().ledger()),
        processor: None,
        resolved_in: Duration::ZERO,
        own_times: Vec::new(),
        pool: None,
        realtime: None,
        is_closed: false,
        verdict: Verdict::OnSchedule,
        warnings: Vec::new(),
        incomplete: None,
        is_cut_short: false,
        lost: None,
        missed: Vec::new(),
        required: Vec::new(),
        findings: Vec::new(),
        loads: Vec::new(),
        beside: None,
        repetition: None,
        parts: Vec::new(),
    }
}

pub(crate) fn compared() -> Summary {
    let mut summary = long(40, 500);
    let object = Object::new(&summary, None::<()>);
    let side: StoredRun = serde_json::to_value(object).and_then(serde_json::from_value).unwrap();
    summary.beside = Some(Comparison::paired(&side, &side));
    let group = |requests, slow| GroupResult {
        requests,
        slow,
        service_p50_ns: Some(7_000_000),
        service_p95_ns: None,
    };
    summary.repetition = Some(Repetition {
        cause: Cause::Request,
        repeated: group(40, 30),
        slowest: group(5, 4),
        others: group(900, 45),
        difference: 0.7,
        low: 0.6,
        high: 0.8,
    });
    summary
}

/// Returns the summary of a run whose times rise and fall repeatedly between 50 us and 10 s.
pub(crate) fn long(seconds: u64, hz: u64) -> Summary {
    let mut summary = empty();
    for second in 0..seconds {
        let interval = interval(second, hz);
        let Brief { wait, service, response, .. } = &interval.brief;
        let stats = &mut summary.stats;
        let sums = [&mut stats.wait, &mut stats.service, &mut stats.response];
        for (sum, part) in sums.into_iter().zip([wait, service, response]) {
            sum.add(part).unwrap();
        }
        summary.over_time.add(interval);
    }
    let failed = summary.stats.response.len() - summary.stats.service.len();
    summary.stats.failures =
        [(FailureKind::new("timeout"), failed - 1), (FailureKind::new("status 503"), 1)].into();
    summary.stats.statuses = [(200, summary.stats.service.len()), (503, 1)].into();
    let bounds = &mut summary.stats.bounds;
    bounds.record_n(10_000_000_000, failed).unwrap();
    (summary.target_hz, summary.achieved_hz) = (float(hz), float(hz));
    summary.duration = Duration::from_secs(seconds);
    summary.gaps = Some(Quality { within_25_percent: 0.9, coefficient_of_variation: 0.2 });
    let second = Duration::from_secs(1);
    summary.processor = Some(CpuTime { had: second, wanted: second * 2 });
    summary
}

fn interval(second: u64, hz: u64) -> Interval {
    let (mut brief, mut due) = (Brief::new(), Due::new());
    let slow = 1.0 + (float(second) / 60.0).sin().abs() * 20.0;
    let mut left = hz;
    let mut ns = 50_000.0 * slow;
    while left > 0 {
        let part = (left / 20).max(1);
        record(&mut brief.service, ns, part);
        record(&mut brief.wait, ns / 3.0, part);
        record(&mut brief.response, ns * 4.0 / 3.0, part);
        due.count(&outcome(ns / 3.0, ns * 4.0 / 3.0, Ending::Completed, part));
        (left, ns) = (left - part, ns * 1.05);
    }
    brief.answered = brief.service.len();
    for _ in 0..=hz / 1_000 {
        brief.failed += 1;
        record(&mut brief.wait, 1e6, 1);
        record(&mut brief.response, 1e10, 1);
        record(&mut brief.bounds, 1e10, 1);
        due.count(&outcome(1e6, 1e10, Ending::Failed(FailureKind::new("timeout")), 1));
    }
    let [from, to] = [second, second + 1].map(Duration::from_secs);
    let backlog =
        Backlog { slots: second % 100 * hz / 1_000, time: Duration::from_millis(second % 100) };
    Interval { from, to, asked: float(hz), backlog, brief, due }
}

fn outcome(wait_ns: f64, response_ns: f64, ending: Ending, slots: u64) -> Outcome {
    let [wait_time, response_time] =
        [wait_ns, response_ns].map(|ns| Duration::from_secs_f64(ns * 1e-9));
    let (intended_start, wait_time) = (Nanos::ZERO, Some(wait_time));
    Outcome { intended_start, wait_time, response_time, ending, slots }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below a minute")]
fn record(times: &mut Histogram<u64>, ns: f64, count: u64) {
    times.record_n(ns as u64, count).unwrap();
}
