//! The clock of a run: a node's own clock, led by the store's.

use crossbeam_utils::atomic::AtomicCell;
use nanopace::{Clock, Nanos, TscClock};
use std::collections::VecDeque;
use std::sync::Arc;

/// The moments of a run, in nanoseconds since it began. It never goes back, and runs a little faster or slower than
/// the machine's clock. It makes no steps, but after the machine's clock has made one.
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
    /// How much faster the run's clock runs than the machine's, in parts of 10^9; at -10^9 it stands still.
    faster_ppb: i64,
}

/// The run's clock stands still.
const STANDS: i64 = -1_000_000_000;

/// The most by which the run's clock is led, in parts of 10^9.
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
    /// A clock that stands at the beginning of the run.
    pub(crate) fn standing() -> RunClock {
        RunClock::over(TscClock::new())
    }
}

impl<C: Clock> RunClock<C> {
    /// A clock that stands at the beginning of the run, over another clock of the machine.
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

    /// Shows the store's time, by a round trip. Where that is earlier than what it has shown, as before the run's
    /// beginning, it stands still until then.
    pub(crate) fn follow(&self, sample: &Sample, origin_us: i64) {
        let now_ns = self.base_ns();
        let (at_ns, run_ns) = sample.run_at(origin_us);
        let store_ns = run_ns + now_ns.saturating_sub(at_ns).cast_signed();
        let shown_ns = self.0.mapping.load().at(now_ns);
        let early_ns = u64::try_from(shown_ns.cast_signed() - store_ns).unwrap_or(0);
        let run_ns = u64::try_from(store_ns).unwrap_or(0).max(shown_ns);
        self.0.mapping.store(Mapping { base_ns: now_ns + early_ns, run_ns, faster_ppb: 0 });
    }

    /// Whether it stood still at a moment of the machine's clock, until the store's time has come as far.
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

    /// Whether both clocks have gone on alike between this round trip and a later one, as far as that can be known.
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

/// How many round trips a node makes before it joins, to know how long one takes, and what time it is. While
/// it waits for others it makes more, and goes by as many of the last ones. When a clock was set, it begins anew.
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
    /// If there is none.
    pub(crate) fn best(&self) -> Sample {
        let best = self.0.iter().min_by_key(|sample| sample.round_trip_ns());
        *best.expect("they are enough")
    }
}

/// Leads a clock by the round trips that took the least time.
#[derive(Debug)]
pub(crate) struct Leader {
    /// When the clock began to follow; none once it has been seen that the store's is off.
    began_ns: Option<u64>,
    /// When the run had begun by the store when that was right last.
    origin_us: i64,
    best: Option<Sample>,
    /// When it led the clock last.
    since_ns: u64,
    /// The shortest round trip before that.
    trip_ns: u64,
    /// How much slower than the store's the machine's clock has turned out to be, in parts of 10^9.
    slower_ppb: i64,
    /// None while the store's clock is right.
    off: Option<Off>,
}

/// The store's clock is off, always by as much.
#[derive(Debug)]
struct Off {
    since_ns: u64,
    /// The store counts from when the run began by this.
    origin_us: i64,
    /// The one that took the least time.
    best: Sample,
    /// Whether that is not much longer than usual, or there was no better one.
    is_good: bool,
    /// When the store was told last.
    told_ns: Option<u64>,
}

/// The clock is led anew after so long, and what it is off is made up for in twice that. If clocks
/// always differ by as much, that is learnt in some ten times that.
const WINDOW_NS: u64 = 1_000_000_000;

impl Leader {
    /// Lets a clock follow the store's by this round trip, to lead it from then on.
    pub(crate) fn new<C: Clock>(clock: &RunClock<C>, sample: &Sample, origin_us: i64) -> Leader {
        clock.follow(sample, origin_us);
        Leader {
            began_ns: Some(sample.received_ns),
            origin_us,
            best: None,
            since_ns: 0,
            trip_ns: 0,
            slower_ppb: 0,
            off: None,
        }
    }

