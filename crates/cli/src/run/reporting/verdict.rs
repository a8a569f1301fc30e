//! The verdict: did the load follow the schedule, and if not, was the target or the generator too
//! slow?
//!
//! The load was **on schedule** if at least 99 % of the requests that were asked for were started, and
//! the 99th percentile of the wait time is at most 10 ms (about what a busy scheduler takes at a time)
//! or at most a tenth of the 99th percentile of the service time.
//!
//! Otherwise whoever caused most of the lateness was behind: the **target**, as far as slots waited
//! for a free connection, and else the **generator**: see
//! [`lateness`](crate::run::recording::lateness). Seconds in which the load threads were out of
//! processor time are put down to the generator as a whole.
//!
//! If the load threads had less than half of the processor time that they wanted, the generator was
//! behind in any case: answers that were there had to wait for it, which no other figure shows.
//!
//! If more than 1 % of the requests failed, the **target is failing**, whatever the load was: the
//! times of the others say little.

use crate::run::recording::lateness::Lateness;
use serde::Serialize;
use std::time::Duration;

/// What the verdict is based on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    /// Operations started as a share of those that were asked for.
    pub(crate) ratio: f64,
    /// 99th percentile of the wait time.
    pub(crate) wait_p99: Duration,
    /// 99th percentile of the service time.
    pub(crate) service_p99: Duration,
    /// What the lateness was spent on.
    pub(crate) lateness: Lateness,
    /// Operations failed per operation started.
    pub(crate) failed: f64,
    /// What the load threads had of the processor, as a share of what they wanted; 1 if they wanted
    /// little.
    pub(crate) processor: f64,
}

/// Whether the run was on schedule, and what was too slow if not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// The load followed the schedule.
    OnSchedule,
    /// The target was too slow: workers were waiting for answers when slots fell due.
    TargetBehind,
    /// This program or its machine was too slow.
    GeneratorBehind,
    /// Too many requests failed.
    TargetFailing,
}

const LEAST_RATIO: f64 = 0.99;
const MOST_FAILED: f64 = 0.01;
const LEAST_PROCESSOR: f64 = 0.5;

impl Verdict {
    /// What a busy scheduler takes at a time.
    const HICCUP: Duration = Duration::from_millis(10);

    /// The verdict on a run.
    pub(crate) fn new(evidence: &Evidence) -> Verdict {
        let small = Verdict::HICCUP.max(evidence.service_p99 / 10);
        if evidence.failed > MOST_FAILED {
            Verdict::TargetFailing
        } else if evidence.processor < LEAST_PROCESSOR {
            Verdict::GeneratorBehind
        } else if evidence.ratio >= LEAST_RATIO && evidence.wait_p99 <= small {
            Verdict::OnSchedule
        } else if evidence.lateness.target > evidence.lateness.generator {
            Verdict::TargetBehind
        } else {
            Verdict::GeneratorBehind
        }
    }

    /// The verdict in a sentence.
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Verdict::OnSchedule => "on schedule: the load is the one that was asked for.",
            Verdict::TargetBehind => {
                "the target could not keep up: slots fell due while all connections were waiting for answers. \
                 If it should be able to, try more --connections."
            }
            Verdict::GeneratorBehind => {
                "the generator could not keep up: slots fell due and its threads had no processor time or woke up late. \
                 The results say more about this machine than about the target."
            }
            Verdict::TargetFailing => {
                "the target is failing: more than 1 % of the requests had no good answer. \
                 The times of the others say little."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{GeneratorBehind, OnSchedule, TargetBehind, TargetFailing};

    #[test]
    fn the_table() {
        let cases = [
            // ratio, p99 of wait and service in ms, lateness by target and generator, failed
            (1.00, 0, 1, 0.0, 0.1, 0.0, OnSchedule),
            (1.00, 10, 1, 1.0, 1.0, 0.01, OnSchedule),
            (0.99, 0, 1, 1.0, 0.0, 0.0, OnSchedule),
            // Late by a twentieth of the service time.
            (1.00, 50, 1_000, 1.0, 0.0, 0.0, OnSchedule),
            // A stall: all started in the end, but late.
            (1.00, 1_900, 1, 99.0, 1.0, 0.0, TargetBehind),
            (1.00, 11, 1, 0.51, 0.49, 0.0, TargetBehind),
            (0.98, 0, 1, 0.9, 0.1, 0.0, TargetBehind),
            // Connections were free and slots still late.
            (0.50, 5_000, 1, 0.49, 0.51, 0.0, GeneratorBehind),
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
                lateness: Lateness { target, generator, held: 100.0 },
                failed,
                processor: 0.5,
            };
            assert_eq!(Verdict::new(&evidence), verdict, "{evidence:?}");
            // Without the processor nothing of it can be believed, but that the target fails.
            let starved = Verdict::new(&Evidence { processor: 0.49, ..evidence });
            let expected = if failed > 0.01 { TargetFailing } else { GeneratorBehind };
            assert_eq!(starved, expected, "{evidence:?}");
        }
    }
}
