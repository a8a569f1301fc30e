//! Counts operations over time on a node. All nodes divide the load at the same times, so their counts can be added.

use crate::console::human;
use crate::results::outcome::{Due, Outcome};
use crate::results::over_time::{Backlog, Brief, Interval, OverTime};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::mem;
use std::time::Duration;

/// The maximum number of parts. If there are more, each pair of neighbouring parts is joined.
pub(crate) const MOST: u64 = 120;

const UNIT: Duration = Duration::from_millis(250);

#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    /// The length of each part in quarters of a second, a power of two.
    pub(crate) width: u64,
    pub(crate) parts: BTreeMap<u64, Part>,
    pub(crate) span: (Duration, Duration),
}

#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The largest backlog in the part. For several nodes, the sum of their slots, and the longest of their times.
    pub(crate) backlog: Backlog,
    pub(crate) asked: f64,
    pub(crate) brief: Brief,
    pub(crate) due: Due,
}

impl Timeline {
    /// Creates a timeline whose parts are 1 s long or longer.
    pub(crate) fn new() -> Timeline {
        Timeline { width: 4, parts: BTreeMap::new(), span: (Duration::MAX, Duration::ZERO) }
    }

    /// Creates the timeline of a finished run. Its parts are at least as long as the intervals.
    pub(crate) fn of(over_time: &OverTime) -> Timeline {
        let mut timeline = Timeline { width: 1, ..Timeline::new() };
        for interval in over_time.intervals() {
            // Intervals can be a few milliseconds too long, because ticks can be late, so their lengths are rounded.
            while interval.length().div_duration_f64(UNIT).round() > human::float(timeline.width) {
                timeline.widen();
            }
            timeline.add(interval.from, interval);
        }
        timeline
    }

    /// Adds an interval, which begins at the time `at` of the load and is not longer than a part.
    pub(crate) fn add(&mut self, at: Duration, interval: &Interval) {
        let length = interval.length();
        self.reach((at, at + length));
        let part = self.part(at + length / 2);
        part.backlog = part.backlog.max(interval.backlog);
        part.asked += interval.asked;
        part.brief.add(&interval.brief);
        part.due.add(&interval.due);
    }

    pub(crate) fn count(&mut self, due: Duration, outcome: &Outcome) {
        self.part(due).due.count(outcome);
    }

    fn reach(&mut self, (from, to): (Duration, Duration)) {
        self.span = (self.span.0.min(from), self.span.1.max(to));
    }

    fn part(&mut self, at: Duration) -> &mut Part {
        let units = at.as_secs().saturating_mul(4) + u64::from(at.subsec_millis() / 250);
        while units / self.width >= MOST {
            self.widen();
        }
        self.parts.entry(units / self.width).or_insert_with(Part::new)
    }

    fn widen(&mut self) {
        self.width *= 2;
        for (number, part) in mem::take(&mut self.parts) {
            let both = self.parts.entry(number / 2).or_insert_with(Part::new);
            both.backlog = both.backlog.max(part.backlog);
            both.add(&part);
        }
    }

    pub(crate) fn plus(mut self, mut other: Timeline) -> Timeline {
        while self.width < other.width {
            self.widen();
        }
        while other.width < self.width {
            other.widen();
        }
        self.reach(other.span);
        for (number, part) in other.parts {
            let sum = self.parts.entry(number).or_insert_with(Part::new);
            sum.backlog.slots += part.backlog.slots;
            sum.backlog.time = sum.backlog.time.max(part.backlog.time);
            sum.add(&part);
        }
        self
    }

    pub(crate) fn intervals(self) -> Vec<Interval> {
        let Timeline { width, span: (begin, end), .. } = self;
        let at = |number: u64| Duration::from_millis(number * width * 250);
        let intervals =
            self.parts.into_iter().map(|(number, Part { backlog, asked, brief, due })| {
                let (from, to) = (at(number).max(begin), at(number + 1).min(end));
                Interval { from, to, asked, backlog, brief, due }
            });
        intervals.filter(|interval| interval.from < interval.to).collect()
    }
}

impl Part {
    /// Creates an empty part. Its histograms have one significant digit, because each report contains all earlier
    /// seconds again.
    fn new() -> Part {
        let times = || Histogram::new(1).expect("1 is a valid number of digits");
        let [wait, service, response, bounds] = [(); 4].map(|()| times());
        let brief = Brief { wait, service, response, bounds, failed: 0, answered: 0 };
        let [wait, response, bounds] = [(); 3].map(|()| times());
        let due = Due { endings: BTreeMap::new(), wait, response, bounds };
        Part { backlog: Backlog::default(), asked: 0.0, brief, due }
    }

    fn add(&mut self, other: &Part) {
        self.asked += other.asked;
        self.brief.add(&other.brief);
        self.due.add(&other.due);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::human::float;
    use crate::results::outcome::Ending;
    use nanopace::Nanos;
    use proptest::prelude::*;

    /// Creates the timeline of a node. `starts` contains the numbers of starts in consecutive quarters of a second. The
    /// first quarter begins shortly after the second `first`.
    fn node(first: u64, starts: &[u64]) -> Timeline {
        let mut timeline = Timeline::new();
        for (quarter, &started) in (first * 4..).zip(starts) {
            let at = Duration::from_millis(quarter * 250 + 2);
            let mut brief = Brief::new();
            brief.wait.record_n(1_000, started).unwrap();
            let (from, to) = (Duration::ZERO, Duration::from_millis(250));
            let backlog = Backlog { slots: started, time: Duration::ZERO };
            timeline.add(at, &Interval { from, to, asked: 0.25, backlog, brief, due: Due::new() });
            let response_time = Duration::from_millis(1);
            let (intended_start, ending) = (Nanos::ZERO, Ending::Completed);
            let slots = started;
            let outcome = Outcome { intended_start, wait_time: None, response_time, ending, slots };
            timeline.count(Duration::from_millis(quarter * 250), &outcome);
        }
        timeline
    }

    fn started(intervals: &[Interval]) -> u64 {
        intervals.iter().map(|of| of.brief.started()).sum()
    }

    proptest! {
        #[test]
        fn a_sum_is_what_both_have_done_in_each_part(
            starts in prop::collection::vec((0_u64..5, 0_u64..5), 4..1_500),
            later in 0_usize..300,
        ) {
            let (one, other): (Vec<u64>, Vec<u64>) = starts.into_iter().unzip();
            let joined = later.min(other.len() / 4);
            let other = &other[4 * joined..];
            let both = one.iter().enumerate().map(|(quarter, started)| {
                started + quarter.checked_sub(4 * joined).map_or(0, |quarter| other[quarter])
            });
            let both: Vec<u64> = both.collect();
            let sum = node(0, &one).plus(node(joined as u64, other)).intervals();
            let whole = node(0, &both).intervals();
            let told = |all: &[Interval]| -> Vec<_> {
                all.iter().map(|of| (of.from, of.to, of.brief.started(), of.due.slots())).collect()
            };
            prop_assert_eq!(told(&sum), told(&whole));
            prop_assert_eq!(started(&sum), both.iter().sum::<u64>());
            prop_assert!(sum.len() as u64 <= MOST);
            prop_assert!(sum.windows(2).all(|pair| pair[0].to == pair[1].from));
            let asked: f64 = sum.iter().map(|of| of.asked).sum();
            let quarters = float((one.len() + other.len()) as u64);
            prop_assert!((asked - quarters / 4.0).abs() < 0.01, "{} {}", asked, quarters);
        }
    }
}
