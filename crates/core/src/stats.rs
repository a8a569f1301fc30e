//! Statistics: one set of histograms for a pacer, made when there is something to record.
//!
//! A lane or a recorder notes its values behind a lock of its own. It enters them into the
//! histograms when it has a page of them, and when it is dropped. A caller that asks for statistics
//! first enters what all have noted; it holds a notebook's lock only while it takes the notes away.
//! So a lane stays small, and so do a thousand of them.

use crate::Grant;
use crate::sync::Mutex;
use crate::timeline::EndedPause;
use crossbeam_utils::CachePadded;
use hdrhistogram::Histogram;
use std::sync::Arc;
use std::time::Duration;

/// What the lanes and [recorders](crate::Recorder) have recorded so far. All values are
/// nanoseconds, in [`hdrhistogram`] histograms of three significant digits.
///
/// Starts through [`Pacer::acquire`](crate::Pacer::acquire) and its relatives are counted only in
/// the [`Ledger`](crate::Ledger), unless a recorder is told of them. A lane's last run may be
/// missing while the lane is at work.
///
/// ```
/// use nanopace::{ManualClock, Pacer};
/// use std::time::Duration;
///
/// let clock = ManualClock::jumping(); // a pause moves it to the end of the pause
/// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
/// let mut lane = pacer.lane();
/// lane.acquire()?; // slot 0, on time
/// clock.advance(Duration::from_millis(170));
/// lane.acquire()?; // slot 1, 70 ms late
/// lane.acquire()?; // slot 2, for which the caller is held back for 30 ms
/// drop(lane);
///
/// let stats = pacer.stats();
/// assert_eq!((stats.wait_time().len(), stats.delay().len()), (3, 1));
/// let is_about = |value: u64, ms: u64| value.abs_diff(ms * 1_000_000) < ms * 1_000;
/// assert!(is_about(stats.wait_time().max(), 70));
/// assert!(is_about(stats.delay().max(), 30));
/// assert_eq!(stats.oversleep().max(), 0); // a manual clock's pauses end on time
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stats {
    wait_time: Histogram<u64>,
    delay: Histogram<u64>,
    oversleep: Histogram<u64>,
    service_time: Histogram<u64>,
    response_time: Histogram<u64>,
    achieved_rate: f64,
    spun: Duration,
    early_starts: u64,
}

