//! Statistics: one set of histograms for a pacer, made when there is something to record.
//!
//! A lane notes what it has to record, behind a lock that nobody else holds for longer than it
//! takes to take the notes away. It enters them into the histograms when it has a page of them, and
//! when it is dropped; whoever asks for statistics enters what all lanes have noted so far. So a
//! lane stays small, and a thousand of them as well.

use crate::Grant;
use crate::sync::Mutex;
use crate::timeline::Plan;
use crossbeam_utils::CachePadded;
use hdrhistogram::Histogram;
use std::sync::Arc;
use std::time::Duration;

/// What the lanes have recorded so far; all values in nanoseconds, to three significant digits.
///
/// Starts by [`Pacer::acquire`](crate::Pacer::acquire) and its relatives are counted in the
/// [`Ledger`](crate::Ledger) only. A lane's last run may still be missing while the lane is at
/// work.
#[derive(Clone, Debug)]
pub struct Stats {
    wait_time: Histogram<u64>,
    delay: Histogram<u64>,
    oversleep: Histogram<u64>,
    achieved_rate: f64,
    spun: Duration,
    early_starts: u64,
}

impl Stats {
    /// How late operations started: one value for every start.
    #[must_use]
    pub fn wait_time(&self) -> &Histogram<u64> {
        &self.wait_time
    }

    /// How early callers came, and so had to hold back: one value for every start that was early.
    #[must_use]
    pub fn delay(&self) -> &Histogram<u64> {
        &self.delay
    }

    /// How far pauses overran: one value for every start that was early.
    #[must_use]
    pub fn oversleep(&self) -> &Histogram<u64> {
        &self.oversleep
    }

    /// Starts per second over the last second, or since the schedule began if that is less.
    #[must_use]
    pub fn achieved_rate(&self) -> f64 {
        self.achieved_rate
    }

    /// How long all callers together, not lanes only, have spun under
    /// [`Pause::Hybrid`](crate::Pause::Hybrid).
    #[must_use]
    pub fn spun(&self) -> Duration {
        self.spun
    }

    /// How many starts of all callers together, not of lanes only, came before their intended
    /// start: by less than the [sleep threshold](crate::PacerBuilder::sleep_threshold), so none
    /// without one.
    #[must_use]
    pub fn early_starts(&self) -> u64 {
        self.early_starts
    }
}

/// A start, with what the statistics want to know of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StartTimes {
    pub(crate) grant: Grant,
    pub(crate) delay_ns: u64,
    pub(crate) oversleep_ns: u64,
}

impl StartTimes {
    /// From the plan that the caller came with, if it was early, and the one that its last pause
    /// was for.
    pub(crate) fn new(grant: Grant, first: Option<Plan>, woken: Option<(Plan, i64)>) -> StartTimes {
        let span = |from: i64, to: i64| to.saturating_sub(from).max(0).unsigned_abs();
        let started = grant.actual_start().signed();
        let delay_ns =
            first.filter(|plan| !plan.is_paused).map_or(0, |plan| span(plan.now, plan.release));
        let oversleep_ns = woken.map_or(0, |(plan, _)| span(plan.release, started));
        StartTimes { grant, delay_ns, oversleep_ns }
    }
}

/// What a value is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    WaitTime,
    Delay,
    Oversleep,
}

/// A value that is still to be entered, and how often.
#[derive(Clone, Copy, Debug)]
struct Note {
    nanos: u64,
    count: u32,
    kind: Kind,
}

/// So many notes are entered at once: enough for the common lock not to matter.
const PAGE: usize = 64;

/// A histogram that takes no memory until something is recorded.
#[derive(Debug, Default)]
struct Lazy(Option<Box<Histogram<u64>>>);

impl Lazy {
    fn record(&mut self, nanos: u64, count: u64) {
        let histogram = self.0.get_or_insert_with(|| Box::new(new_histogram()));
        // Fails only for a fixed range, and these grow.
        let _ = histogram.record_n(nanos, count);
    }

    fn histogram(&self) -> Histogram<u64> {
        self.0.as_deref().map_or_else(new_histogram, Histogram::clone)
    }
}

fn new_histogram() -> Histogram<u64> {
    Histogram::new(3).unwrap_or_else(|_| unreachable!("three digits are within 0 to 5"))
}

/// Wait times of slots granted one after the other on one reading of the clock: they fall evenly.
pub(crate) struct Waits {
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
    pub(crate) slots: u64,
}

