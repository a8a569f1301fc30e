//! Records the load and the operations over time. However long a run is, the number of intervals is limited.

use super::outcome::{Due, Outcome};
use super::percentiles::Sample;
use super::stats::OperationStats;
use crate::console::human;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::time::Duration;

/// The maximum number of intervals. If there are more, each pair of neighbouring intervals is joined.
pub(crate) const MOST: usize = 300;

/// The length of an interval of several loads is a multiple of this number of milliseconds.
const WIDTH_MS: u128 = 250;

const MOST_BATCHES: usize = 64;

/// The load and the operations in an interval of the run. Times are measured from the start of the schedule.
#[derive(Clone, Debug)]
pub(crate) struct Interval {
    pub(crate) from: Duration,
    pub(crate) to: Duration,
    pub(crate) asked: f64,
    /// The backlog at the end of the interval. A joined interval has the largest backlog of its parts.
    pub(crate) backlog: Backlog,
    pub(crate) brief: Brief,
    pub(crate) due: Due,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Backlog {
    pub(crate) slots: u64,
    /// The time in which the requested rate schedules this number of slots.
    pub(crate) time: Duration,
}

/// The operations that started in an interval, and the results of the operations that ended in the interval.
#[derive(Clone, Debug)]
pub(crate) struct Brief {
    pub(crate) wait: Histogram<u64>,
    pub(crate) service: Histogram<u64>,
    pub(crate) response: Histogram<u64>,
    pub(crate) bounds: Histogram<u64>,
    pub(crate) failed: u64,
    pub(crate) answered: u64,
}

impl Brief {
    pub(crate) fn new() -> Brief {
        let histogram = Histogram::new(2).expect("2 is a valid number of digits");
        Brief {
            wait: histogram.clone(),
            service: histogram.clone(),
            response: histogram.clone(),
            bounds: histogram,
            failed: 0,
            answered: 0,
        }
    }

    pub(crate) fn of(stats: &OperationStats) -> Brief {
        let mut brief = Brief::new();
        brief.failed = stats.failed();
        brief.answered = stats.answered;
        brief.add_times([&stats.wait, &stats.service, &stats.response, &stats.bounds]);
        brief
    }

    pub(crate) fn add(&mut self, other: &Brief) {
        self.failed += other.failed;
        self.answered += other.answered;
        self.add_times([&other.wait, &other.service, &other.response, &other.bounds]);
    }

    fn add_times(&mut self, times: [&Histogram<u64>; 4]) {
        let Brief { wait, service, response, bounds, .. } = self;
        for (sum, part) in [wait, service, response, bounds].into_iter().zip(times) {
            sum.add(part).expect("a histogram without a given range grows as needed");
        }
    }

    pub(crate) fn responses(&self) -> Sample<'_> {
        Sample::bounded(&self.response, &self.bounds)
    }

    pub(crate) fn started(&self) -> u64 {
        self.wait.len()
    }

    pub(crate) fn completed(&self) -> u64 {
        self.service.len()
    }
}

impl Interval {
    pub(crate) fn length(&self) -> Duration {
        self.to.saturating_sub(self.from)
    }

    pub(crate) fn asked_hz(&self) -> f64 {
        self.asked / self.length().as_secs_f64()
    }

    pub(crate) fn achieved_hz(&self) -> f64 {
        human::float(self.brief.started()) / self.length().as_secs_f64()
    }

    /// Adds the operations of another load in the same interval.
    fn add(&mut self, other: &Interval) {
        let slots = self.backlog.slots + other.backlog.slots;
        self.join(other);
        self.backlog.slots = slots;
    }

    pub(crate) fn join(&mut self, next: &Interval) {
        self.to = self.to.max(next.to);
        self.asked += next.asked;
        self.backlog = self.backlog.max(next.backlog);
        self.brief.add(&next.brief);
        self.due.add(&next.due);
    }
}

#[derive(Clone, Debug)]
pub(crate) struct OverTime {
    intervals: Vec<Interval>,
    each: usize,
    last: usize,
}

impl OverTime {
    pub(crate) fn new() -> OverTime {
        OverTime { intervals: Vec::new(), each: 1, last: 0 }
    }

    /// Returns the intervals. None of them has the length zero.
    pub(crate) fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// Adds an interval. An interval of length zero is joined to the previous interval, or dropped if there is no
    /// previous interval.
    pub(crate) fn add(&mut self, interval: Interval) {
        let is_full = self.last == self.each && interval.from < interval.to;
        match self.intervals.last_mut() {
            Some(last) if !is_full => last.join(&interval),
            _ if interval.from >= interval.to => return,
            _ => {
                self.halve_if_full();
                self.intervals.push(interval);
                self.last = 0;
            }
        }
        self.last = (self.last + 1).min(self.each);
    }

    pub(crate) fn count(&mut self, due: Duration, outcome: &Outcome) {
        let behind = self.intervals.partition_point(|interval| interval.from <= due);
        // The end of the schedule counts as part of the last interval.
        if let Some(interval) = self.intervals.get_mut(behind.saturating_sub(1)) {
            interval.due.count(outcome);
        }
    }