impl Stats {
    /// How late operations started, in nanoseconds: one value for each start.
    ///
    /// The wait times of a run are recorded as at most eight values, each for a part of the run.
    /// Use [`Grant::wait_time`] if you need each of them.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
    /// clock.advance(Duration::from_secs(2)); // a stall
    /// let mut lane = pacer.lane();
    /// for _ in 0..=20 {
    ///     lane.acquire()?; // slots 0 to 20, from 2 s late to on time
    /// }
    /// drop(lane);
    /// let stats = pacer.stats();
    /// assert_eq!(stats.wait_time().len(), 21);
    /// assert!(stats.wait_time().max() >= 1_900_000_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn wait_time(&self) -> &Histogram<u64> {
        &self.wait_time
    }

    /// How early callers came, and so how long they had to hold back, in nanoseconds: one value for
    /// each start whose caller was early.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    ///
    /// let pacer = Pacer::builder("10/s".parse()?).clock(ManualClock::jumping()).build();
    /// let mut lane = pacer.lane();
    /// lane.acquire()?; // slot 0, due now
    /// lane.acquire()?; // slot 1, 100 ms early
    /// drop(lane);
    /// let stats = pacer.stats();
    /// assert_eq!(stats.delay().len(), 1);
    /// assert!(stats.delay().max().abs_diff(100_000_000) < 100_000); // to three digits
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn delay(&self) -> &Histogram<u64> {
        &self.delay
    }

    /// How far pauses overran, in nanoseconds: one value for each start whose caller was early.
    ///
    /// ```
    /// use nanopace::Pacer;
    ///
    /// let pacer = Pacer::new("10k/s".parse()?);
    /// let mut lane = pacer.lane();
    /// for _ in 0..20 {
    ///     lane.acquire()?;
    /// }
    /// drop(lane);
    /// let stats = pacer.stats();
    /// assert_eq!(stats.oversleep().len(), stats.delay().len());
    /// println!("p99 {} ns", stats.oversleep().value_at_quantile(0.99));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn oversleep(&self) -> &Histogram<u64> {
        &self.oversleep
    }

    /// How long operations took from their actual start, in nanoseconds: one value for each
    /// operation that a [`Recorder`](crate::Recorder) was told of. It hides stalls of the target.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
    /// let mut recorder = pacer.recorder();
    /// clock.advance(Duration::from_millis(30)); // the operation starts late,
    /// let grant = pacer.acquire()?;
    /// clock.advance(Duration::from_millis(5)); // and takes 5 ms
    /// recorder.completed(grant, pacer.now());
    /// assert!(pacer.stats().service_time().max().abs_diff(5_000_000) < 10_000);
    /// assert!(pacer.stats().response_time().max().abs_diff(35_000_000) < 70_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn service_time(&self) -> &Histogram<u64> {
        &self.service_time
    }

    /// How long operations took from their intended start, in nanoseconds: service time and wait
    /// time. One value for each operation that a [`Recorder`](crate::Recorder) was told of. This is
    /// the time to report; see [`service_time`](Stats::service_time) for an example.
    #[must_use]
    pub fn response_time(&self) -> &Histogram<u64> {
        &self.response_time
    }

    /// Starts per second over the last second, or since the schedule began if that is less. Starts
    /// of all callers count, and not only those of lanes.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    ///
    /// let pacer = Pacer::builder("100/s".parse()?).clock(ManualClock::jumping()).build();
    /// for _ in 0..500 {
    ///     pacer.acquire()?;
    /// }
    /// assert!((pacer.stats().achieved_rate() - 100.0).abs() < 5.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn achieved_rate(&self) -> f64 {
        self.achieved_rate
    }

    /// How long callers have spun under [`Pause::Hybrid`](crate::Pause::Hybrid), added up over all
    /// callers and not only over lanes.
    ///
    /// ```
    /// use nanopace::Pacer;
    /// use std::time::Duration;
    ///
    /// let pacer = Pacer::new("10k/s".parse()?); // sleeping pauses
    /// pacer.acquire()?;
    /// pacer.acquire()?;
    /// assert_eq!(pacer.stats().spun(), Duration::ZERO);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn spun(&self) -> Duration {
        self.spun
    }

    /// How many operations started before their intended start, counted over all callers and not
    /// only over lanes. Each was early by less than the [sleep
    /// threshold](crate::PacerBuilder::sleep_threshold), so without a threshold there are none.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let threshold = Duration::from_millis(5);
    /// let pacer =
    ///     Pacer::builder("10/s".parse()?).sleep_threshold(threshold).clock(clock.clone()).build();
    /// pacer.acquire()?; // slot 0, at 0 ms
    /// clock.advance(Duration::from_millis(98));
    /// pacer.acquire()?; // slot 1, 2 ms early
    /// assert_eq!(pacer.stats().early_starts(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn early_starts(&self) -> u64 {
        self.early_starts
    }
}

/// A start, with what the statistics record of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StartTimes {
    pub(crate) grant: Grant,
    pub(crate) delay_ns: u64,
    pub(crate) oversleep_ns: u64,
}

impl StartTimes {
    /// `delay_ns` is how early the caller came, if it was early, and `last` its last pause.
    pub(crate) fn new(grant: Grant, delay_ns: Option<u64>, last: Option<EndedPause>) -> StartTimes {
        let started = grant.actual_start().signed();
        let over_ns = last.map_or(0, |pause| started.saturating_sub(pause.release).max(0));
        let (delay_ns, oversleep_ns) = (delay_ns.unwrap_or(0), over_ns.unsigned_abs());
        StartTimes { grant, delay_ns, oversleep_ns }
    }
}

/// What a value measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    WaitTime,
    Delay,
    Oversleep,
    ServiceTime,
    ResponseTime,
}

/// A value that is still to be entered, and how often.
#[derive(Clone, Copy, Debug)]
struct Note {
    nanos: u64,
    count: u32,
    kind: Kind,
}

/// How many notes are entered at once: enough for the common lock not to matter.
const PAGE: usize = 64;

/// A histogram that takes no memory until something is recorded.
#[derive(Debug, Default)]
struct Lazy(Option<Box<Histogram<u64>>>);