/// They are recorded as at most so many values, each standing for its neighbours.
const MOST_STEPS: u64 = 8;

impl Waits {
    /// The wait time, and how many slots it stands for, of each step.
    fn steps(&self) -> impl Iterator<Item = Note> {
        let steps = self.slots.clamp(1, MOST_STEPS);
        let fall = self.first_ns.saturating_sub(self.last_ns);
        (0..steps).map(move |step| {
            let count = self.slots * (step + 1) / steps - self.slots * step / steps;
            let nanos = self.first_ns - fall * (2 * step + 1) / (2 * steps);
            // A run has some thousand slots at most.
            Note { nanos, count: u32::try_from(count).unwrap_or(u32::MAX), kind: Kind::WaitTime }
        })
    }
}

/// A lane's notes, on a cache line of their own so that lanes do not meet.
type Notes = Arc<CachePadded<Mutex<Vec<Note>>>>;

/// A pacer's statistics.
#[derive(Debug, Default)]
pub(crate) struct Statistics(Arc<Mutex<Totals>>);

#[derive(Debug, Default)]
struct Totals {
    wait_time: Lazy,
    delay: Lazy,
    oversleep: Lazy,
    /// Of all lanes there are.
    lanes: Vec<Notes>,
}

impl Totals {
    fn enter(&mut self, notes: &[Note]) {
        for &Note { nanos, count, kind } in notes {
            let histogram = match kind {
                Kind::WaitTime => &mut self.wait_time,
                Kind::Delay => &mut self.delay,
                Kind::Oversleep => &mut self.oversleep,
            };
            histogram.record(nanos, count.into());
        }
    }
}

impl Statistics {
    pub(crate) fn collect(&self, achieved_rate: f64, spun: Duration, early_starts: u64) -> Stats {
        let mut totals = self.0.lock();
        for index in 0..totals.lanes.len() {
            // The lane waits for no longer than this takes; the entering comes after.
            let notes = std::mem::take(&mut *totals.lanes[index].lock());
            totals.enter(&notes);
        }
        let [wait_time, delay, oversleep] =
            [&totals.wait_time, &totals.delay, &totals.oversleep].map(Lazy::histogram);
        Stats { wait_time, delay, oversleep, achieved_rate, spun, early_starts }
    }
}

/// What one lane notes.
#[derive(Debug)]
pub(crate) struct LaneStatistics {
    totals: Arc<Mutex<Totals>>,
    notes: Notes,
}

impl LaneStatistics {
    pub(crate) fn new(statistics: &Statistics) -> LaneStatistics {
        let notes = Notes::default();
        statistics.0.lock().lanes.push(Arc::clone(&notes));
        LaneStatistics { totals: Arc::clone(&statistics.0), notes }
    }

    pub(crate) fn record(&self, start: &StartTimes) {
        let note = |kind, nanos| Note { nanos, count: 1, kind };
        let wait_time = note(Kind::WaitTime, start.grant.wait_nanos());
        if start.delay_ns > 0 {
            self.note([
                wait_time,
                note(Kind::Delay, start.delay_ns),
                note(Kind::Oversleep, start.oversleep_ns),
            ]);
        } else {
            self.note([wait_time]);
        }
    }

    pub(crate) fn record_run(&self, waits: &Waits) {
        self.note(waits.steps());
    }

    fn note(&self, more: impl IntoIterator<Item = Note>) {
        let mut notes = self.notes.lock();
        notes.extend(more);
        if notes.len() >= PAGE {
            let page = std::mem::replace(&mut *notes, Vec::with_capacity(PAGE));
            drop(notes);
            self.totals.lock().enter(&page);
        }
    }
}

impl Drop for LaneStatistics {
    fn drop(&mut self) {
        let mut totals = self.totals.lock();
        totals.lanes.retain(|lane| !Arc::ptr_eq(lane, &self.notes));
        totals.enter(&self.notes.lock());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_run_counts_every_slot_once_and_stays_within_its_ends(last_ns in 0_u64..1 << 40, fall in 0_u64..1 << 30, slots in 1_u64..2_000) {
            let waits = Waits { first_ns: last_ns + fall, last_ns, slots };
            prop_assert_eq!(waits.steps().map(|note| u64::from(note.count)).sum::<u64>(), slots);
            prop_assert!(waits.steps().all(|note| (last_ns..=last_ns + fall).contains(&note.nanos)));
        }
    }
}