    /// Takes a round trip into account. Returns by how much the store's clock is off, in microseconds, when the store
    /// is to be told, which hears the others, too. If this node `is_alone` with it for long, it is the machine's own
    /// clock that has stood still or been set: then the run's clock follows the store's.
    pub(crate) fn take<C: Clock>(
        &mut self,
        clock: &RunClock<C>,
        sample: Sample,
        origin_us: i64,
        frame_ns: u64,
        is_alone: bool,
    ) -> Option<i64> {
        if clock.stood(sample.sent_ns) {
            return None;
        }
        if !sample.is_off(clock, origin_us, frame_ns) {
            (self.off, self.origin_us) = (None, origin_us);
            self.lead(clock, sample, origin_us, frame_ns);
            return None;
        }
        self.best = None;
        if self.has_begun_too_early(&sample, origin_us, frame_ns) {
            *self = Leader::new(clock, &sample, origin_us);
            return None;
        }
        self.began_ns = None;
        let known = self.off.take().filter(|off| off.is_same(&sample, clock, origin_us, frame_ns));
        let is_good = sample.round_trip_ns() <= 2 * self.trip_ns + frame_ns / 8;
        let off = match known {
            Some(off) => off.and(sample),
            None => Off::new(sample, origin_us, is_good),
        };
        if is_alone && off.lasts_ns(&sample) >= alone_ns(frame_ns) {
            clock.follow(&off.best, origin_us);
            return None;
        }
        self.off.insert(off).tell(clock, sample.received_ns)
    }

    /// Whether the store's clock is off since the run was moved, and was right until then, just after this clock began to
    /// follow it. It had been set before that, and the node did not know.
    fn has_begun_too_early(&self, sample: &Sample, origin_us: i64, frame_ns: u64) -> bool {
        let is_new = |began_ns| sample.received_ns.saturating_sub(began_ns) <= alone_ns(frame_ns);
        origin_us != self.origin_us && self.began_ns.is_some_and(is_new)
    }

    /// Leads the clock once in each window.
    fn lead<C: Clock>(
        &mut self,
        clock: &RunClock<C>,
        sample: Sample,
        origin_us: i64,
        frame_ns: u64,
    ) {
        let is_better = |best: &Sample| {
            // The store's clock has been set since, if it is off.
            best.is_off(clock, origin_us, frame_ns) || sample.round_trip_ns() < best.round_trip_ns()
        };
        if self.best.as_ref().is_none_or(is_better) {
            self.best = Some(sample);
        }
        if sample.received_ns.saturating_sub(self.since_ns) < WINDOW_NS {
            return;
        }
        let Some(best) = self.best.take() else { return };
        (self.since_ns, self.trip_ns) = (sample.received_ns, best.round_trip_ns());
        let off_ns = best.ahead_ns(clock, origin_us);
        // A nanosecond in each second is one part of 10^9. A sixteenth is as much as can be learnt
        // from each window without swinging, if half of what it is off is made up for.
        self.slower_ppb = (self.slower_ppb + off_ns / 16).clamp(-MOST_PPB, MOST_PPB);
        clock.lead((self.slower_ppb + off_ns / 2).clamp(-MOST_PPB, MOST_PPB));
    }
}

impl Off {
    fn new(best: Sample, origin_us: i64, is_good: bool) -> Off {
        Off { since_ns: best.received_ns, origin_us, best, is_good, told_ns: None }
    }

    /// Whether the clock is off by as much as before, as far as that can be known.
    fn is_same<C: Clock>(
        &self,
        sample: &Sample,
        clock: &RunClock<C>,
        origin_us: i64,
        frame_ns: u64,
    ) -> bool {
        let [one, other] = [&self.best, sample].map(|sample| sample.ahead_ns(clock, origin_us));
        let most_ns = frame_ns + self.best.round_trip_ns() / 2 + sample.round_trip_ns() / 2;
        self.origin_us == origin_us && one.abs_diff(other) <= most_ns
    }

    fn and(self, sample: Sample) -> Off {
        let is_better = sample.round_trip_ns() < self.best.round_trip_ns();
        let best = if is_better { sample } else { self.best };
        Off { best, is_good: true, ..self }
    }

    fn lasts_ns(&self, last: &Sample) -> u64 {
        last.received_ns.saturating_sub(self.since_ns)
    }

    /// By how much it is off, if the store is to be told now, once in each window. The first round trip may be that of a
    /// store which stood still: then it is the second.
    fn tell<C: Clock>(&mut self, clock: &RunClock<C>, now_ns: u64) -> Option<i64> {
        let is_told = self.told_ns.is_some_and(|told_ns| now_ns < told_ns + WINDOW_NS);
        (self.is_good && !is_told).then(|| {
            self.told_ns = Some(now_ns);
            self.best.ahead_ns(clock, self.origin_us) / 1_000
        })
    }
}

/// For how long a node does not believe that it is alone: by then the others have heard what it has heard. For as long,
/// what they say of the clock counts at the store (`origin_by` in `store/rest.lua`).
fn alone_ns(frame_ns: u64) -> u64 {
    (2 * WINDOW_NS).max(10 * frame_ns)
}

#[cfg(test)]
mod tests;
