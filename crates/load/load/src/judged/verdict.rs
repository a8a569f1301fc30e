//! Determines the verdict of a run: whether the load followed the schedule, and if not, whether the target or the
//! generator was too slow.
//!
//! The load was **on schedule** if these conditions hold:
//!
//! * At least 99 % of the requested slots were started.
//! * The 99th percentile of the wait time is at most 10 ms (a normal delay of a busy scheduler), or at most a tenth of
//!   the 99th percentile of the service time.
//! * At least 99 % of the requests after think times started at most 10 ms late.
//!
//! Otherwise, the side that caused at least two thirds of the lateness fell behind. The **target** causes the lateness
//! of slots that wait for a free connection, and of slots that a strictness above 1 then holds back. The **generator**
//! causes the rest: see [`lateness`](crate::results::lateness). If at least two thirds of the lateness was a wait for
//! connections that think times occupied, the verdict is **think times**: neither side was slow, but there were too few
//! connections for the think times.
//!
//! If no cause reaches two thirds, the same rule is applied without the time that the generator waited for the CPU
//! while other programs used it. If no cause reaches two thirds of the remaining lateness either, **both** fell behind.
//!
//! A **closed loop** has no schedule to follow.
//!
//! If a run ended before its load began or during its warm-up, or if it was paused until its end before anything was
//! due, **nothing was recorded**. Otherwise, if more than 1 % of the requests failed, the **target is failing**,
//! whether starts were late or not, because the times of the other requests mean little. If at least half of these
//! failures were caused by limits of the generator's machine, the **generator is failing** instead.

use crate::console::human::{float, percent};
use crate::results::lateness::Lateness;
use crate::results::percentiles;
use crate::results::stats::OperationStats;
use crate::results::think_times::HICCUP;
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    pub(crate) ratio: f64,
    pub(crate) wait_p99: Duration,
    pub(crate) service_p99: Duration,
    pub(crate) lateness: Lateness,
    /// The share that other programs had in the CPU time that was not idle.
    pub(crate) others: f64,
    pub(crate) failed: f64,
    pub(crate) failed_by_generator: f64,
    pub(crate) late: f64,
}

