//! Judges a step of a search: whether it met the objective, and if not, why.

use super::method::{Outcome, Purpose, Step};
use crate::judged::criteria::Criterion;
use crate::judged::shortages;
use crate::judged::summary::Summary;
use crate::judged::verdict::Verdict;
use crate::load::kind;
use crate::results::percentiles::{self, Percentiles};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

const LEAST_RATIO: f64 = 0.99;
/// The minimum number of requests in a step, and of requests beyond each percentile that the objective limits.
const BEYOND: f64 = 10.0;
/// If at least this share of the connections was busy on average, all connections count as busy. The share stays below
/// 1, because a connection is free between two of its slots.
const ALL_BUSY: f64 = 0.9;

#[derive(Debug)]
pub(crate) struct Promise {
    pub(crate) until: Vec<Criterion>,
    always: Vec<Criterion>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Cause {
    Errors,
    /// Requests waited too long for free connections. The objective would have been met without these waits.
    Connections,
    /// Responses took too long while all connections were busy.
    Target,
    /// Responses took too long while connections were free.
    Latency,
    Generator,
}

#[derive(Debug, Serialize)]
pub(crate) struct Measured {
    #[serde(rename = "target_rate")]
    pub(crate) hz: f64,
    #[serde(rename = "achieved_rate")]
    pub(crate) achieved_hz: f64,
    #[serde(rename = "duration_seconds")]
    pub(crate) seconds: f64,
    pub(crate) purpose: Purpose,
    pub(crate) outcome: Outcome,
    pub(crate) cause: Option<Cause>,
    pub(crate) verdict: Verdict,
    pub(crate) missed: Vec<String>,
    #[serde(skip)]
    pub(crate) figures: Vec<String>,
    #[serde(skip)]
    pub(crate) charted: Option<Duration>,
    pub(crate) ratio: Option<f64>,
    pub(crate) errors: Option<f64>,
    pub(crate) failures: BTreeMap<String, u64>,
    #[serde(skip)]
    pub(crate) shortages: Vec<String>,
    #[serde(skip)]
    pub(crate) quota: Option<String>,
    #[serde(skip)]
    pub(crate) completed: u64,
    /// The average number of busy connections: the achieved rate times the mean service time (Little's law).
    #[serde(rename = "busy_connections")]
    pub(crate) busy: Option<f64>,
    #[serde(skip)]
    pub(crate) mean_service: Duration,
    wait_time_ns: Percentiles,
    service_time_ns: Percentiles,
    response_time_ns: Percentiles,
}

impl Measured {
    pub(crate) fn has_no_success(&self) -> bool {
        self.cause.is_some() && self.completed == 0
    }

    pub(crate) fn main_failure(&self) -> Option<&str> {
        self.failures.iter().max_by_key(|(_, count)| **count).map(|(kind, _)| &**kind)
    }
}

impl Promise {
    pub(crate) fn new(until: Vec<Criterion>) -> Promise {
        let mut always = Vec::new();
        if !until.iter().any(Criterion::names_errors) {
            always.push(Criterion::default_errors());
        }
        if !until.iter().any(Criterion::names_ratio) {
            always.push(Criterion::at_least_ratio(LEAST_RATIO));
        }
        Promise { until, always }
    }

    /// Returns the length of a step. In this time, at least [`BEYOND`] requests lie beyond each percentile and error
    /// limit of the objective.
    pub(crate) fn length(&self, hz: f64, least: Duration) -> Duration {
        let shares = self.until.iter().filter_map(Criterion::deciding_share);
        let samples = shares.map(|share| BEYOND / share).fold(BEYOND, f64::max);
        // The fallback only has to be a valid length, because no step is that long in practice.
        Duration::try_from_secs_f64(samples / hz).unwrap_or(Duration::MAX / 4).max(least)
    }

    pub(crate) fn text(&self) -> String {
        let texts: Vec<_> = self.until.iter().map(Criterion::to_string).collect();
        texts.join(" and ")
    }

