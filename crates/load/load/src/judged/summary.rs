//! Summarizes a run: computes the figures for the report and for the JSON object.

use super::checks::{self, Finding};
use super::comparison::Comparison;
use super::criteria::{self, Criterion, Figures, Goal, Percentile, Required};
use super::merged_part::MergedPart;
use super::shortages;
use super::verdict::{Evidence, Verdict};
use crate::console::human::{self, count, float};
use crate::console::machine::Machine;
use crate::load::own_times::{OwnTimes, Part};
use crate::results::asked::RunEnd;
use crate::results::confidence::Confidence;
use crate::results::cpu_time::CpuTime;
use crate::results::gaps::Quality;
use crate::results::lateness::Lateness;
use crate::results::machine_cpu::Meanwhile;
use crate::results::over_time::OverTime;
use crate::results::pool_growth::PoolGrowth;
use crate::results::quota::Quota;
use crate::results::randomness::Randomness;
use crate::results::realtime::RealtimeResult;
use crate::results::repetition::Repetition;
use crate::results::started_at::StartedAt;
use crate::results::stats::OperationStats;
use crate::results::think_times::ThinkTimes;
use nanopace::{Ledger, Nanos};
use std::collections::BTreeSet;
use std::iter;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use toml::{Table, Value};

/// The summary of a run. It leaves out the warm-up, except in the ledger and in the spin time.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) title: Title,
    /// The requested rate: the mean if the rate changed, and the achieved rate in a closed loop.
    pub(crate) target_hz: f64,
    /// Whether the requested rate changed during the run, so that `target_hz` is a mean.
    pub(crate) changes_rate: bool,
    pub(crate) achieved_hz: f64,
    /// The started share of the requested operations. It is at most 1.
    pub(crate) ratio: f64,
    pub(crate) failed_share: f64,
    pub(crate) duration: Duration,
    pub(crate) over_time: OverTime,
    pub(crate) stats: OperationStats,
    pub(crate) gaps: Option<Quality>,
    /// The pacer's ledger at the end of the schedule. `None` for the sum of several schedules.
    pub(crate) ledger: Option<Ledger>,
    pub(crate) processor: Option<CpuTime>,
    pub(crate) resolved_in: Duration,
    pub(crate) own_times: Vec<OwnTimes>,
    pub(crate) pool: Option<PoolGrowth>,
    pub(crate) realtime: Option<RealtimeResult>,
    pub(crate) is_closed: bool,
    pub(crate) verdict: Verdict,
    pub(crate) warnings: Vec<String>,
    pub(crate) incomplete: Option<String>,
    pub(crate) is_cut_short: bool,
    pub(crate) lost: Option<String>,
    pub(crate) missed: Vec<String>,
    pub(crate) required: Vec<Required>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) loads: Vec<LoadResults>,
    pub(crate) beside: Option<Result<Comparison, String>>,
    pub(crate) repetition: Option<Repetition>,
    pub(crate) parts: Vec<MergedPart>,
}

/// One of several loads with its results. Times count from the start of the run.
#[derive(Debug)]
pub(crate) struct LoadResults {
    pub(crate) name: String,
    pub(crate) start: Duration,
    pub(crate) recorded_from: Duration,
    pub(crate) summary: Arc<Summary>,
}

#[derive(Clone, Debug)]
pub(crate) struct Title {
    pub(crate) url: String,
    pub(crate) scenario_hash: Option<String>,
    pub(crate) start: SystemTime,
    pub(crate) start_at: Option<StartedAt>,
    pub(crate) settings: Table,
    pub(crate) given: BTreeSet<String>,
    /// Whether the target is a server and the rate is the default rate.
    pub(crate) rate_is_default: bool,
    pub(crate) machine: Machine,
}