    /// Returns the sum of several loads. The intervals of the sum are at least as long as any interval of a load. An
    /// interval of a load counts in the interval of the sum that contains its middle.
    pub(crate) fn sum(loads: &[(Duration, &OverTime)]) -> OverTime {
        let all = || loads.iter().flat_map(|(_, load)| &load.intervals);
        let width = all().map(|of| of.length().as_millis().next_multiple_of(WIDTH_MS)).max();
        let width = width.unwrap_or(WIDTH_MS);
        let mut sum: BTreeMap<u128, Interval> = BTreeMap::new();
        for &(start, load) in loads {
            for (number, interval) in load.parts(start, width) {
                sum.entry(number).and_modify(|sum| sum.add(&interval)).or_insert(interval);
            }
        }
        let mut intervals: Vec<_> = sum.into_values().collect();
        let spans = || loads.iter().filter_map(|(start, load)| load.span(*start));
        if let Some((first, from)) = intervals.first_mut().zip(spans().map(|span| span.0).min()) {
            first.from = first.from.max(from);
        }
        if let Some((last, to)) = intervals.last_mut().zip(spans().map(|span| span.1).max()) {
            last.to = last.to.min(to);
        }
        OverTime { intervals, each: 1, last: 1 }
    }

    fn span(&self, start: Duration) -> Option<(Duration, Duration)> {
        Some((start + self.intervals.first()?.from, start + self.intervals.last()?.to))
    }

    fn parts(&self, start: Duration, width: u128) -> BTreeMap<u128, Interval> {
        let at =
            |number: u128| Duration::from_millis(u64::try_from(number * width).unwrap_or(u64::MAX));
        let mut parts: BTreeMap<u128, Interval> = BTreeMap::new();
        for interval in &self.intervals {
            let number = (start + (interval.from + interval.to) / 2).as_millis() / width;
            let part = Interval { from: at(number), to: at(number + 1), ..interval.clone() };
            parts.entry(number).and_modify(|of| of.join(&part)).or_insert(part);
        }
        parts
    }

    /// Returns at most `most` intervals. Each of them joins the same number of recorded intervals, which is a power of
    /// two. The last one may join fewer.
    pub(crate) fn at_most(&self, most: usize) -> Vec<Interval> {
        joined(&self.intervals, self.intervals.len().div_ceil(most).next_power_of_two())
    }

    /// Returns the batches for estimating variances: 33 to 64 batches, if there are enough intervals.
    pub(crate) fn batches(&self) -> Vec<Interval> {
        self.at_most(MOST_BATCHES)
    }

    fn halve_if_full(&mut self) {
        if self.intervals.len() == MOST {
            self.intervals = joined(&self.intervals, 2);
            self.each *= 2;
        }
    }
}

fn joined(intervals: &[Interval], each: usize) -> Vec<Interval> {
    let join_all = |chunk: &[Interval]| {
        let mut all = chunk[0].clone();
        chunk[1..].iter().for_each(|next| all.join(next));
        all
    };
    intervals.chunks(each).map(join_all).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Creates a record from intervals, each with a start and an end in ms, and the numbers of requested slots and of
    /// started operations.
    pub(crate) fn over_time(intervals: impl IntoIterator<Item = (u64, u64, f64, u64)>) -> OverTime {
        let mut over_time = OverTime::new();
        for (from, to, asked, started) in intervals {
            let [from, to] = [from, to].map(Duration::from_millis);
            let mut brief = Brief::new();
            brief.wait.record_n(1_000, started).unwrap();
            let backlog = Backlog { slots: started, time: Duration::ZERO };
            over_time.add(Interval { from, to, asked, backlog, brief, due: Due::new() });
        }
        over_time
    }

    #[test]
    fn a_slot_at_the_very_end_belongs_to_the_last_interval() {
        let all = over_time([(0, 1_000, 5.0, 4), (1_000, 1_000, 0.0, 1)]);
        assert_eq!((all.intervals.len(), all.intervals[0].brief.started()), (1, 5));
        assert!(over_time([(0, 0, 0.0, 0)]).intervals.is_empty());
    }

    proptest! {
        #[test]
        fn nothing_is_lost_however_long_it_takes(number in 1_u64..2_000, empty in 0_u64..7) {
            let all = over_time((0..number).map(|at| {
                let empty = at > 0 && at % 7 < empty;
                (at * 10, if empty { at * 10 } else { at * 10 + 10 }, 2.0, at % 5)
            }));
            let kept = &all.intervals;
            prop_assert!(kept.len() <= MOST);
            let started = (0..number).map(|at| at % 5).sum::<u64>();
            prop_assert_eq!(kept.iter().map(|kept| kept.brief.started()).sum::<u64>(), started);
            let asked: f64 = kept.iter().map(|kept| kept.asked).sum();
            prop_assert!((asked - human::float(number) * 2.0).abs() < 1e-6);
            prop_assert!(kept.windows(2).all(|pair| pair[0].to <= pair[1].from));
            let most = kept.iter().map(|kept| kept.backlog.slots).max();
            prop_assert_eq!(most, Some((number - 1).min(4)));
            prop_assert!(all.at_most(12).len() <= 12);
        }
    }
}