    pub(crate) fn charted(&self) -> (String, Option<Duration>) {
        let of = |criterion: &Criterion| Some((criterion.name(), Some(criterion.time_limit()?)));
        let first = self.until.iter().find_map(of);
        first.unwrap_or_else(|| ("p99 response".to_owned(), None))
    }

    pub(crate) fn judge(&self, step: Step, summary: &Summary, connections: u32) -> Measured {
        let (stats, figures) = (&summary.stats, summary.figures());
        let missed: Vec<_> = self.all().filter_map(|criterion| criterion.check(&figures)).collect();
        let mean_service = Duration::from_secs_f64(stats.service.mean() * 1e-9);
        let busy =
            (!stats.service.is_empty()).then_some(summary.achieved_hz * mean_service.as_secs_f64());
        let is_busy = busy.is_some_and(|busy| busy >= ALL_BUSY * f64::from(connections));
        let cause = (!missed.is_empty()).then(|| self.cause(summary, is_busy));
        let first_time = self.until.iter().find(|criterion| criterion.time_limit().is_some());
        let p99 = percentiles::at(&stats.response, 0.99);
        Measured {
            hz: step.hz,
            purpose: step.purpose,
            achieved_hz: summary.achieved_hz,
            seconds: summary.duration.as_secs_f64(),
            outcome: match cause {
                None => Outcome::Kept,
                Some(Cause::Generator) => Outcome::Generator,
                Some(_) => Outcome::Broken,
            },
            cause,
            verdict: summary.verdict,
            missed: missed.iter().map(ToString::to_string).collect(),
            figures: self.until.iter().map(|criterion| criterion.shown(&figures)).collect(),
            charted: match first_time {
                Some(criterion) => criterion
                    .value(&figures)
                    .and_then(|ns| Duration::try_from_secs_f64(ns * 1e-9).ok()),
                None => (!stats.response.is_empty()).then_some(p99),
            },
            ratio: summary.known_ratio(),
            errors: summary.known_errors(),
            failures: kind::in_words(stats.failures.clone()),
            shortages: shortages::warnings(stats),
            quota: summary.findings.iter().find(|it| it.check == "quota").map(|it| it.text.clone()),
            completed: stats.completed(),
            busy,
            mean_service,
            wait_time_ns: Percentiles::new(&stats.wait),
            service_time_ns: Percentiles::new(&stats.service),
            response_time_ns: Percentiles::new(&stats.response),
        }
    }

