//! Implements the clock of a run: a node's own clock, which is corrected to follow the store's clock.

use crossbeam_utils::atomic::AtomicCell;
use nanopace::{Clock, Nanos, TscClock};
use std::collections::VecDeque;
use std::sync::Arc;

/// Counts nanoseconds since the run began. The clock never goes back. After it is first set, it jumps forward only if
/// the machine's clock or the store's clock was set, or if the machine was suspended.
#[derive(Clone, Debug)]
pub(crate) struct RunClock<C = TscClock>(Arc<Inner<C>>);

#[derive(Debug)]
struct Inner<C> {
    base: C,
    /// The mapping from the machine's clock to the run's clock. Only the node's thread writes the mapping. A reader
    /// gets either the new or the previous mapping as a whole.
    mapping: AtomicCell<Mapping>,
}

#[derive(Clone, Copy, Debug)]
struct Mapping {
    /// A time of the machine's clock, in nanoseconds. At this time and before it, the run's clock shows `run_ns`.
    base_ns: u64,
    run_ns: u64,
    /// The difference between the speeds of the run's clock and the machine's clock, in parts per 10^9. At -10^9, the
    /// run's clock stops.
    faster_ppb: i64,
}

const STANDS: i64 = -1_000_000_000;

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
    pub(crate) fn standing() -> RunClock {
        RunClock::over(TscClock::new())
    }
}

impl<C: Clock> RunClock<C> {
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

    /// Corrects the clock by a sample of the store's time. If the store's time is earlier than the clock's time or
    /// before the beginning of the run, the clock stops until the store's time has reached the clock's time.
    pub(crate) fn follow(&self, sample: &Sample, origin_us: i64) {
        let now_ns = self.base_ns();
        let (at_ns, run_ns) = sample.run_at(origin_us);
        let store_ns = run_ns + now_ns.saturating_sub(at_ns).cast_signed();
        let shown_ns = self.0.mapping.load().at(now_ns);
        let early_ns = u64::try_from(shown_ns.cast_signed() - store_ns).unwrap_or(0);
        let run_ns = u64::try_from(store_ns).unwrap_or(0).max(shown_ns);
        self.0.mapping.store(Mapping { base_ns: now_ns + early_ns, run_ns, faster_ppb: 0 });
    }

    /// Returns whether the run's clock was stopped at `base_ns`, or has been corrected since.
    fn stood(&self, base_ns: u64) -> bool {
        base_ns < self.0.mapping.load().base_ns
    }

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

/// A difference between the clocks that is smaller than this may be an error of the readings.
const LEAST_STEP_NS: u64 = 1_000_000;

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

    fn agrees(&self, later: &Sample) -> bool {
        let passed_ns = later.middle_ns().saturating_sub(self.middle_ns());
        let of_store_ns = later.store_us.saturating_sub(self.store_us).saturating_mul(1_000);
        let most_ns = self.round_trip_ns() / 2 + later.round_trip_ns() / 2 + LEAST_STEP_NS;
        of_store_ns.abs_diff(passed_ns.cast_signed()) <= most_ns + passed_ns / 1_000
    }

    fn run_at(&self, origin_us: i64) -> (u64, i64) {
        (self.middle_ns(), (self.store_us - origin_us).saturating_mul(1_000))
    }

    fn ahead_ns<C: Clock>(&self, clock: &RunClock<C>, origin_us: i64) -> i64 {
        let (at_ns, run_ns) = self.run_at(origin_us);
        run_ns - clock.0.mapping.load().at(at_ns).cast_signed()
    }

    /// Returns whether the clocks certainly differ by more than a frame. The request may have taken any part of the
    /// round trip, so the measured difference has an error of up to half of the round-trip time.
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

/// The number of round trips that a node makes before it joins. Only this number of its latest round trips are used.
const SAMPLES: usize = 8;

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

    pub(crate) fn best(&self) -> Sample {
        let best = self.0.iter().min_by_key(|sample| sample.round_trip_ns());
        *best.expect("callers check `are_enough` first")
    }
}

#[derive(Debug)]
pub(crate) struct Leader {
    best: Option<Sample>,
    since_ns: u64,
    /// The measured difference between the speeds of the store's clock and the machine's clock, in parts per 10^9. It
    /// is positive if the machine's clock is slower.
    slower_ppb: i64,
    off: Option<Off>,
    stepped_ns: u64,
}

#[derive(Debug)]
struct Off {
    since_ns: u64,
    samples: Samples,
}

/// The interval between two corrections of the clock's rate.
const WINDOW_NS: u64 = 1_000_000_000;

/// The run's clock is set to the store's clock if they have differed by more than a frame for this time, or for ten
/// frames if ten frames are longer. In that case, one of the clocks was set, or the machine was suspended.
const OFF_NS: u64 = 2_000_000_000;

impl Leader {
    pub(crate) fn new<C: Clock>(clock: &RunClock<C>, sample: &Sample, origin_us: i64) -> Leader {
        clock.follow(sample, origin_us);
        Leader { best: None, since_ns: 0, slower_ppb: 0, off: None, stepped_ns: 0 }
    }

    pub(crate) fn stepped_ns(&self) -> u64 {
        self.stepped_ns
    }

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
        // One nanosecond per second is one part per 10^9. Each window corrects half of the offset. The learned rate
        // changes by only a sixteenth of the offset per window, because a larger change would make the clock oscillate.
        self.slower_ppb = (self.slower_ppb + off_ns / 16).clamp(-MOST_PPB, MOST_PPB);
        clock.lead((self.slower_ppb + off_ns / 2).clamp(-MOST_PPB, MOST_PPB));
    }
}

#[cfg(test)]
mod tests;
