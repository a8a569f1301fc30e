//! Computes the operations of a fleet's nodes: all operations, and those between the last two reports of each node.

use super::results::Results;
use crate::console::human::float;
use crate::results::stats::OperationStats;
use nanopace_fleet::NodeResults;
use std::collections::BTreeMap;
use std::time::Duration;

/// If the last report of a node is older than the newest report of any node by more than this time, the node is left
/// out of the last second.
const LATE: Duration = Duration::from_millis(1_500);

#[derive(Debug, Default)]
pub(crate) struct Tellings(BTreeMap<u16, Node>);

#[derive(Debug)]
struct Node {
    until: Duration,
    stats: OperationStats,
    last: Option<(Duration, OperationStats)>,
}

#[derive(Debug)]
pub(crate) struct Done {
    /// The beginning and the end of the time that `stats` covers, as times of the load.
    pub(crate) span: (Duration, Duration),
    pub(crate) hz: f64,
    pub(crate) stats: OperationStats,
}

impl Tellings {
    pub(crate) fn update(&mut self, results: &[NodeResults]) {
        for of in results {
            if let Ok((until, stats)) = Results::sum_from_bytes(&of.bytes) {
                self.tell(of.number, until, stats);
            }
        }
    }

    fn tell(&mut self, number: u16, until: Duration, stats: OperationStats) {
        let before = self.0.get(&number);
        if before.is_some_and(|before| before.until == until) {
            return;
        }
        let since =
            |before: &Node| Some((until.checked_sub(before.until)?, stats.since(&before.stats)?));
        // If a node began to record in this second, it has started more operations than it reports, so this report is
        // left out.
        let before = before.filter(|before| before.stats.started() > 0);
        let last = before.and_then(since);
        self.0.insert(number, Node { until, stats, last });
    }

    pub(crate) fn all(&self) -> OperationStats {
        sum(self.0.values().map(|node| &node.stats))
    }

    /// Returns the operations of about the last second, for the nodes that still report. Returns `None` until a node
    /// has reported twice.
    pub(crate) fn last(&self) -> Option<Done> {
        let newest = self.0.values().map(|node| node.until).max()?;
        let recent = self.0.values().filter(|node| node.until.saturating_add(LATE) >= newest);
        let last: Vec<_> = recent.filter_map(|node| node.last.as_ref()).collect();
        let hz = |(time, stats): &&(Duration, OperationStats)| {
            float(stats.started()) / time.as_secs_f64()
        };
        let stats = sum(last.iter().map(|(_, stats)| stats));
        let longest = last.iter().map(|(time, _)| *time).max()?;
        let span = (newest.saturating_sub(longest), newest);
        Some(Done { span, hz: last.iter().map(hz).sum(), stats })
    }
}

fn sum<'a>(all: impl Iterator<Item = &'a OperationStats>) -> OperationStats {
    all.fold(OperationStats::new(), |mut sum, stats| {
        sum.add(stats);
        sum
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::kind::FailureKind;

    fn stats(times: &[u64], failed: u64) -> OperationStats {
        let mut stats = OperationStats::new();
        for &time in times {
            stats.wait.record(time).unwrap();
            stats.service.record(time).unwrap();
            stats.response.record(time).unwrap();
        }
        if failed > 0 {
            stats.failures.insert(FailureKind::new("timeout"), failed);
        }
        stats
    }

    #[test]
    fn the_last_second_is_the_difference_of_two_reports() {
        let mut tellings = Tellings::default();
        let second = Duration::from_secs;
        tellings.tell(1, second(1), stats(&[5, 5, 900_000], 1));
        assert!(tellings.last().is_none());
        tellings.tell(1, second(2), stats(&[5, 5, 5, 7, 900_000], 4));
        tellings.tell(1, second(2), stats(&[5, 5, 5, 7, 900_000], 4));
        tellings.tell(2, second(1), stats(&[9], 0));
        tellings.tell(2, second(3), stats(&[9, 8, 8, 8, 8], 0));
        let last = tellings.last().unwrap();
        let counts = (last.stats.started(), last.stats.failed(), last.stats.response.max());
        assert_eq!(counts, (6, 3, 8));
        assert_eq!(last.span, (second(1), second(3)));
        assert!((last.hz - (2.0 + 4.0 / 2.0)).abs() < 1e-9, "{}", last.hz);
        assert_eq!((tellings.all().started(), tellings.all().response.max() > 800_000), (10, true));
        // The first node has stopped reporting, so only the second one counts.
        tellings.tell(2, second(5), stats(&[9, 8, 8, 8, 8, 3, 3], 0));
        let last = tellings.last().unwrap();
        assert_eq!((last.stats.started(), last.stats.response.max()), (2, 3));
    }

    #[test]
    fn work_before_anything_is_recorded_is_not_known() {
        let mut tellings = Tellings::default();
        for (second, times) in [(1, &[][..]), (2, &[]), (3, &[5, 5])] {
            tellings.tell(1, Duration::from_secs(second), stats(times, 0));
            assert!(tellings.last().is_none());
        }
        tellings.tell(1, Duration::from_secs(4), stats(&[5, 5, 5, 5, 5], 0));
        assert_eq!(tellings.last().unwrap().stats.started(), 3);
    }

    #[test]
    fn a_report_with_less_than_before_is_not_of_the_same_node() {
        let mut tellings = Tellings::default();
        tellings.tell(1, Duration::from_secs(1), stats(&[5, 5, 5], 1));
        tellings.tell(1, Duration::from_secs(2), stats(&[5, 5], 1));
        assert!(tellings.last().is_none());
    }
}