#[derive(Debug)]
pub(crate) struct RunResults<'run> {
    pub(crate) title: Title,
    pub(crate) has_begun: bool,
    pub(crate) recorded_from: Nanos,
    pub(crate) run_end: RunEnd,
    pub(crate) constant_hz: Option<f64>,
    pub(crate) changes_rate: bool,
    pub(crate) is_closed: bool,
    pub(crate) over_time: OverTime,
    pub(crate) stats: &'run OperationStats,
    pub(crate) gaps: Option<Quality>,
    pub(crate) randomness: Option<Randomness>,
    /// The end of the run. `None` for a node of a fleet, because other nodes start its remaining slots.
    /// Whether the run was ended early. `None` for a node of a fleet.
    pub(crate) is_cut_short: Option<bool>,
    pub(crate) lost: Option<String>,
    pub(crate) goal: Option<(&'run Goal, bool)>,
    /// The percentile of the response times that the generator's own delay is compared with.
    pub(crate) reported: Percentile,
    pub(crate) unopened: usize,
    pub(crate) processor: Option<CpuTime>,
    pub(crate) meanwhile: Option<Meanwhile>,
    /// The time for which the CPU quota stopped the generator, or `None` if the quota was not reached.
    pub(crate) quota: Option<Quota>,
    pub(crate) resolved_in: Duration,
}

impl Summary {
    pub(crate) fn new(results: RunResults<'_>) -> Summary {
        let RunResults { recorded_from: from, run_end, stats, .. } = results;
        let (started, duration) = (float(stats.started()), run_end.at - from);
        let target_hz = results
            .constant_hz
            .unwrap_or_else(|| per_second(run_end.recorded.count, run_end.asked_until - from));
        let achieved_hz = per_second(started, duration);
        let target_hz = if results.is_closed { achieved_hz } else { target_hz };
        // After a late policy has given up a part of the schedule, the load required more slots than were due. On the
        // other hand, the slot at the beginning of an incomplete interval was due, and `required` counts it only in
        // part.
        let required = run_end.required.max(float(stats.due()));
        let required = if results.is_closed { started } else { required };
        let others = results.meanwhile.map_or(0.0, Meanwhile::of_others);
        // The quota stopped the generator in this time, so the time is not attributed to other programs.
        let others = others * (1.0 - results.quota.map_or(0.0, Quota::share));
        let evidence = Evidence::new(stats, ratio(started, required), others);
        let unrecorded = unrecorded(&results);
        let scarcity = results.processor.and_then(|time| scarcity(time, duration, stats));
        let mut findings = findings(&results);
        let late = oversleeping(stats.think_times);
        let warnings =
            [unopened(results.unopened), scarcity, stopping(stats), late, holding(stats)];
        let warnings = warnings.into_iter().flatten();
        let warnings = shortages::warnings(stats).into_iter().chain(warnings).collect();
        let incomplete = match unrecorded {
            None => incompleteness(results.is_cut_short, required, stats),
            Some((_, why)) => results.is_cut_short.map(|_| why.to_owned()),
        };
        // The missing part of the load could have behaved differently, so checks that passed are not reported.
        findings.retain(|finding| incomplete.is_none() || !finding.is_well);
        let mut stats = stats.clone();
        if results.is_closed {
            // In a closed loop, no slot is due before a worker is free, so no request is late.
            stats.lateness = Lateness::default();
        }
        Summary {
            title: results.title,
            target_hz,
            changes_rate: results.changes_rate,
            achieved_hz,
            ratio: evidence.ratio,
            failed_share: evidence.failed,
            duration,
            over_time: results.over_time,
            stats,
            gaps: results.gaps,
            ledger: Some(run_end.ledger),
            processor: results.processor,
            resolved_in: results.resolved_in,
            own_times: Vec::new(),
            pool: None,
            realtime: None,
            is_closed: results.is_closed,
            verdict: unrecorded.map_or_else(
                || Verdict::new(&evidence).of_closed_loop(results.is_closed),
                |(verdict, _)| verdict,
            ),
            warnings,
            incomplete,
            is_cut_short: results.is_cut_short == Some(true),
            lost: results.lost,
            missed: Vec::new(),
            required: Vec::new(),
            findings: if unrecorded.is_none() { findings } else { Vec::new() },
            loads: Vec::new(),
            beside: None,
            repetition: None,
            parts: Vec::new(),
        }
    }

