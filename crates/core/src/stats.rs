//! Statistics: histograms kept by each lane and merged without stopping anyone.
//!
//! A lane writes into a tally of its own, behind a lock that nobody else holds for longer than it takes to swap the
//! tally for an empty one. Whoever collects does the merging outside that lock.

use crate::pacer::Start;
use crate::sync::Mutex;
use crossbeam_utils::CachePadded;
use hdrhistogram::Histogram;
use std::sync::Arc;
use std::time::Duration;

/// What the lanes have recorded so far; all values in nanoseconds, to three significant digits.
///
/// Starts by [`Pacer::acquire`](crate::Pacer::acquire) and its relatives are counted in the
/// [`Ledger`](crate::Ledger) only. A lane's last block may still be missing while the lane is at work.
#[derive(Clone, Debug)]
pub struct Stats {
    tally: Tally,
    achieved_rate: f64,
    spun: Duration,
}

impl Stats {
    /// How late operations started: one value for every start.
    #[must_use]
    pub fn wait_time(&self) -> &Histogram<u64> {
        &self.tally.wait_time
    }

    /// How early callers came, and so had to hold back: one value for every start that was early.
    #[must_use]
    pub fn delay(&self) -> &Histogram<u64> {
        &self.tally.delay
    }

    /// How far pauses overran: one value for every start that was early.
    #[must_use]
    pub fn oversleep(&self) -> &Histogram<u64> {
        &self.tally.oversleep
    }

    /// Starts per second over the last second, or since the schedule began if that is less.
    #[must_use]
    pub fn achieved_rate(&self) -> f64 {
        self.achieved_rate
    }

    /// How long all callers together, not lanes only, have spun under [`Pause::Hybrid`](crate::Pause::Hybrid).
    #[must_use]
    pub fn spun(&self) -> Duration {
        self.spun
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Tally {
    wait_time: Histogram<u64>,
    delay: Histogram<u64>,
    oversleep: Histogram<u64>,
}

/// Written by its lane, emptied by whoever collects; on cache lines of its own, so that lanes do not meet.
pub(crate) type LaneTally = Arc<CachePadded<Mutex<Tally>>>;

/// Slots granted one after the other on one reading of the clock: their wait times fall evenly.
pub(crate) struct Run {
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
    pub(crate) slots: u64,
}

/// A run is recorded as at most so many values, each standing for its neighbours.
const MOST_STEPS: u64 = 8;

impl Run {
    /// (wait time, how many slots) for each step.
    fn steps(&self) -> impl Iterator<Item = (u64, u64)> {
        let steps = self.slots.clamp(1, MOST_STEPS);
        let fall = self.first_ns.saturating_sub(self.last_ns);
        (0..steps).map(move |step| {
            let count = self.slots * (step + 1) / steps - self.slots * step / steps;
            (self.first_ns - fall * (2 * step + 1) / (2 * steps), count)
        })
    }
}

impl Tally {
    fn new() -> Tally {
        // Three digits are within what the crate accepts, and it grows the range as values come.
        let [wait_time, delay, oversleep] = std::array::from_fn(|_| new_histogram());
        Tally { wait_time, delay, oversleep }
    }

    pub(crate) fn record(&mut self, start: &Start) {
        note(&mut self.wait_time, start.grant.wait_time().as_nanos(), 1);
        if start.delay_ns > 0 {
            note(&mut self.delay, start.delay_ns.into(), 1);
            note(&mut self.oversleep, start.oversleep_ns.into(), 1);
        }
    }

    pub(crate) fn record_run(&mut self, run: &Run) {
        for (wait_ns, count) in run.steps() {
            note(&mut self.wait_time, wait_ns.into(), count);
        }
    }

    fn add(&mut self, other: &Tally) {
        let pairs = [
            (&mut self.wait_time, &other.wait_time),
            (&mut self.delay, &other.delay),
            (&mut self.oversleep, &other.oversleep),
        ];
        for (total, part) in pairs {
            // Fails only for a fixed range, and these grow.
            let _ = total.add(part);
        }
    }
}

fn new_histogram() -> Histogram<u64> {
    Histogram::new(3).unwrap_or_else(|_| unreachable!("three digits are within 0 to 5"))
}

fn note(histogram: &mut Histogram<u64>, nanos: u128, count: u64) {
    // Fails only for a fixed range, and these grow.
    let _ = histogram.record_n(u64::try_from(nanos).unwrap_or(u64::MAX), count);
}

/// All lanes' tallies, and what has been collected of them.
#[derive(Debug)]
pub(crate) struct Tallies {
    lanes: Mutex<Vec<LaneTally>>,
    total: Mutex<Tally>,
}

impl Default for Tallies {
    fn default() -> Tallies {
        Tallies { lanes: Mutex::new(Vec::new()), total: Mutex::new(Tally::new()) }
    }
}

impl Tallies {
    /// A new lane's tally.
    pub(crate) fn enter(&self) -> LaneTally {
        let tally = Arc::new(CachePadded::new(Mutex::new(Tally::new())));
        self.lanes.lock().push(Arc::clone(&tally));
        tally
    }

    pub(crate) fn collect(&self, achieved_rate: f64, spun: Duration) -> Stats {
        let mut total = self.total.lock();
        let lanes = self.lanes.lock().clone();
        for lane in &lanes {
            let part = std::mem::replace(&mut *lane.lock(), Tally::new());
            total.add(&part);
        }
        drop(lanes);
        // A lane that is gone, and was emptied above or is empty, need not be asked again.
        self.lanes.lock().retain(|lane| Arc::strong_count(lane) > 1 || !lane.lock().wait_time.is_empty());
        Stats { tally: total.clone(), achieved_rate, spun }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_run_counts_every_slot_once_and_stays_within_its_ends(last_ns in 0_u64..1 << 40, fall in 0_u64..1 << 30, slots in 1_u64..2_000) {
            let run = Run { first_ns: last_ns + fall, last_ns, slots };
            prop_assert_eq!(run.steps().map(|(_, count)| count).sum::<u64>(), slots);
            prop_assert!(run.steps().all(|(wait, _)| (last_ns..=last_ns + fall).contains(&wait)));
        }
    }
}
