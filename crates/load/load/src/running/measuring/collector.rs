//! Collects the records of all threads while the threads are running.

use super::recorder::Recorder;
use crate::console::human::float;
use crate::results::gaps::{Gaps, Quality};
use crate::results::outcome::Outcome;
use crate::results::randomness::{Intervals, Randomness};
use crate::results::stats::OperationStats;
use nanopace::{Nanos, Pacer};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Collector<'run> {
    recorders: &'run [Arc<Recorder>],
    pacer: Pacer,
    /// The rate of this process, if it has been constant since the start and no late policy can give up slots.
    constant_hz: Option<f64>,
    is_even: bool,
    interval: OperationStats,
    second: OperationStats,
    last_second: OperationStats,
    total: OperationStats,
    spare: OperationStats,
    gaps: Gaps,
    intervals: Option<Intervals>,
    outcomes: Vec<Outcome>,
    spare_outcomes: Vec<Outcome>,
    /// The starts that were collected but not judged yet, because an earlier start may still arrive.
    starts: Vec<Nanos>,
}

impl<'run> Collector<'run> {
    pub(crate) fn new(
        pacer: &Pacer,
        recorders: &'run [Arc<Recorder>],
        constant_hz: Option<f64>,
        is_even: bool,
        is_poisson: bool,
    ) -> Collector<'run> {
        Collector {
            recorders,
            pacer: pacer.clone(),
            constant_hz,
            is_even,
            interval: OperationStats::new(),
            second: OperationStats::new(),
            last_second: OperationStats::new(),
            total: OperationStats::new(),
            spare: OperationStats::new(),
            gaps: Gaps::default(),
            intervals: is_poisson.then(Intervals::default),
            outcomes: Vec::new(),
            spare_outcomes: Vec::new(),
            starts: Vec::new(),
        }
    }

    pub(crate) fn expect(&mut self, labels: &[&str]) {
        self.total.labels.expect(labels);
    }

    pub(crate) fn take_outcomes(&mut self) {
        self.outcomes.clear();
        for recorder in self.recorders {
            recorder.swap_outcomes(&mut self.spare_outcomes);
            self.outcomes.append(&mut self.spare_outcomes);
        }
    }

    pub(crate) fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    pub(crate) fn collect(&mut self) -> &OperationStats {
        self.judge_starts();
        self.interval.clear();
        for recorder in self.recorders {
            recorder.swap_stats(&mut self.spare);
            self.interval.add(&self.spare);
            self.spare.clear();
        }
        self.second.add(&self.interval);
        &self.interval
    }

    pub(crate) fn end_second(&mut self) -> &OperationStats {
        self.total.add(&self.second);
        mem::swap(&mut self.second, &mut self.last_second);
        self.second.clear();
        &self.last_second
    }

    /// Records the lateness of the slots that were skipped after the last start, because no later start shows why they
    /// were late. `end` is the end of the schedule.
    pub(crate) fn look_at_last_skipped(&self, end: Nanos) {
        let slots = self.recorders[0].newly_skipped(self.pacer.ledger().skipped);
        let each = float(slots) / float(u64::try_from(self.recorders.len()).unwrap_or(u64::MAX));
        self.recorders.iter().for_each(|recorder| recorder.skipped_before(end, each));
    }

    pub(crate) fn settle(&mut self, skipped: u64, limit: Duration, forfeited: Duration) {
        self.total.skipped(skipped, limit);
        self.total.forfeited(forfeited);
    }

    /// Changes the load. The gap between the last start before the change and the first start after it is not judged.
    pub(crate) fn change(&mut self, change: impl FnOnce(&Pacer)) {
        self.judge_starts();
        self.constant_hz = None;
        change(&self.pacer);
        // Starts since the call of `judge_starts` may belong to either load.
        self.take_starts();
        self.starts.clear();
        self.gaps.cut();
        self.intervals.iter_mut().for_each(Intervals::cut);
    }

    /// Returns the statistics up to the end of the last second.
    pub(crate) fn total(&self) -> &OperationStats {
        &self.total
    }

    pub(crate) fn gap_quality(&self) -> Option<Quality> {
        self.gaps.quality()
    }

    pub(crate) fn randomness(&self) -> Option<Randomness> {
        self.intervals.as_ref().and_then(Intervals::randomness)
    }

    fn judge_starts(&mut self) {
        // No further start up to this time can arrive.
        let complete_until = self.take_starts();
        self.starts.sort_unstable();
        let complete = self.starts.partition_point(|start| *start <= complete_until);
        let starts = self.starts.drain(..complete);
        // For a constant rate, the number is computed here. A call of the pacer would take a lock for each start, and
        // compute with 256 bits.
        let asked = |start: Nanos| match self.constant_hz {
            Some(hz) => (start - Nanos::ZERO).as_secs_f64() * hz,
            None => self.pacer.asked_count(start),
        };
        if self.is_even {
            starts.for_each(|start| self.gaps.start(asked(start)));
        } else if let Some(intervals) = &mut self.intervals {
            starts.for_each(|start| intervals.start(asked(start)));
        }
    }

    fn take_starts(&mut self) -> Nanos {
        let now = self.pacer.now();
        for recorder in self.recorders {
            recorder.take_starts(now, &mut self.starts);
        }
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::operation::Answer;
    use crate::results::outcome::{Due, Ending};
    use crate::results::over_time::{Backlog, Brief, Interval, OverTime};
    use crate::running::measuring::recorder::Flight;
    use nanopace::{ManualClock, Rate};

    const RATE: u64 = 1_000;

    fn recorders(pacer: &Pacer) -> Vec<Arc<Recorder>> {
        Recorder::all(pacer, &[1, 2], false)
    }

    #[test]
    fn every_operation_is_collected_once() {
        let pacer = Pacer::new(Rate::per_second(RATE).unwrap());
        let recorders = recorders(&pacer);
        let mut collector = Collector::new(&pacer, &recorders, None, true, false);
        for (first, second) in [(3, 1), (0, 0), (0, 5)] {
            (0..first).for_each(|_| drop(recorders[0].start((0, pacer.now()), true)));
            (0..second).for_each(|_| drop(recorders[1].start((0, pacer.now()), true)));
            (0..7).for_each(|_| drop(recorders[1].start((0, pacer.now()), false)));
            let stats = collector.collect();
            assert_eq!((stats.started(), stats.unfinished), (first + second, first + second));
            let stats = collector.end_second();
            assert_eq!((stats.started(), stats.unfinished), (first + second, first + second));
        }
        assert_eq!((collector.total().started(), collector.total().due()), (9, 9));
        assert_eq!(collector.starts, []);
    }

    #[test]
    fn slots_that_policies_gave_up_count_for_the_late_side() {
        let pacer = Pacer::new(Rate::per_second(RATE).unwrap());
        let recorders = recorders(&pacer);
        let mut collector = Collector::new(&pacer, &recorders, None, true, false);
        recorders[0].unstarted(&[(Nanos::ZERO, 1)], Nanos::ZERO + Duration::from_secs(1));
        collector.collect();
        collector.end_second();
        let second = Duration::from_secs(1);
        collector.settle(2, second, second);
        let lateness = collector.total().lateness;
        assert!((lateness.generator - 2.0).abs() < 1e-9, "{lateness:?}");
        assert_eq!(collector.total().due(), 3);
    }

    const END_MS: u64 = 2_000;
    const TICK_MS: u64 = 250;

    /// Simulates a load of 100/s on one connection without responses from 0.5 s to `until_ms`. Collects at each tick.
    fn stalled(until_ms: u64) -> OverTime {
        let clock = ManualClock::new();
        let rate = Rate::per_second(100).unwrap();
        let pacer = Pacer::builder(rate).clock(clock.clone()).build();
        let recorders = Recorder::all(&pacer, &[1], false);
        let mut collector = Collector::new(&pacer, &recorders, None, true, false);
        let mut over_time = OverTime::new();
        let at = |ms| Nanos::ZERO + Duration::from_millis(ms);
        let (mut next, mut flight) = (0, None::<Flight>);
        for now in (0..=END_MS).step_by(10) {
            if now == END_MS {
                let left = (next..END_MS).step_by(10).map(|ms| (at(ms), 1)).collect::<Vec<_>>();
                recorders[0].unstarted(&left, at(END_MS));
                drop(flight.take());
            }
            if now > 0 && now.is_multiple_of(TICK_MS) {
                collector.take_outcomes();
                let [from, to] = [now - TICK_MS, now].map(Duration::from_millis);
                let (brief, due) = (Brief::of(collector.collect()), Due::new());
                let backlog = Backlog::default();
                over_time.add(Interval { from, to, asked: 25.0, backlog, brief, due });
                for outcome in collector.outcomes() {
                    over_time.count(outcome.intended_start - Nanos::ZERO, outcome);
                }
            }
            let is_stalled = (500..until_ms).contains(&now);
            if !is_stalled {
                answer(&mut flight);
            }
            while next <= now.min(END_MS - 10) && flight.is_none() {
                flight = Some(recorders[0].start((0, at(next)), true));
                next += 10;
                if !is_stalled {
                    answer(&mut flight);
                }
            }
            clock.advance(Duration::from_millis(10));
        }
        over_time
    }

    fn answer(flight: &mut Option<Flight>) {
        if let Some(flight) = flight.take() {
            flight.end(Answer::completed(Nanos::ZERO));
        }
    }

    fn longest(over_time: &OverTime) -> Vec<u64> {
        let longest = |interval: &Interval| interval.due.responses().times.max() / 1_000_000;
        over_time.intervals().iter().map(longest).collect()
    }

    #[test]
    fn a_stall_is_a_triangle_by_intended_start_and_a_hole_by_end() {
        let all = stalled(1_500);
        let expected = [0, 0, 1_000, 750, 500, 250, 0, 0];
        for (interval, (longest, expected)) in
            all.intervals().iter().zip(longest(&all).into_iter().zip(expected))
        {
            assert!(longest.abs_diff(expected) <= expected / 64, "{longest} for {expected}");
            assert_eq!(interval.due.ended(Ending::Completed), 25);
            let is_silent = (500..1_500).contains(&interval.from.as_millis());
            assert_eq!(interval.brief.completed() == 0, is_silent, "{:?}", interval.from);
        }
    }

    #[test]
    fn unstarted_slots_are_counted_when_they_were_due() {
        let all = stalled(u64::MAX);
        let unstarted = |interval: &Interval| interval.due.ended(Ending::Unstarted);
        let unstarted: Vec<_> = all.intervals().iter().map(unstarted).collect();
        // The first of these slots is in flight and counts as unfinished.
        assert_eq!(unstarted, [0, 0, 24, 25, 25, 25, 25, 25]);
        assert_eq!(all.intervals()[2].due.ended(Ending::Unfinished), 1);
        for (longest, expected) in longest(&all)[2..].iter().zip([1_500, 1_250, 1_000, 750]) {
            assert!(longest.abs_diff(expected) <= expected / 64, "{longest} for {expected}");
        }
        assert!(all.intervals()[2..].iter().all(|of| of.due.responses().is_at_least(0.5)));
    }
}
