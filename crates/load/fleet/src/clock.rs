//! The clock of a run: a node's own clock, led by the store's.

use crossbeam_utils::atomic::AtomicCell;
use nanopace::{Clock, Nanos, TscClock};
use std::collections::VecDeque;
use std::sync::Arc;

/// The moments of a run, in nanoseconds since it began. The clock never goes back, and runs a little faster or slower
/// than the machine's clock. It makes no steps, except after the machine's clock has made one.
#[derive(Clone, Debug)]
pub(crate) struct RunClock<C = TscClock>(Arc<Inner<C>>);

#[derive(Debug)]
struct Inner<C> {
    base: C,
    /// Written by the node's thread alone; readers get all of it or the one before.
    mapping: AtomicCell<Mapping>,
}

/// How moments of the machine's clock become moments of the run.
#[derive(Clone, Copy, Debug)]
struct Mapping {
    /// A moment of the machine's clock, in nanoseconds. Earlier ones count as this one.
    base_ns: u64,
    /// The moment of the run at that time, in nanoseconds.
    run_ns: u64,
    /// How much faster the run's clock runs than the machine's, in parts of 10^9; at -10^9 it stops.
    faster_ppb: i64,
}

/// The run's clock is stopped.
const STANDS: i64 = -1_000_000_000;

/// The largest correction of the clock's rate, in parts of 10^9.
const MOST_PPB: i64 = 500_000;

impl Mapping {
    fn at(&self, base_ns: u64) -> u64 {
        let passed = base_ns.saturating_sub(self.base_ns);
        let passed =
            i128::from(passed) * i128::from(1_000_000_000 + self.faster_ppb) / 1_000_000_000;
        self.run_ns.saturating_add(u64::try_from(passed).unwrap_or(0))
    }
}

impl RunClock {
    /// A clock that is stopped at the beginning of the run.
    pub(crate) fn standing() -> RunClock {
        RunClock::over(TscClock::new())
    }
}

impl<C: Clock> RunClock<C> {
    /// A clock that is stopped at the beginning of the run and uses another clock of the machine.
    pub(crate) fn over(base: C) -> RunClock<C> {
        let mapping = Mapping { base_ns: 0, run_ns: 0, faster_ppb: STANDS };
        RunClock(Arc::new(Inner { base, mapping: AtomicCell::new(mapping) }))
    }

    pub(crate) fn base_ns(&self) -> u64 {
        self.0.base.now().as_nanos()
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.0.mapping.load().at(self.base_ns())
    }

    /// Sets the clock to the store's time, as measured by a round trip. If the store's time is earlier than the
    /// clock's, for example before the run's beginning, the clock stops until the store's time has caught up.
    pub(crate) fn follow(&self, sample: &Sample, origin_us: i64) {
        let now_ns = self.base_ns();
        let (at_ns, run_ns) = sample.run_at(origin_us);
        let store_ns = run_ns + now_ns.saturating_sub(at_ns).cast_signed();
        let shown_ns = self.0.mapping.load().at(now_ns);
        let early_ns = u64::try_from(shown_ns.cast_signed() - store_ns).unwrap_or(0);
        let run_ns = u64::try_from(store_ns).unwrap_or(0).max(shown_ns);
        self.0.mapping.store(Mapping { base_ns: now_ns + early_ns, run_ns, faster_ppb: 0 });
    }

    /// Whether the clock was stopped at a moment of the machine's clock, because the store's time had not caught up.
    fn stood(&self, base_ns: u64) -> bool {
        base_ns < self.0.mapping.load().base_ns
    }

    /// Runs faster than the machine's clock by `faster_ppb` from now on.
    fn lead(&self, faster_ppb: i64) {
        let base_ns = self.base_ns();
        let run_ns = self.0.mapping.load().at(base_ns);
        self.0.mapping.store(Mapping { base_ns, run_ns, faster_ppb });
    }
}

impl<C: Clock> Clock for RunClock<C> {
    fn now(&self) -> Nanos {
        Nanos::from_nanos(self.now_ns())
    }
}

/// Clocks that differ by less may have been read as exactly as they can be.
const LEAST_STEP_NS: u64 = 1_000_000;

/// One round trip: the store's clock was read between two readings of the machine's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) sent_ns: u64,
    pub(crate) received_ns: u64,
    pub(crate) store_us: i64,
}

impl Sample {
    pub(crate) fn round_trip_ns(&self) -> u64 {
        self.received_ns.saturating_sub(self.sent_ns)
    }

    fn middle_ns(&self) -> u64 {
        self.sent_ns + self.round_trip_ns() / 2
    }

    /// Whether both clocks have advanced by the same time between this round trip and a later one, as far as that can
    /// be measured.
    fn agrees(&self, later: &Sample) -> bool {
        let passed_ns = later.middle_ns().saturating_sub(self.middle_ns());
        let of_store_ns = later.store_us.saturating_sub(self.store_us).saturating_mul(1_000);
        let most_ns = self.round_trip_ns() / 2 + later.round_trip_ns() / 2 + LEAST_STEP_NS;
        of_store_ns.abs_diff(passed_ns.cast_signed()) <= most_ns + passed_ns / 1_000
    }

    /// A moment of the machine's clock, and the moment of the run at that time.
    fn run_at(&self, origin_us: i64) -> (u64, i64) {
        (self.middle_ns(), (self.store_us - origin_us).saturating_mul(1_000))
    }

