//! Provides one worker's handle to a pacer, which claims slots in runs.

use crate::engine::Engine;
use crate::timeline::{Attempt, Block, LaneRun, Pace, SlotRun};
use crate::{Ended, Grant, Pacer, Refused};
use std::sync::Arc;

/// One worker's handle to a [`Pacer`]. Create one in each worker thread with [`Pacer::lane`].
///
/// A lane whose slots are late claims a *run*: several slots at once, all of them due. A run has at most as many slots
/// as the lane starts within 10 us at its own pace, and at most 2048, or 64 if slots are unevenly spaced. When the lane
/// grants these slots, it reads only one word that other threads write: the version of the schedule. A lane whose
/// operations take 10 us or longer claims its slots one by one, so that other workers can start the later ones. If
/// operations become slow, the rest of the last run still waits for them. Under a late policy every lane claims its
/// slots one by one.
///
/// The lane gives back its claimed slots that have not started when the lane is dropped, when
/// [`give_back`](Lane::give_back) is called, and when the lane acquires a slot after the schedule has changed. Slots
/// that are given back are handed out again.
///
/// ```
/// use nanopace::{Pacer, Rate};
///
/// let pacer = Pacer::new(Rate::per_second(20_000)?);
/// std::thread::scope(|scope| {
///     for _ in 0..2 {
///         let mut lane = pacer.lane();
///         scope.spawn(move || {
///             for _ in 0..50 {
///                 let _grant = lane.acquire()?;
///                 // ... the operation ...
///             }
///             Ok::<(), nanopace::Ended>(())
///         });
///     }
/// });
/// assert_eq!(pacer.ledger().granted, 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Lane {
    pacer: Pacer,
    run: SlotRun,
    /// The claimed slots of a schedule with uneven spacing. The block has slots only while the run has none.
    block: Option<Box<Block>>,
    taken: u64,
    held: Arc<LaneRun>,
    pace: Pace,
}

impl Pacer {
    /// Returns a lane: a handle for one worker, which claims due slots in runs.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    ///
    /// let pacer = Pacer::builder("10/s".parse()?).clock(ManualClock::jumping()).build();
    /// let (mut one, mut other) = (pacer.lane(), pacer.lane());
    /// // Both take their slots from one schedule.
    /// assert_eq!(one.acquire()?.intended_start().as_nanos(), 0);
    /// assert_eq!(other.acquire()?.intended_start().as_nanos(), 100_000_000);
    /// assert_eq!(one.acquire()?.intended_start().as_nanos(), 200_000_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn lane(&self) -> Lane {
        Lane::new(self.clone())
    }
}

impl Lane {
    pub(crate) fn new(pacer: Pacer) -> Lane {
        let held = pacer.0.timeline.lane();
        Lane { pacer, run: SlotRun::default(), block: None, taken: 0, held, pace: Pace::default() }
    }

    /// Claims the next slot, blocks until it may start, and returns the grant, as [`Pacer::acquire`] does.
    ///
    /// Granting a slot of a run that the lane already holds costs no atomic addition.
    ///
    /// # Errors
    /// Returns [`Ended`] as soon as the pacer is closed or its schedule has no slot left.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::jumping();
    /// let pacer = Pacer::builder("1k/s".parse()?).clock(clock.clone()).build();
    /// let mut lane = pacer.lane();
    /// clock.advance(Duration::from_millis(5)); // slots 0 to 5 are due
    /// for late_ms in [5, 4, 3, 2, 1, 0, 0, 0] {
    ///     assert_eq!(lane.acquire()?.wait_time(), Duration::from_millis(late_ms));
    /// }
    /// assert_eq!(pacer.now().as_nanos(), 7_000_000); // slots 6 and 7 started when they were due
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn acquire(&mut self) -> Result<Grant, Ended> {
        if let Some(grant) = self.run.next(self.pacer.0.timeline.version()) {
            return Ok(grant);
        }
        let mut grant = Grant::NONE;
        self.acquire_slowly(&mut grant)?;
        Ok(grant)
    }