    pub(crate) fn confidence(&self) -> Confidence<'_> {
        Confidence::new(&self.stats, &self.over_time)
    }

    pub(crate) fn items(&self) -> Option<u64> {
        let is_looked_for = self.own_times.iter().any(|own| own.part == Part::FirstItem);
        let items = self.stats.traffic.items;
        (items > 0 || is_looked_for).then_some(items)
    }

    pub(crate) fn sentence(&self) -> String {
        match late(&self.loads).first() {
            Some(late) => format!("{}: {}", late.name, late.summary.sentence()),
            None => self.verdict.sentence(&self.stats.lateness, self.failed_share),
        }
    }

    pub(crate) fn verdict_line(&self) -> String {
        let own = || self.verdict.headline(&self.stats.lateness, self.failed_share);
        late(&self.loads).first().map_or_else(own, |late| late.verdict_line())
    }

    pub(crate) fn early_end(&self) -> Option<String> {
        let after = human::long_time(self.duration);
        let ended = |lost| {
            format!("Ended early by --fail-fast: {lost} could not be met any more after {after}")
        };
        self.lost.as_ref().map(ended)
    }

    pub(crate) fn has_caution(&self, check: &str) -> bool {
        self.findings.iter().any(|found| !found.is_well && found.check == check)
    }

    /// Checks the criteria. If a criterion is about the amount of load (such as `ratio` or `started`), these criteria
    /// decide whether the load counts as complete, unless the run, one of its loads or one of its parts recorded
    /// nothing.
    pub(crate) fn require(&mut self, criteria: &[Criterion]) {
        let loads = self.loads.iter().map(|load| load.summary.verdict);
        let parts = self.parts.iter().map(|part| part.verdict);
        let mut verdicts = iter::once(self.verdict).chain(loads).chain(parts);
        if criteria.iter().any(Criterion::names_load) && verdicts.all(Verdict::is_recorded) {
            self.incomplete = None;
        }
        (self.missed, self.required) = (Vec::new(), Vec::new());
        let confidence = self.confidence();
        let figures = Figures { confidence: Some(&confidence), ..self.figures() };
        for required in criteria::judged(criteria, &figures) {
            self.note(required);
        }
    }

    pub(crate) fn note_own(&mut self, own_times: Vec<OwnTimes>) {
        let reading = checks::reading(&own_times, &self.stats.service);
        let is_told = |found: &Finding| self.incomplete.is_none() || !found.is_well;
        self.findings.extend(reading.filter(is_told));
        self.own_times = own_times;
    }

    pub(crate) fn note_realtime(&mut self, realtime: Option<RealtimeResult>) {
        self.warnings.extend(realtime.into_iter().flat_map(RealtimeResult::warnings));
        self.realtime = realtime;
    }

    pub(crate) fn note(&mut self, required: Required) {
        self.missed.extend(required.missed.clone());
        self.required.push(required);
    }

    pub(crate) fn known_ratio(&self) -> Option<f64> {
        (self.stats.due() > 0).then_some(self.ratio)
    }

    pub(crate) fn known_errors(&self) -> Option<f64> {
        (self.stats.started() > 0).then_some(self.failed_share)
    }

    pub(crate) fn pool_growth(&self) -> Option<String> {
        let streams = self.title.settings.get("streams").and_then(Value::as_integer);
        let unit = if streams > Some(1) { "stream" } else { "connection" };
        self.pool.map(|pool| pool.describe(unit))
    }

    pub(crate) fn figures(&self) -> Figures<'_> {
        Figures {
            own: &self.own_times,
            ratio: self.ratio,
            achieved_hz: self.achieved_hz,
            gaps_within_25_percent: self.gaps.map(|gaps| gaps.within_25_percent),
            ..Figures::so_far(&self.stats)
        }
    }
}

impl LoadResults {
    pub(crate) fn verdict_line(&self) -> String {
        format!("{}: {}", self.name, self.summary.verdict_line())
    }
}

pub(crate) fn late(loads: &[LoadResults]) -> Vec<&LoadResults> {
    let is_late = |load: &&LoadResults| !load.summary.verdict.is_well();
    let mut late: Vec<_> = loads.iter().filter(is_late).collect();
    late.sort_by_key(|load| !load.summary.verdict.is_recorded());
    late
}

fn findings(results: &RunResults<'_>) -> Vec<Finding> {
    let starts = results.randomness.map(checks::poisson);
    let starts = starts.or_else(|| results.gaps.map(checks::even));
    let confidence = Confidence::new(results.stats, &results.over_time);
    let steady = results.constant_hz.and_then(|_| checks::steady(&confidence));
    let own = (!results.is_closed).then(|| checks::own(results.stats, results.reported)).flatten();
    let why = |is_reached| match results.is_cut_short {
        _ if is_reached => "that ended the run",
        Some(true) => "the run was ended early",
        _ => "the load ended",
    };
    let sure = |(goal, is_reached)| checks::sure(goal, &confidence, why(is_reached));
    let machine = results.meanwhile.map(|meanwhile| checks::machine(meanwhile, results.reported));
    let findings = [starts, steady, own, results.quota.map(checks::quota)].into_iter().flatten();
    findings.chain(machine.into_iter().flatten()).chain(results.goal.map(sure)).collect()
}

