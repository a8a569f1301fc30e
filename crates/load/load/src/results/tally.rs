//! Counts operations since the warm-up, in a form that is small enough to be sent to observers repeatedly.

use super::labels::Labelled;
use super::lateness::Lateness;
use super::stats::OperationStats;
use super::think_times::ThinkTimes;
use crate::console::human::float;
use crate::load::details::Traffic;
use crate::load::kind::FailureKind;
use crate::load::shortage::GENERATOR;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::time::Duration;

/// The upper bounds of the buckets in nanoseconds. There are three bounds per factor of ten, from 10 us to 100 s.
pub(crate) const BOUNDS_NS: [u64; 22] = [
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
    10_000_000_000,
    20_000_000_000,
    50_000_000_000,
    100_000_000_000,
];

/// The counts of operations. No count ever decreases.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) started: u64,
    pub(crate) completed: u64,
    pub(crate) unfinished: u64,
    pub(crate) unstarted: u64,
    pub(crate) lateness: Lateness,
    pub(crate) think_times: ThinkTimes,
    pub(crate) failures: BTreeMap<FailureKind, u64>,
    pub(crate) statuses: BTreeMap<u16, u64>,
    pub(crate) connections: u64,
    pub(crate) traffic: Traffic,
    pub(crate) wait: Buckets,
    pub(crate) service: Buckets,
    pub(crate) response: Buckets,
    pub(crate) labels: BTreeMap<String, LabelTally>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct LabelTally {
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) service: Buckets,
    pub(crate) response: Buckets,
    is_expected: bool,
}

impl LabelTally {
    fn add(&mut self, labelled: &Labelled) {
        self.completed += labelled.completed();
        self.failed += labelled.failed();
        self.service.add(&labelled.service);
        self.response.add(&labelled.response);
    }
}

impl Tally {
    pub(crate) fn expect(&mut self, labels: &[&str]) {
        for label in labels {
            self.labels.entry((*label).to_owned()).or_default().is_expected = true;
        }
    }

    pub(crate) fn add(&mut self, stats: &OperationStats) {
        self.started += stats.started();
        self.completed += stats.completed();
        self.unfinished += stats.unfinished;
        self.unstarted += stats.unstarted;
        self.lateness = self.lateness.plus(stats.lateness);
        self.think_times.add(stats.think_times);
        for (failure, count) in &stats.failures {
            *self.failures.entry(*failure).or_default() += count;
        }
        for (status, count) in &stats.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        self.connections += stats.set_ups.all.len();
        self.traffic += stats.traffic;
        self.wait.add(&stats.wait);
        self.service.add(&stats.service);
        self.response.add(&stats.response);
        for labelled in stats.labels.iter() {
            match self.labels.get_mut(&labelled.label) {
                Some(tally) => tally.add(labelled),
                None => self.labels.entry(labelled.label.clone()).or_default().add(labelled),
            }
        }
    }

    /// Returns the results of the labels, or none if all operations have the same label, and this label was not
    /// expected.
    pub(crate) fn labels_apart(&self) -> impl Iterator<Item = (&str, &LabelTally)> {
        let ended = self.completed + self.failed();
        let all = self.labels.iter().map(|(label, tally)| (label.as_str(), tally));
        let is_only = self.labels.len() == 1;
        all.filter(move |(_, tally)| {
            tally.is_expected || !is_only || tally.completed + tally.failed < ended
        })
    }

    pub(crate) fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    pub(crate) fn failed_by_generator(&self) -> u64 {
        let own = self.failures.iter().filter(|(kind, _)| kind.group() == GENERATOR);
        own.map(|(_, count)| count).sum()
    }

    /// Returns the number of requests in flight. Calls in a think time are not included.
    pub(crate) fn in_flight(&self) -> u64 {
        let ended = self.completed + self.failed() + self.unfinished;
        self.started.saturating_sub(ended + self.think_times.now())
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Buckets {
    /// A time in a bucket is at most its bound, and above the previous bound. The last bucket has no bound.
    pub(crate) counts: [u64; BOUNDS_NS.len() + 1],
    pub(crate) sum: Duration,
}

impl Buckets {
    pub(crate) fn mean(&self) -> Option<Duration> {
        let all: u64 = self.counts.iter().sum();
        (all > 0).then(|| self.sum.div_f64(float(all)))
    }

    pub(crate) fn at_most(&self, quantile: f64) -> Duration {
        let all: u64 = self.counts.iter().sum();
        let longest = Duration::MAX;
        let mut below = 0;
        let bounds = BOUNDS_NS.iter().map(|ns| Duration::from_nanos(*ns)).chain([longest]);
        let reached = self.counts.iter().zip(bounds).find(|(count, _)| {
            below += **count;
            float(below) >= quantile * float(all)
        });
        reached.map_or(longest, |(_, bound)| bound)
    }

    /// Adds times to the buckets. A time counts in the bucket of the shortest time in its histogram step. The sum uses
    /// the middle of each step.
    pub(crate) fn add(&mut self, times: &Histogram<u64>) {
        for step in times.iter_recorded() {
            let (ns, count) = (step.value_iterated_to(), step.count_since_last_iteration());
            let (lowest, middle) = (times.lowest_equivalent(ns), times.median_equivalent(ns));
            self.counts[BOUNDS_NS.partition_point(|&bound| bound < lowest)] += count;
            let sum = u128::from(middle) * u128::from(count);
            self.sum += Duration::from_nanos(u64::try_from(sum).unwrap_or(u64::MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_at_a_bound_is_not_above_it() {
        let mut histogram = Histogram::new(3).unwrap();
        for ns in [1, 10_000, 10_100, 150_000, 500_000_000_000] {
            histogram.record(ns).unwrap();
        }
        let mut buckets = Buckets::default();
        buckets.add(&histogram);
        buckets.add(&histogram);
        assert_eq!((buckets.counts[0], buckets.counts[1], buckets.counts[4]), (4, 2, 2));
        assert_eq!((buckets.counts[BOUNDS_NS.len()], buckets.counts.iter().sum::<u64>()), (2, 10));
        assert_eq!(buckets.at_most(0.5), Duration::from_micros(20));
        assert_eq!(buckets.at_most(0.8), Duration::from_micros(200));
        assert_eq!(buckets.at_most(0.99), Duration::MAX);
        let (sum, exact) = (buckets.sum.as_secs_f64(), 2.0 * 500.000_170_101);
        assert!((sum / exact - 1.0).abs() < 1e-3, "{sum}");
    }
}