    /// Starts the next slot if it is due now, as [`Pacer::try_acquire`] does.
    ///
    /// # Errors
    /// Returns [`Refused::NotUntil`], [`Refused::Paused`], [`Refused::Finished`] or [`Refused::Closed`].
    #[inline]
    pub fn try_acquire(&mut self) -> Result<Grant, Refused> {
        if let Some(grant) = self.run.next(self.pacer.0.timeline.version()) {
            return Ok(grant);
        }
        let mut grant = Grant::NONE;
        self.try_acquire_slowly(&mut grant)?;
        Ok(grant)
    }

    /// Gives back the slots that the lane has claimed and not started.
    ///
    /// Call this method before the worker stops acquiring for a long time, so that other workers can start those slots.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("1k/s".parse()?).clock(clock.clone()).build();
    /// clock.advance(Duration::from_millis(100)); // slots 0 to 100 are due
    ///
    /// let mut lane = pacer.lane();
    /// for _ in 0..10 {
    ///     lane.acquire()?; // slots 0 to 9; the lane has taken some more
    /// }
    /// lane.give_back();
    /// assert_eq!(pacer.acquire()?.intended_start().as_nanos(), 10_000_000); // slot 10
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn give_back(&mut self) {
        let of_block = self.block.as_deref_mut().map(Block::take_rest);
        let run = std::mem::take(&mut self.run);
        let rest = of_block.filter(|rest| rest.slots > 0).unwrap_or_else(|| run.rest(run.left()));
        let left = rest.slots;
        let granted = std::mem::take(&mut self.taken) - left;
        if granted > 0 {
            self.pace.used = granted;
        }
        self.pacer.0.timeline.give_back(&rest);
        if left + granted > 1 {
            self.held.set(None);
        }
    }

    /// Returns the pacer that this lane belongs to.
    #[must_use]
    pub fn pacer(&self) -> &Pacer {
        &self.pacer
    }

    #[cold]
    #[inline(never)]
    fn acquire_slowly(&mut self, grant: &mut Grant) -> Result<(), Ended> {
        if let Some(taken) = self.next_taken() {
            *grant = taken;
            return Ok(());
        }
        self.start(Attempt::one(), grant).map_err(Refused::for_good)
    }

    #[cold]
    #[inline(never)]
    fn try_acquire_slowly(&mut self, grant: &mut Grant) -> Result<(), Refused> {
        if let Some(taken) = self.next_taken() {
            *grant = taken;
            return Ok(());
        }
        self.start(Attempt::if_due(1), grant)
    }

    #[inline]
    fn next_taken(&mut self) -> Option<Grant> {
        let version = self.pacer.0.timeline.version();
        let of_block = || self.block.as_mut()?.next(version);
        self.run.next(version).or_else(of_block)
    }

    #[inline(never)]
    fn start(&mut self, attempt: Attempt, grant: &mut Grant) -> Result<(), Refused> {
        self.give_back();
        *grant = match self.take() {
            Some(grant) => grant,
            None => self.started(self.pacer.0.start(attempt)?),
        };
        Ok(())
    }

    fn take(&mut self) -> Option<Grant> {
        self.take_run().or_else(|| self.take_block())?;
        let grant = self.next_taken();
        if grant.is_none() {
            // The schedule has changed since the claim.
            self.give_back();
        }
        grant
    }

    fn take_run(&mut self) -> Option<()> {
        let Engine { timeline, clock, .. } = &*self.pacer.0;
        let (run, read_at) = timeline.claim_run(self.pace, &self.held, &**clock)?;
        (self.run, self.taken, self.pace.read_at) = (run, run.left(), read_at);
        Some(())
    }

    fn take_block(&mut self) -> Option<()> {
        let Engine { timeline, clock, .. } = &*self.pacer.0;
        if !timeline.has_blocks() {
            return None;
        }
        let block = self.block.get_or_insert_default();
        self.pace.read_at = timeline.claim_block(self.pace, &self.held, block, &**clock)?;
        self.taken = block.left();
        Some(())
    }

    fn started(&mut self, grant: Grant) -> Grant {
        self.pace = Pace { used: 1, read_at: grant.actual_start().signed() };
        grant
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.give_back();
    }
}