impl Lazy {
    fn record(&mut self, nanos: u64, count: u64) {
        let histogram = self.0.get_or_insert_with(|| Box::new(new_histogram()));
        // Fails only for histograms of a fixed range. These grow.
        let _ = histogram.record_n(nanos, count);
    }

    fn histogram(&self) -> Histogram<u64> {
        self.0.as_deref().map_or_else(new_histogram, Histogram::clone)
    }
}

fn new_histogram() -> Histogram<u64> {
    Histogram::new(3).unwrap_or_else(|_| unreachable!("three digits are within 0 to 5"))
}

/// Wait times of slots that were granted one after the other on one reading of the clock: they fall
/// evenly.
pub(crate) struct Waits {
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
    pub(crate) slots: u64,
}

/// They are recorded as at most this many values, each for a part of the slots.
const MOST_STEPS: u64 = 8;

impl Waits {
    /// The wait time of each step, and how many slots it stands for.
    fn steps(&self) -> impl Iterator<Item = Note> {
        let steps = self.slots.clamp(1, MOST_STEPS);
        let fall = self.first_ns.saturating_sub(self.last_ns);
        (0..steps).map(move |step| {
            let count = self.slots * (step + 1) / steps - self.slots * step / steps;
            let nanos = self.first_ns - fall * (2 * step + 1) / (2 * steps);
            // A run has at most a few thousand slots.
            Note { nanos, count: u32::try_from(count).unwrap_or(u32::MAX), kind: Kind::WaitTime }
        })
    }
}

/// On cache lines of their own, so that lanes do not slow each other down.
type Notes = Arc<CachePadded<Mutex<Vec<Note>>>>;

/// A pacer's statistics.
#[derive(Debug, Default)]
pub(crate) struct Statistics(Arc<Mutex<Totals>>);

#[derive(Debug, Default)]
struct Totals {
    wait_time: Lazy,
    delay: Lazy,
    oversleep: Lazy,
    service_time: Lazy,
    response_time: Lazy,
    /// The notebooks that are in use.
    notebooks: Vec<Notes>,
}

impl Totals {
    fn enter(&mut self, notes: &[Note]) {
        for &Note { nanos, count, kind } in notes {
            let histogram = match kind {
                Kind::WaitTime => &mut self.wait_time,
                Kind::Delay => &mut self.delay,
                Kind::Oversleep => &mut self.oversleep,
                Kind::ServiceTime => &mut self.service_time,
                Kind::ResponseTime => &mut self.response_time,
            };
            histogram.record(nanos, count.into());
        }
    }
}

impl Statistics {
    pub(crate) fn collect(&self, achieved_rate: f64, spun: Duration, early_starts: u64) -> Stats {
        let mut totals = self.0.lock();
        for index in 0..totals.notebooks.len() {
            // Its owner has to wait only for this. Entering the notes comes after it.
            let notes = std::mem::take(&mut *totals.notebooks[index].lock());
            totals.enter(&notes);
        }
        Stats {
            wait_time: totals.wait_time.histogram(),
            delay: totals.delay.histogram(),
            oversleep: totals.oversleep.histogram(),
            service_time: totals.service_time.histogram(),
            response_time: totals.response_time.histogram(),
            achieved_rate,
            spun,
            early_starts,
        }
    }
}

/// What one lane or recorder notes.
#[derive(Debug)]
pub(crate) struct Notebook {
    totals: Arc<Mutex<Totals>>,
    notes: Notes,
}

impl Notebook {
    pub(crate) fn new(statistics: &Statistics) -> Notebook {
        let notes = Notes::default();
        statistics.0.lock().notebooks.push(Arc::clone(&notes));
        Notebook { totals: Arc::clone(&statistics.0), notes }
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

    pub(crate) fn record_times(&self, service_ns: u64, response_ns: u64) {
        let note = |kind, nanos| Note { nanos, count: 1, kind };
        self.note([note(Kind::ServiceTime, service_ns), note(Kind::ResponseTime, response_ns)]);
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

impl Drop for Notebook {
    fn drop(&mut self) {
        let mut totals = self.totals.lock();
        totals.notebooks.retain(|notes| !Arc::ptr_eq(notes, &self.notes));
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
