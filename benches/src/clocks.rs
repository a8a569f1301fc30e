//! Provides clocks that make a pacer late, or shorten the runs of its lanes.

use crossbeam_utils::CachePadded;
use nanopace::{Clock, Nanos, TscClock};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// The default clock with an offset that only grows, to make a pacer late at once. A reading costs about as much as a
/// reading of the default clock.
#[derive(Clone, Debug)]
pub struct LeapClock(Arc<(TscClock, AtomicU64)>);

impl LeapClock {
    /// Creates a clock without an offset.
    #[must_use]
    pub fn new() -> LeapClock {
        LeapClock(Arc::new((TscClock::new(), AtomicU64::new(0))))
    }

    /// Adds `span` to the clock's offset.
    ///
    /// # Panics
    /// Panics if the span is longer than 584 years.
    pub fn leap(&self, span: Duration) {
        let nanos = u64::try_from(span.as_nanos()).expect("a span of less than 584 years");
        self.0.1.fetch_add(nanos, Relaxed);
    }
}

impl Default for LeapClock {
    fn default() -> LeapClock {
        LeapClock::new()
    }
}

impl Clock for LeapClock {
    fn now(&self) -> Nanos {
        self.0.0.now() + Duration::from_nanos(self.0.1.load(Relaxed))
    }
}

/// The number of counters for readings. Threads get the counters in turn. If two threads with the same counter read the
/// clock at the same time, one of the two readings may be missed.
const PLACES: usize = 16;

static NEXT_PLACE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static PLACE: usize = NEXT_PLACE.fetch_add(1, Relaxed) % PLACES;
}

/// A [`LeapClock`] that runs `factor` times too fast and counts its readings, in 16 counters on separate cache lines.
#[derive(Clone, Debug)]
pub struct HurriedClock(Arc<Hurried>);

#[derive(Debug)]
struct Hurried {
    clock: LeapClock,
    factor: u64,
    readings: [CachePadded<AtomicU64>; PLACES],
}

impl HurriedClock {
    /// Creates a clock that runs `factor` times too fast.
    #[must_use]
    pub fn new(factor: u32) -> HurriedClock {
        let (clock, factor) = (LeapClock::new(), factor.into());
        HurriedClock(Arc::new(Hurried { clock, factor, readings: Default::default() }))
    }

    /// Moves the clock ahead by `span`, in its own time.
    ///
    /// # Panics
    /// Panics if the span, divided by the factor, is longer than 584 years.
    pub fn leap(&self, span: Duration) {
        self.0.clock.leap(span.div_f64(crate::float(self.0.factor)));
    }

    /// Returns the number of readings. The latest readings by other threads that still run may be missing.
    #[must_use]
    pub fn readings(&self) -> u64 {
        self.0.readings.iter().map(|readings| readings.load(Relaxed)).sum()
    }
}

impl Clock for HurriedClock {
    fn now(&self) -> Nanos {
        let readings = &self.0.readings[PLACE.with(|&place| place)];
        readings.store(readings.load(Relaxed) + 1, Relaxed);
        Nanos::from_nanos(self.0.clock.now().as_nanos() * self.0.factor)
    }
}

#[cfg(test)]
mod tests {
    use crate::pacers;

    #[test]
    fn a_lane_reads_the_clock_once_per_run() {
        let (pacer, clock) = pacers::hurried(50);
        let (mut lane, before) = (pacer.lane(), clock.readings());
        let mut starts: Vec<_> =
            (0..10_000).map(|_| lane.acquire().expect("an open pacer").actual_start()).collect();
        starts.dedup();
        let readings = clock.readings() - before;
        assert!(
            readings.abs_diff(starts.len() as u64) <= 2,
            "{readings} readings, {} runs",
            starts.len()
        );
    }
}