fn ratio(started: f64, required: f64) -> f64 {
    share(started, required, 1.0).min(1.0)
}

/// Returns a message if the load is incomplete, for one of these reasons:
///
/// * The run was ended early while slots were overdue.
/// * At least half of the `required` slots were never started. Slots that were overdue by less than a hiccup do not
///   count towards this half, but the number in the message includes them.
/// * At least half of the started requests were given up.
fn incompleteness(
    is_cut_short: Option<bool>,
    required: f64,
    stats: &OperationStats,
) -> Option<String> {
    let overdue = stats.overdue;
    if is_cut_short? && overdue > 0 {
        let slots = count(overdue, "slot");
        return Some(format!("ended early, when {slots} {} overdue", human::was(overdue)));
    }
    let late = float(stats.unstarted.saturating_sub(overdue));
    let missing = (required - float(stats.started())).floor();
    if missing > late && (missing - late) * 2.0 >= required {
        let slots = count(required.floor(), "slot");
        return Some(format!("only {} of {slots} started", stats.started()));
    }
    let (given_up, started) = (stats.unfinished, stats.started());
    let is_half = given_up > 0 && given_up * 2 >= started;
    is_half.then(|| format!("{given_up} of {} had to be given up", count(started, "request")))
}

/// Returns `None` for a run that recorded something, and for a load without slots in the recorded part.
fn unrecorded(results: &RunResults<'_>) -> Option<(Verdict, &'static str)> {
    let RunResults { stats, run_end, recorded_from, has_begun, .. } = results;
    match () {
        () if stats.due() > 0 => None,
        () if !has_begun => Some((Verdict::NotStarted, "ended before its schedule began")),
        () if run_end.is_paused => {
            Some((Verdict::Paused, "paused until its end, before any recorded request was due"))
        }
        () if run_end.at > *recorded_from => None,
        () => Some((Verdict::NothingRecorded, "ended before its warm-up was over")),
    }
}

fn scarcity(time: CpuTime, duration: Duration, stats: &OperationStats) -> Option<String> {
    let answers = u32::try_from(stats.completed() + stats.failed()).unwrap_or(u32::MAX);
    let is_scarce = time.wanted >= duration / 10 && time.had < time.wanted / 2;
    let each = stats.queued.checked_div(answers)?;
    let waited = match human::time(each) {
        _ if each.is_zero() => ": load threads got less than half of what they needed".to_owned(),
        each => format!(": each response waited {each} for the CPU on average"),
    };
    is_scarce.then(|| format!("CPU time was scarce{waited}"))
}

/// Returns a message if at least 1 % of the responses were awaited while the generator was stopped. Their arrival times
/// are unknown, so their service times include the stop.
fn stopping(stats: &OperationStats) -> Option<String> {
    let (answers, most) = stats.stopped;
    is_a_percent(answers, stats).then(|| {
        let most = human::time(most);
        format!(
            "the generator was stopped during {}: their service times are up to {most} too long",
            count(answers, "request")
        )
    })
}

fn oversleeping(ThinkTimes { over, late, most, .. }: ThinkTimes) -> Option<String> {
    (late > 0 && late * 100 >= over).then(|| {
        let most = human::time(most);
        format!(
            "the generator ended {late} of {} more than 10 ms late, by up to {most}",
            count(over, "think time")
        )
    })
}

fn unopened(sessions: usize) -> Option<String> {
    (sessions > 0).then(|| {
        format!(
            "{} {} not open when the load began: connecting took longer than --timeout",
            count(sessions, "session"),
            human::was(sessions as u64)
        )
    })
}

fn holding(stats: &OperationStats) -> Option<String> {
    let (calls, most) = stats.held;
    is_a_percent(calls, stats).then(|| {
        let most = human::time(most);
        format!(
            "{} held a thread for up to {most}: use BlockingTarget for calls that block",
            count(calls, "call")
        )
    })
}

fn is_a_percent(count: u64, stats: &OperationStats) -> bool {
    count > 0 && count * 100 >= stats.completed() + stats.failed()
}