    /// Returns the cause of a missed objective. It follows from the first of these conditions that holds:
    ///
    /// 1. If the verdict is that the target is failing, the cause is the errors.
    /// 2. If the verdict is that the generator is failing or fell behind, the cause is the generator. The same applies
    ///    if both fell behind, and the generator caused more of the lateness than the target.
    /// 3. If too many requests failed, the cause is the errors.
    /// 4. If the objective would be met without the wait times, the cause is the generator if it caused more of the
    ///    lateness than the target, and otherwise the connections.
    /// 5. If all connections were busy, the cause is the target.
    /// 6. Otherwise, the cause is the latency of the responses.
    fn cause(&self, summary: &Summary, is_busy: bool) -> Cause {
        let (figures, lateness) = (summary.figures(), &summary.stats.lateness);
        let fails =
            |criterion: &Criterion| criterion.names_errors() && criterion.check(&figures).is_some();
        let waiting_broke_it =
            self.all().all(|criterion| criterion.holds_without_waiting(&figures));
        let is_late_itself = lateness.generator > lateness.target;
        match summary.verdict {
            Verdict::TargetFailing => Cause::Errors,
            Verdict::GeneratorBehind | Verdict::GeneratorFailing => Cause::Generator,
            Verdict::BothBehind if is_late_itself => Cause::Generator,
            _ if self.all().any(fails) => Cause::Errors,
            _ if waiting_broke_it && is_late_itself => Cause::Generator,
            _ if waiting_broke_it => Cause::Connections,
            _ if is_busy => Cause::Target,
            _ => Cause::Latency,
        }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Criterion> {
        self.until.iter().chain(&self.always)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::judged::checks::Finding;
    use crate::results::gaps::Quality;
    use crate::results::lateness::Lateness;
    use crate::results::stats::OperationStats;
    use crate::shown::fixture;

    /// Returns the summary of a step. `target` and `generator` are the total lateness in seconds that each side caused.
    fn summary(
        verdict: Verdict,
        [service_ms, response_ms]: [u64; 2],
        [target, generator]: [f64; 2],
    ) -> Summary {
        let mut stats = OperationStats::new();
        stats.service.record_n(service_ms * 1_000_000, 1_000).unwrap();
        stats.response.record_n(response_ms * 1_000_000, 1_000).unwrap();
        stats.wait.record_n((response_ms - service_ms) * 1_000_000, 1_000).unwrap();
        stats.lateness = Lateness { target, generator, ..Lateness::default() };
        Summary {
            target_hz: 1_000.0,
            achieved_hz: 1_000.0,
            duration: Duration::from_secs(1),
            stats,
            ledger: None,
            verdict,
            ..fixture::empty()
        }
    }

    fn promise(text: &str) -> Promise {
        Promise::new(vec![text.parse().unwrap()])
    }

    const STEP: Step = Step { hz: 1_000.0, purpose: Purpose::Bracket };

    pub(crate) fn steps() -> Vec<Measured> {
        let judged = |verdict, times, lateness| {
            promise("p99 response < 20ms").judge(STEP, &summary(verdict, times, lateness), 16)
        };
        vec![
            judged(Verdict::OnSchedule, [5, 5], [0.0; 2]),
            judged(Verdict::TargetBehind, [5, 50], [1.0, 0.1]),
            judged(Verdict::GeneratorBehind, [5, 50], [0.1, 1.0]),
        ]
    }

    #[test]
    fn a_step_keeps_the_warning_about_a_quota() {
        let mut summary = summary(Verdict::OnSchedule, [5, 5], [0.0; 2]);
        let quota = |summary: &Summary| promise("p99 wait < 1s").judge(STEP, summary, 16).quota;
        assert_eq!(quota(&summary), None);
        let text = "used up".to_owned();
        summary.findings.push(Finding { check: "quota", is_well: false, text });
        assert_eq!(quota(&summary).as_deref(), Some("used up"));
    }

    #[test]
    fn what_ran_out() {
        use Verdict::{
            BothBehind, GeneratorBehind, GeneratorFailing, OnSchedule, TargetBehind, TargetFailing,
        };
        for (verdict, times, lateness, connections, cause) in [
            (OnSchedule, [5, 19], [1.0, 0.0], 8, None),
            (GeneratorBehind, [5, 19], [0.0, 1.0], 8, None),
            (GeneratorBehind, [5, 21], [0.0, 1.0], 8, Some(Cause::Generator)),
            (TargetFailing, [5, 21], [0.0, 1.0], 8, Some(Cause::Errors)),
            (GeneratorFailing, [5, 21], [1.0, 0.0], 8, Some(Cause::Generator)),
            (TargetBehind, [5, 21], [1.0, 0.1], 5, Some(Cause::Connections)),
            (BothBehind, [5, 21], [0.6, 0.4], 5, Some(Cause::Connections)),
            (BothBehind, [25, 50], [0.4, 0.6], 26, Some(Cause::Generator)),
            (OnSchedule, [15, 21], [0.1, 1.0], 15, Some(Cause::Generator)),
            (TargetBehind, [25, 50], [1.0, 0.1], 26, Some(Cause::Target)),
            (OnSchedule, [25, 25], [0.0, 0.1], 100, Some(Cause::Latency)),
        ] {
            let step = promise("p99 response < 20ms").judge(
                STEP,
                &summary(verdict, times, lateness),
                connections,
            );
            assert_eq!(step.cause, cause, "{verdict:?} {times:?} {lateness:?}");
            let outcome = match cause {
                None => Outcome::Kept,
                Some(Cause::Generator) => Outcome::Generator,
                Some(_) => Outcome::Broken,
            };
            assert_eq!((step.outcome, step.missed.is_empty()), (outcome, cause.is_none()));
        }
    }

    /// Gaps are measured between starts, so responses cannot make them uneven while connections are free.
    #[test]
    fn responses_do_not_cause_uneven_gaps() {
        let cause = |lateness| {
            let mut summary = summary(Verdict::OnSchedule, [5, 6], lateness);
            summary.gaps = Some(Quality { within_25_percent: 0.5, coefficient_of_variation: 1.0 });
            promise("gaps > 90%").judge(STEP, &summary, 16).cause
        };
        assert_eq!(cause([0.1, 1.0]), Some(Cause::Generator));
        assert_eq!(cause([1.0, 0.1]), Some(Cause::Connections));
    }

    #[test]
    fn every_step_needs_its_requests_started_and_answered() {
        let of = |ratio, failed_share| {
            let mut summary = summary(Verdict::TargetBehind, [5, 5], [1.0, 0.0]);
            summary.ratio = ratio;
            summary.failed_share = failed_share;
            promise("p99 response < 20ms").judge(STEP, &summary, 8).missed
        };
        assert_eq!(of(1.0, 0.0), [""; 0]);
        assert_eq!(of(0.98, 0.0), ["ratio is 0.98, wanted >= 0.99"]);
    }

    #[test]
    fn without_any_request_no_promise_is_kept() {
        let mut summary = summary(Verdict::OnSchedule, [5, 5], [0.0; 2]);
        summary.stats = OperationStats::new();
        let step = promise("p99 response < 20ms").judge(STEP, &summary, 8);
        assert_eq!((step.outcome, step.charted), (Outcome::Broken, None));
        assert_eq!(step.figures, ["unknown"]);
        let object = serde_json::to_value(step).unwrap();
        for null in ["ratio", "errors", "busy_connections"] {
            assert_eq!(object[null], serde_json::Value::Null, "{null}");
        }
    }

    /// A step without a successful request is recognised whatever its verdict is, because responses that do not belong
    /// to the step may occupy all connections.
    #[test]
    fn without_any_success_it_is_asked_whether_the_target_fails() {
        for (verdict, response_ms) in
            [(Verdict::OnSchedule, 5), (Verdict::GeneratorBehind, 50), (Verdict::TargetBehind, 50)]
        {
            let mut summary = summary(verdict, [5, response_ms], [0.1, 1.0]);
            let of = |summary: &Summary| promise("p99 response < 20ms").judge(STEP, summary, 8);
            assert!(!of(&summary).has_no_success(), "{verdict:?}");
            summary.stats.service.reset();
            assert_eq!(of(&summary).has_no_success(), response_ms > 20, "{verdict:?}");
        }
    }

    #[test]
    fn a_step_is_long_enough_for_its_percentile() {
        let second = Duration::from_secs(1);
        for (text, hz, seconds) in [
            ("p99 response < 20ms", 100.0, 10.0),
            ("p99 response < 20ms", 10_000.0, 1.0),
            ("p99.9 response < 20ms", 1_000.0, 10.0),
            ("p50 response < 20ms", 10.0, 2.0),
            ("errors < 1%", 100.0, 10.0),
            ("max response < 20ms", 1.0, 10.0),
            ("max response < 20ms", 100.0, 1.0),
        ] {
            let length = promise(text).length(hz, second).as_secs_f64();
            assert!((length - seconds).abs() < 1e-6, "{text} at {hz}: {length}");
        }
        assert!(promise("p99.999999 wait < 1s").length(1e-9, second) > second);
    }
}
