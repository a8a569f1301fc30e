//! The verdict: did the load follow the schedule, and if not, was the target or the generator too
//! slow?
//!
//! The load was **on schedule** if at least 99 % of the slots that fell due were started, and the
//! 99th percentile of the wait time is at most 10 ms (about what a busy scheduler takes at a time)
//! or at most a tenth of the 99th percentile of the service time.
//!
//! Otherwise the cause of the lateness decides. If a slot fell due while its worker was still
//! inside the request before, that request held it back. If not, the generator held it back: it
//! woke up late or got no CPU. (For slots that were never started, and for time that a policy
//! forfeited, it matters whether any worker was free.)
//!
//! The **target was behind** if most of the lateness passed inside requests. There is one
//! exception: if the workers ran or waited for a CPU for most of their time inside requests, the
//! requests took so long because of this machine, and the **generator was behind**.

use serde::Serialize;
use std::time::Duration;

/// What the verdict is based on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    /// Operations started per slot that fell due.
    pub(crate) ratio: f64,
    /// 99th percentile of the wait time.
    pub(crate) wait_p99: Duration,
    /// 99th percentile of the service time.
    pub(crate) service_p99: Duration,
    /// The share of the lateness that passed inside requests.
    pub(crate) lateness_in_requests: f64,
    /// The share of the time inside requests in which the workers ran or were ready to run, if it
    /// is known.
    pub(crate) cpu_share: Option<f64>,
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
}

const LEAST_RATIO: f64 = 0.99;
const SCHEDULER_HICCUP: Duration = Duration::from_millis(10);
const MOST: f64 = 0.5;

impl Verdict {
    /// The verdict on a run.
    pub(crate) fn new(evidence: &Evidence) -> Verdict {
        let small = SCHEDULER_HICCUP.max(evidence.service_p99 / 10);
        if evidence.ratio >= LEAST_RATIO && evidence.wait_p99 <= small {
            Verdict::OnSchedule
        } else if evidence.lateness_in_requests > MOST
            && evidence.cpu_share.is_none_or(|share| share < MOST)
        {
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
                "the target could not keep up: slots fell due while all workers were waiting for answers. \
                 If it should be able to, try more --workers."
            }
            Verdict::GeneratorBehind => {
                "the generator could not keep up: slots fell due and its workers had no CPU or woke up late. \
                 The results say more about this machine than about the target."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{GeneratorBehind, OnSchedule, TargetBehind};

    #[test]
    fn the_table() {
        // ratio, p99 of wait and service in ms, lateness in requests, CPU share
        for (ratio, wait_p99, service_p99, in_requests, cpu_share, verdict) in [
            (1.00, 0, 1, 0.0, Some(0.1), OnSchedule),
            (1.00, 10, 1, 1.0, Some(1.0), OnSchedule),
            (0.99, 0, 1, 1.0, None, OnSchedule),
            // Late by a twentieth of the service time.
            (1.00, 50, 1_000, 1.0, None, OnSchedule),
            // A stall: all started in the end, but late.
            (1.00, 1_900, 1, 0.99, Some(0.1), TargetBehind),
            (1.00, 11, 1, 0.51, None, TargetBehind),
            (0.98, 0, 1, 0.9, None, TargetBehind),
            (0.50, 5_000, 1, 1.0, Some(0.49), TargetBehind),
            // Inside requests, but only because the requests themselves got no CPU.
            (0.50, 5_000, 1, 1.0, Some(0.51), GeneratorBehind),
            // Workers were free and still late.
            (1.00, 11, 1, 0.1, None, GeneratorBehind),
            (0.98, 0, 1, 0.0, None, GeneratorBehind),
        ] {
            let evidence = Evidence {
                ratio,
                wait_p99: Duration::from_millis(wait_p99),
                service_p99: Duration::from_millis(service_p99),
                lateness_in_requests: in_requests,
                cpu_share,
            };
            assert_eq!(Verdict::new(&evidence), verdict, "{evidence:?}");
        }
    }
}