fn per_second(slots: f64, time: Duration) -> f64 {
    share(slots, time.as_secs_f64(), 0.0)
}

fn share(part: f64, whole: f64, otherwise: f64) -> f64 {
    if whole > 0.0 { part / whole } else { otherwise }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::asked::AskedLoad;
    use crate::shown::fixture;

    #[test]
    fn a_load_is_incomplete_without_half_of_its_slots() {
        let mut stats = OperationStats::new();
        let told =
            |is_cut_short, required, stats: &_| incompleteness(is_cut_short, required, stats);
        assert_eq!(told(Some(false), 0.0, &stats), None);
        stats.wait.record_n(1, 501).unwrap();
        (stats.unstarted, stats.overdue, stats.skipped) = (400, 400, 99);
        assert_eq!(told(Some(false), 1_000.0, &stats), None);
        let half = Some("only 501 of 1010 slots started");
        assert_eq!(told(Some(false), 1_010.9, &stats).as_deref(), half);
        assert_eq!(told(None, 1_010.9, &stats), None);
        (stats.unstarted, stats.overdue) = (411, 409);
        let half = Some("only 501 of 1012 slots started");
        assert_eq!(told(Some(false), 1_012.0, &stats).as_deref(), half);
        (stats.unstarted, stats.overdue, stats.skipped) = (400, 400, 501);
        let half = Some("only 501 of 1402 slots started");
        assert_eq!(told(Some(false), 1_402.0, &stats).as_deref(), half);
        stats.overdue = 7;
        let early = "ended early, when 7 slots were overdue";
        assert_eq!(told(Some(true), 1_402.0, &stats).as_deref(), Some(early));
        let given_up = "251 of 501 requests had to be given up";
        (stats.skipped, stats.unstarted, stats.overdue, stats.unfinished) = (0, 0, 0, 251);
        assert_eq!(told(Some(false), 501.0, &stats).as_deref(), Some(given_up));
        stats.unfinished = 250;
        assert_eq!(told(Some(false), 501.0, &stats), None);
        stats.unstarted = 600;
        assert_eq!(told(Some(true), 1_101.0, &stats), None);
    }

    #[test]
    fn a_pool_of_streams_is_not_called_a_pool_of_connections() {
        let growth = |streams: i64| {
            let mut summary = fixture::empty();
            let (opened, last_opened_seconds) = (35, Some(0.5));
            summary.pool = Some(PoolGrowth { first: 1, most: 64, opened, last_opened_seconds });
            summary.title.settings.insert("streams".to_owned(), streams.into());
            summary.pool_growth().unwrap()
        };
        assert!(growth(1).starts_with("at most 35 connections were needed; "), "{}", growth(1));
        assert!(growth(8).starts_with("at most 35 streams were needed; "), "{}", growth(8));
    }

    #[test]
    fn a_load_stays_incomplete_if_a_load_or_a_part_of_it_recorded_nothing() {
        let criteria = ["ratio > 0.5".parse().unwrap()];
        let load = |verdict| LoadResults {
            name: "reads".to_owned(),
            start: Duration::ZERO,
            recorded_from: Duration::ZERO,
            summary: Arc::new(Summary { verdict, ..fixture::empty() }),
        };
        let part = |verdict| MergedPart {
            file: "1.json".to_owned(),
            shard: "1/2".to_owned(),
            started: 0,
            verdict,
            clock_error_seconds: None,
        };
        for (verdict, is_complete) in
            [(Verdict::GeneratorBehind, true), (Verdict::NothingRecorded, false)]
        {
            for (loads, parts) in
                [(vec![load(verdict)], Vec::new()), (Vec::new(), vec![part(verdict)])]
            {
                let incomplete = Some("ended before its warm-up was over".to_owned());
                let mut whole = Summary { incomplete, loads, parts, ..summary(None, None) };
                whole.require(&criteria);
                assert_eq!(whole.incomplete.is_none(), is_complete, "{whole:?}");
            }
        }
    }

    fn summary(meanwhile: Option<Meanwhile>, quota: Option<Quota>) -> Summary {
        let mut stats = OperationStats::new();
        let wait = Duration::from_secs(1);
        (0..100).for_each(|_| stats.start(wait, Lateness::default()));
        stats.lateness = Lateness { target: 64.0, generator: 55.0, queued: 50.0, ..stats.lateness };
        let fixture = fixture::empty();
        let end = Nanos::ZERO + Duration::from_secs(10);
        Summary::new(RunResults {
            title: fixture.title,
            has_begun: true,
            recorded_from: Nanos::ZERO,
            run_end: RunEnd {
                at: end,
                asked_until: end,
                asked: AskedLoad::default(),
                recorded: AskedLoad::default(),
                required: 100.0,
                is_paused: false,
                ledger: fixture.ledger.unwrap(),
            },
            constant_hz: Some(10.0),
            changes_rate: false,
            is_closed: false,
            over_time: OverTime::new(),
            stats: &stats,
            gaps: None,
            randomness: None,
            is_cut_short: None,
            lost: None,
            goal: None,
            reported: Percentile(99.0),
            unopened: 0,
            processor: None,
            meanwhile,
            quota,
            resolved_in: Duration::ZERO,
        })
    }

    #[test]
    fn a_verdict_leaves_out_what_others_had_unless_a_quota_had_it() {
        let of = |others| Meanwhile { stolen: 0.0, others, idle: 0.0, khz: None };
        let quota = |throttled| Quota { periods: 10, throttled, time: Duration::from_secs(1) };
        for (meanwhile, quota, expected) in [
            (Some(of(0.9)), None, Verdict::TargetBehind),
            (Some(of(0.3)), None, Verdict::BothBehind),
            (None, None, Verdict::BothBehind),
            (Some(of(0.9)), Some(quota(1)), Verdict::TargetBehind),
            (Some(of(0.9)), Some(quota(9)), Verdict::BothBehind),
        ] {
            let summary = summary(meanwhile, quota);
            assert_eq!(summary.verdict, expected, "{meanwhile:?} {quota:?}");
            let checks: Vec<_> = summary.findings.iter().map(|found| found.check).collect();
            assert_eq!(checks.contains(&"quota"), quota.is_some(), "{checks:?}");
        }
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "the results are exact")]
    fn an_empty_stretch_has_no_rate() {
        assert_eq!(per_second(10.0, Duration::from_secs(4)), 2.5);
        assert_eq!(per_second(0.0, Duration::ZERO), 0.0);
    }

    #[test]
    fn scarce_cpu_time_is_reported_with_its_size() {
        let second = Duration::from_secs(1);
        let mut stats = OperationStats::new();
        let told =
            |had, wanted, stats: &OperationStats| scarcity(CpuTime { had, wanted }, second, stats);
        // There were no responses, so no response waited for the CPU.
        assert_eq!(told(second / 8, second / 2, &stats), None);
        stats.service.record_n(1_000_000, 100).unwrap();
        // Each thread had only one session, so no response waited for the CPU.
        let bare = "CPU time was scarce: load threads got less than half of what they needed";
        assert_eq!(told(second / 8, second / 2, &stats).as_deref(), Some(bare));
        stats.queued = Duration::from_millis(4);
        let warning = "CPU time was scarce: each response waited 40.0us for the CPU on average";
        assert_eq!(told(second / 8, second / 2, &stats).as_deref(), Some(warning));
        assert_eq!(told(second / 4, second / 2, &stats), None);
        assert_eq!(told(Duration::ZERO, second / 20, &stats), None);
    }

    #[test]
    fn a_stop_that_service_times_include_is_reported_with_its_size() {
        let mut stats = OperationStats::new();
        assert_eq!(stopping(&stats), None);
        stats.service.record_n(1_000_000, 200).unwrap();
        stats.answered(Duration::ZERO, Duration::from_millis(900));
        assert_eq!(stopping(&stats), None);
        stats.answered(Duration::ZERO, Duration::from_millis(300));
        let warning = "the generator was stopped during 2 requests: their service times are up to 900ms too long";
        assert_eq!(stopping(&stats).as_deref(), Some(warning));
    }

    #[test]
    fn calls_that_hold_their_thread_are_reported_if_they_are_a_percent() {
        let mut stats = OperationStats::new();
        assert_eq!(holding(&stats), None);
        stats.service.record_n(1_000_000, 200).unwrap();
        stats.held(Duration::from_millis(30));
        assert_eq!(holding(&stats), None);
        stats.held(Duration::from_millis(20));
        let warning = "2 calls held a thread for up to 30.0ms: ";
        assert!(holding(&stats).is_some_and(|told| told.starts_with(warning)), "{stats:?}");
    }
}