    /// How far the store is ahead of a clock that follows it.
    fn ahead_ns<C: Clock>(&self, clock: &RunClock<C>, origin_us: i64) -> i64 {
        let (at_ns, run_ns) = self.run_at(origin_us);
        run_ns - clock.0.mapping.load().at(at_ns).cast_signed()
    }

    /// Whether the store's clock is off by more than a frame, whichever way took the time of the round
    /// trip.
    pub(crate) fn is_off<C: Clock>(
        &self,
        clock: &RunClock<C>,
        origin_us: i64,
        frame_ns: u64,
    ) -> bool {
        let most_ns = frame_ns + self.round_trip_ns() / 2;
        self.ahead_ns(clock, origin_us).unsigned_abs() > most_ns
    }
}

/// How many round trips a node makes before it joins, to measure the round-trip time and the store's time. While it
/// waits for others it makes more, and uses this number of the latest ones. When a clock was set, it begins again.
const SAMPLES: usize = 8;

/// The last round trips before a node begins.
#[derive(Debug, Default)]
pub(crate) struct Samples(VecDeque<Sample>);

impl Samples {
    pub(crate) fn add(&mut self, sample: Sample) {
        if self.0.iter().any(|earlier| !earlier.agrees(&sample)) {
            self.0.clear();
        }
        if self.are_enough() {
            self.0.pop_front();
        }
        self.0.push_back(sample);
    }

    pub(crate) fn are_enough(&self) -> bool {
        self.0.len() >= SAMPLES
    }

    /// The one that took the least time.
    ///
    /// # Panics
    /// If there are no round trips.
    pub(crate) fn best(&self) -> Sample {
        let best = self.0.iter().min_by_key(|sample| sample.round_trip_ns());
        *best.expect("they are enough")
    }
}

/// Leads a clock by the round trips that took the least time.
#[derive(Debug)]
pub(crate) struct Leader {
    best: Option<Sample>,
    /// When it led the clock last.
    since_ns: u64,
    /// How much slower than the store's the machine's clock has turned out to be, in parts of 10^9.
    slower_ppb: i64,
    /// None while the store's clock is right.
    off: Option<Off>,
    /// By how much the clock was set to follow the store's, in total.
    stepped_ns: u64,
}

/// The store's clock is off.
#[derive(Debug)]
struct Off {
    since_ns: u64,
    samples: Samples,
}

/// The clock's rate is corrected after each period of this length, and its offset is made up for in twice that time. A
/// constant difference between the clocks is learnt in about ten times this period.
const WINDOW_NS: u64 = 1_000_000_000;

/// The store's clock is off for this time, or for ten frames, before the run's clock follows it.
const OFF_NS: u64 = 2_000_000_000;

impl Leader {
    /// Lets a clock follow the store's by this round trip, to lead it from then on.
    pub(crate) fn new<C: Clock>(clock: &RunClock<C>, sample: &Sample, origin_us: i64) -> Leader {
        clock.follow(sample, origin_us);
        Leader { best: None, since_ns: 0, slower_ppb: 0, off: None, stepped_ns: 0 }
    }

    /// By how much the clock was set to follow the store's, in total.
    pub(crate) fn stepped_ns(&self) -> u64 {
        self.stepped_ns
    }

    /// Takes a round trip into account. The clock is led if the store's is right. It follows the store's by a step if
    /// that has been off for two seconds: one of them was set, or the machine was suspended.
    pub(crate) fn take<C: Clock>(
        &mut self,
        clock: &RunClock<C>,
        sample: Sample,
        origin_us: i64,
        frame_ns: u64,
    ) {
        if clock.stood(sample.sent_ns) {
            return;
        }
        if !sample.is_off(clock, origin_us, frame_ns) {
            self.off = None;
            return self.lead(clock, sample, origin_us);
        }
        self.best = None;
        let since_ns = sample.received_ns;
        let off = self.off.get_or_insert_with(|| Off { since_ns, samples: Samples::default() });
        off.samples.add(sample);
        if sample.received_ns.saturating_sub(off.since_ns) >= OFF_NS.max(10 * frame_ns) {
            let best = off.samples.best();
            let step_ns = best.ahead_ns(clock, origin_us).unsigned_abs();
            self.stepped_ns = self.stepped_ns.saturating_add(step_ns);
            clock.follow(&best, origin_us);
            self.off = None;
        }
    }

    /// Leads the clock once in each window.
    fn lead<C: Clock>(&mut self, clock: &RunClock<C>, sample: Sample, origin_us: i64) {
        let is_better = |best: &Sample| sample.round_trip_ns() < best.round_trip_ns();
        if self.best.as_ref().is_none_or(is_better) {
            self.best = Some(sample);
        }
        if sample.received_ns.saturating_sub(self.since_ns) < WINDOW_NS {
            return;
        }
        let Some(best) = self.best.take() else { return };
        self.since_ns = sample.received_ns;
        let off_ns = best.ahead_ns(clock, origin_us);
        // A nanosecond in each second is one part of 10^9. A sixteenth is as much as can be learnt
        // from each window without swinging, if half of what it is off is made up for.
        self.slower_ppb = (self.slower_ppb + off_ns / 16).clamp(-MOST_PPB, MOST_PPB);
        clock.lead((self.slower_ppb + off_ns / 2).clamp(-MOST_PPB, MOST_PPB));
    }
}

#[cfg(test)]
mod tests;