impl Evidence {
    pub(crate) fn new(stats: &OperationStats, ratio: f64, others: f64) -> Evidence {
        let share = |part, all| if all > 0 { float(part) / float(all) } else { 0.0 };
        Evidence {
            ratio,
            wait_p99: percentiles::at(&stats.wait, 0.99),
            service_p99: percentiles::at(&stats.service, 0.99),
            lateness: stats.lateness,
            others,
            failed: stats.failed_share(),
            failed_by_generator: share(stats.failed_by_generator(), stats.started()),
            late: share(stats.think_times.late, stats.think_times.over),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    OnSchedule,
    TargetBehind,
    GeneratorBehind,
    ThinkTimes,
    BothBehind,
    TargetFailing,
    GeneratorFailing,
    ClosedLoop,
    NothingRecorded,
    Paused,
    NotStarted,
}

const LEAST_RATIO: f64 = 0.99;
const MOST_FAILED: f64 = 0.01;
const MOST_LATE: f64 = 0.01;
/// If a cause has at least this share of the lateness, it alone determines the verdict.
const MOST_OF_IT: f64 = 2.0 / 3.0;

impl Verdict {
    pub(crate) fn new(evidence: &Evidence) -> Verdict {
        let small = HICCUP.max(evidence.service_p99 / 10);
        let is_in_time = evidence.wait_p99 <= small && evidence.late <= MOST_LATE;
        if evidence.failed > MOST_FAILED {
            let is_own = 2.0 * evidence.failed_by_generator >= evidence.failed;
            if is_own { Verdict::GeneratorFailing } else { Verdict::TargetFailing }
        } else if evidence.ratio >= LEAST_RATIO && is_in_time {
            Verdict::OnSchedule
        } else {
            let Evidence { lateness, others, .. } = evidence;
            let cause = Verdict::of_most(lateness);
            let cause = cause.or_else(|| Verdict::of_most(&lateness.without_queued(*others)));
            cause.unwrap_or(Verdict::BothBehind)
        }
    }

    /// Returns the verdict of a run that is possibly a closed loop. A closed loop keeps only a verdict about failing
    /// requests.
    pub(crate) fn of_closed_loop(self, is_closed: bool) -> Verdict {
        let fails = matches!(self, Verdict::TargetFailing | Verdict::GeneratorFailing);
        if is_closed && !fails { Verdict::ClosedLoop } else { self }
    }

    /// Returns the verdict that names the cause of at least two thirds of the lateness, or `None` if there is no such
    /// cause. If there is no lateness, the generator counts as the cause.
    fn of_most(lateness: &Lateness) -> Option<Verdict> {
        let [target, generator, resting] = lateness.main_shares();
        match target {
            _ if resting >= MOST_OF_IT => Some(Verdict::ThinkTimes),
            MOST_OF_IT.. => Some(Verdict::TargetBehind),
            _ if generator >= MOST_OF_IT => Some(Verdict::GeneratorBehind),
            _ => None,
        }
    }

    pub(crate) fn is_well(self) -> bool {
        matches!(self, Verdict::OnSchedule | Verdict::ClosedLoop)
    }

    pub(crate) fn is_recorded(self) -> bool {
        !matches!(self, Verdict::NothingRecorded | Verdict::Paused | Verdict::NotStarted)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Verdict::OnSchedule => "on schedule",
            Verdict::TargetBehind => "target behind",
            Verdict::ThinkTimes => "think times",
            Verdict::GeneratorBehind => "generator behind",
            Verdict::BothBehind => "both behind",
            Verdict::TargetFailing => "target failing",
            Verdict::GeneratorFailing => "generator failing",
            Verdict::ClosedLoop => "closed loop",
            Verdict::NothingRecorded => "nothing recorded",
            Verdict::Paused => "paused",
            Verdict::NotStarted => "never started",
        }
    }

    /// Returns the verdict in words. `failed` is the share of the started requests that failed.
    pub(crate) fn headline(self, lateness: &Lateness, failed: f64) -> String {
        let text = match self {
            Verdict::BothBehind => return both(lateness),
            Verdict::TargetFailing => return failing(failed),
            Verdict::OnSchedule => "On schedule: requests started when they were due",
            Verdict::TargetBehind => {
                "The target could not keep up: requests were due while no connection was free for them"
            }
            Verdict::ThinkTimes => {
                "Too few connections: requests were due while think times held all connections"
            }
            Verdict::GeneratorBehind => {
                "The generator could not keep up: its threads lacked CPU time, woke late or were stopped"
            }
            Verdict::ClosedLoop => {
                "Closed loop: each request waited for the response before it, so queueing is not seen"
            }
            Verdict::NothingRecorded => "Nothing was recorded: the run ended during its warm-up",
            Verdict::Paused => "Nothing was recorded: the run was paused until its end",
            Verdict::NotStarted => "Never started: the run ended before the schedule began",
            Verdict::GeneratorFailing => {
                "The generator is failing: a limit of this machine caused at least half of the failures"
            }
        };
        text.to_owned()
    }

    pub(crate) fn sentence(self, lateness: &Lateness, failed: f64) -> String {
        let consequence = match self {
            Verdict::GeneratorBehind => " The results describe this machine more than the target.",
            Verdict::BothBehind => " The results describe this machine as much as the target.",
            Verdict::TargetFailing => " The times of the other requests say little about it.",
            Verdict::GeneratorFailing => " The results say nothing about the target.",
            _ => "",
        };
        format!("{}.{consequence}{}", self.headline(lateness, failed), left_out(self, lateness))
    }
}

/// Returns a sentence about the time that the verdict leaves out. The sentence is empty if the verdict would be the
/// same with that time.
fn left_out(verdict: Verdict, lateness: &Lateness) -> String {
    let names_cause = [Verdict::TargetBehind, Verdict::ThinkTimes].contains(&verdict);
    if !names_cause || Verdict::of_most(lateness).is_some() {
        return String::new();
    }
    let shares = [lateness.target_share(), lateness.queued_share()];
    let [target, queued] = shares.map(|share| percent(share.unwrap_or(0.0)));
    format!(
        " The target caused {target} of the lateness; during up to {queued} of it the generator waited for the CPU \
         while other programs ran."
    )
}

fn failing(share: f64) -> String {
    if share >= 1.0 {
        return "The target is failing: all requests failed".to_owned();
    }
    format!("The target is failing: {} of the requests failed", percent(share))
}

fn both(lateness: &Lateness) -> String {
    let [target, generator, resting] = lateness.main_shares();
    let is_rested = resting > 0.0;
    let [target, generator, resting] = [target, generator, resting].map(percent);
    if is_rested {
        return format!(
            "Late for several reasons: target {target}, generator {generator}, think times {resting} of the lateness"
        );
    }
    format!(
        "Target and generator could not keep up: they caused {target} and {generator} of the lateness"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{
        BothBehind, GeneratorBehind, GeneratorFailing, OnSchedule, TargetBehind, TargetFailing,
        ThinkTimes,
    };

    fn evidence() -> Evidence {
        Evidence {
            ratio: 1.0,
            wait_p99: Duration::ZERO,
            service_p99: Duration::ZERO,
            lateness: Lateness::default(),
            others: 1.0,
            failed: 0.0,
            failed_by_generator: 0.0,
            late: 0.0,
        }
    }

    #[test]
    fn the_share_of_failed_requests_is_named() {
        let text = |failed| TargetFailing.headline(&Lateness::default(), failed);
        assert_eq!(text(0.012), "The target is failing: 1.2 % of the requests failed");
        assert_eq!(text(1.0), "The target is failing: all requests failed");
    }

    #[test]
    fn the_table() {
        let cases = [
            // The columns are: the ratio, the p99 of the wait time and of the service time in ms, the lateness that the
            // target and the generator caused, and the failed share.
            (1.00, 0, 1, 0.0, 0.1, 0.0, OnSchedule),
            (1.00, 10, 1, 1.0, 1.0, 0.01, OnSchedule),
            (0.99, 0, 1, 1.0, 0.0, 0.0, OnSchedule),
            // Requests were late by only a twentieth of the service time.
            (1.00, 50, 1_000, 1.0, 0.0, 0.0, OnSchedule),
            // After a stall, all requests were started, but late.
            (1.00, 1_900, 1, 99.0, 1.0, 0.0, TargetBehind),
            (1.00, 11, 1, 0.67, 0.33, 0.0, TargetBehind),
            (1.00, 11, 1, 0.66, 0.34, 0.0, BothBehind),
            (0.98, 0, 1, 0.9, 0.1, 0.0, TargetBehind),
            (0.50, 5_000, 1, 0.34, 0.66, 0.0, BothBehind),
            (0.50, 5_000, 1, 0.33, 0.67, 0.0, GeneratorBehind),
            (1.00, 11, 1, 0.0, 0.1, 0.0, GeneratorBehind),
            (0.98, 0, 1, 0.0, 0.0, 0.0, GeneratorBehind),
            (1.00, 0, 1, 0.0, 0.0, 0.011, TargetFailing),
            (0.50, 5_000, 1, 0.0, 1.0, 1.0, TargetFailing),
        ];
        for (ratio, wait_p99, service_p99, target, generator, failed, verdict) in cases {
            let evidence = Evidence {
                ratio,
                wait_p99: Duration::from_millis(wait_p99),
                service_p99: Duration::from_millis(service_p99),
                lateness: Lateness { target, generator, ..Lateness::default() },
                failed,
                ..evidence()
            };
            assert_eq!(Verdict::new(&evidence), verdict, "{evidence:?}");
        }
    }

    #[test]
    fn cpu_time_of_others_is_left_out_where_no_cause_has_most_of_the_lateness() {
        let second = Duration::from_secs(1);
        for (target, generator, queued, others, expected) in [
            (64.0, 55.0, 50.0, 1.0, TargetBehind),
            (64.0, 55.0, 50.0, 0.5, TargetBehind),
            // The generator's own threads used most of the CPU time.
            (64.0, 55.0, 50.0, 0.3, BothBehind),
            (64.0, 55.0, 50.0, 0.0, BothBehind),
            (64.0, 55.0, 20.0, 1.0, BothBehind),
            (36.0, 64.0, 64.0, 1.0, TargetBehind),
            // The generator caused two thirds of the lateness, so no time is left out.
            (30.0, 70.0, 70.0, 1.0, GeneratorBehind),
            (0.0, 70.0, 70.0, 1.0, GeneratorBehind),
            (70.0, 30.0, 0.0, 1.0, TargetBehind),
        ] {
            let lateness = Lateness { target, generator, queued, ..Lateness::default() };
            let evidence = Evidence { wait_p99: second, lateness, others, ..evidence() };
            assert_eq!(Verdict::new(&evidence), expected, "{evidence:?}");
        }
    }

    #[test]
    fn a_verdict_says_what_is_left_out_of_it() {
        let of = |target, generator, queued| {
            let lateness = Lateness { target, generator, queued, ..Lateness::default() };
            TargetBehind.sentence(&lateness, 0.0)
        };
        assert!(of(80.0, 20.0, 20.0).ends_with("no connection was free for them."));
        let told = " The target caused 60.0 % of the lateness; during up to 35.0 % of it the generator waited for the \
                    CPU while other programs ran.";
        assert!(of(60.0, 40.0, 35.0).ends_with(told), "{}", of(60.0, 40.0, 35.0));
    }

    #[test]
    fn the_generator_is_failing_if_half_of_the_failures_are_its_own() {
        let verdict = |failed, failed_by_generator| {
            Verdict::new(&Evidence { failed, failed_by_generator, ..evidence() })
        };
        for (failed, own, expected) in [
            (0.01, 0.01, OnSchedule),
            (0.02, 0.02, GeneratorFailing),
            (0.02, 0.01, GeneratorFailing),
            (0.02, 0.009, TargetFailing),
            (1.0, 0.0, TargetFailing),
        ] {
            assert_eq!(verdict(failed, own), expected, "{failed} {own}");
        }
        assert_eq!(GeneratorFailing.of_closed_loop(true), GeneratorFailing);
    }

    #[test]
    fn think_times_too_long_for_the_connections_blame_neither_side() {
        let verdict = |lateness, late| {
            let wait_p99 = Duration::from_secs(u64::from(late == 0.0));
            Verdict::new(&Evidence { wait_p99, lateness, late, ..evidence() })
        };
        let of = |target, generator, resting| Lateness {
            target,
            generator,
            resting,
            ..Lateness::default()
        };
        for (lateness, expected) in [
            (of(0.1, 0.1, 0.8), ThinkTimes),
            (of(0.7, 0.0, 0.3), TargetBehind),
            (of(0.1, 0.7, 0.2), GeneratorBehind),
            (of(0.4, 0.3, 0.3), BothBehind),
        ] {
            assert_eq!(verdict(lateness, 0.0), expected, "{lateness:?}");
        }
        assert_eq!(verdict(of(0.0, 1.0, 0.0), 0.02), GeneratorBehind);
        assert_eq!(verdict(of(0.0, 1.0, 0.0), 0.01), OnSchedule);
        let told = BothBehind.sentence(&of(0.4, 0.3, 0.3), 0.0);
        assert!(told.contains("generator 30.0 %, think times 30.0 %"), "{told}");
    }

    #[test]
    fn where_both_fell_behind_the_shares_are_reported() {
        let lateness = Lateness { target: 1.0, generator: 2.0, held: 2.0, ..Lateness::default() };
        let sentence = BothBehind.sentence(&lateness, 0.0);
        let told = "Target and generator could not keep up: they caused 60.0 % and 40.0 % of the lateness.";
        assert!(sentence.starts_with(told), "{sentence}");
    }
}
