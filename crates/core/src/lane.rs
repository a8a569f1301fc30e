//! The handle of one worker: takes slots in blocks, keeps statistics.

use crate::line::{SLOT, ticks_between};
use crate::pacer::{Start, Turn};
use crate::stats::{LaneTally, Run};
use crate::timeline::{Due, Plan};
use crate::{Closed, Grant, Pacer};

/// One worker's handle on a [`Pacer`]. Make one in each worker thread, by [`Pacer::lane`].
///
/// A lane takes slots in blocks where the rate is high: a block spans at most 10 us of schedule, or a 64th of what the
/// caller is late. When strict it takes them one by one, and below 100 k/s while it is less than 128 slots late. Slots of the block that are due are granted
/// without touching anything that other threads write. What a lane has left goes back, and is handed out again, when the
/// lane is dropped, when [`give_back`](Lane::give_back) is called, and when the schedule changes so that it would
/// be too much.
///
/// Wait times, delays and oversleep of its starts are in [`Pacer::stats`], those since it last looked at the clock when it does so
/// again, gives back or is dropped.
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
///             Ok::<(), nanopace::Closed>(())
///         });
///     }
/// });
/// assert_eq!(pacer.ledger().granted, 100);
/// assert_eq!(pacer.stats().wait_time().len(), 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Lane {
    pacer: Pacer,
    /// Of the block, what is known to be due and not granted; the rest begins at `next`.
    due: Due,
    /// The start before that run, not yet in the tally; and how many slots were due when the run began.
    started: Option<Start>,
    seen_due: u64,
    /// The slots taken and neither granted nor due: positions from `next` to `end`.
    next: u64,
    end: u64,
    /// How many slots to take at once, as things were when the lane last looked; and when that was.
    block: u64,
    looked: i64,
    tally: LaneTally,
}

impl Lane {
    pub(crate) fn new(pacer: Pacer) -> Lane {
        let tally = pacer.0.tallies.enter();
        let block = pacer.0.timeline.first_block(&*pacer.0.clock);
        Lane {
            pacer,
            due: Due::default(),
            started: None,
            seen_due: 0,
            next: 0,
            end: 0,
            block,
            looked: i64::MIN,
            tally,
        }
    }

    /// As [`Pacer::acquire`].
    ///
    /// # Errors
    /// [`Closed`].
    #[inline]
    pub fn acquire(&mut self) -> Result<Grant, Closed> {
        match self.due.next(self.pacer.0.timeline.gate()) {
            Some(grant) => Ok(grant),
            None => self.acquire_slowly(),
        }
    }

    /// Gives back what the lane has taken and not started. Worth calling before a long time without acquiring.
    pub fn give_back(&mut self) {
        self.settle_run();
        let (start, end) = (self.next, std::mem::replace(&mut self.end, self.next));
        if start != end {
            self.pacer.0.give_back_range(start, end);
        }
    }

    /// The pacer that this is a lane of.
    #[must_use]
    pub fn pacer(&self) -> &Pacer {
        &self.pacer
    }

    #[cold]
    fn acquire_slowly(&mut self) -> Result<Grant, Closed> {
        self.settle_run();
        if self.next == self.end {
            (self.next, self.end) = self.pacer.0.timeline.claim(self.block, &*self.pacer.0.clock)?;
        }
        let mut turn = Turn::single(self.next);
        self.next = self.next.wrapping_add(SLOT);
        let (pacer, next, end) = (&self.pacer.0, self.next, &mut self.end);
        // What the policy skips is skipped in the order of the slots, so the rest of the block is claimed anew as well.
        let plan = pacer.admit(&mut turn, || pacer.give_back_range(next, std::mem::replace(end, next)))?;
        self.fit(&plan);
        let start = self.start(turn, plan)?;
        self.started = Some(start);
        self.begin_run(&start.plan);
        Ok(start.grant)
    }

    /// Keeps of the block what a lane would take now, and gives back the rest.
    fn fit(&mut self, plan: &Plan) {
        let timeline = &self.pacer.0.timeline;
        timeline.keep_books(self.looked, plan.now);
        self.looked = plan.now;
        self.block = timeline.block(plan, self.next);
        let kept = self.next.wrapping_add((self.block - 1).wrapping_mul(SLOT));
        if ticks_between(kept, self.end) > 0 {
            let end = std::mem::replace(&mut self.end, kept);
            self.pacer.0.give_back_range(kept, end);
        }
    }

    /// Starts a slot of the block. While it is held back, a change of schedule makes the rest go back.
    fn start(&mut self, turn: Turn, plan: Plan) -> Result<Start, Closed> {
        let Lane { pacer, next, end, .. } = self;
        pacer.0.start_admitted(turn, plan, || {
            let (start, end) = (*next, std::mem::replace(end, *next));
            if start != end {
                pacer.0.give_back_range(start, end);
            }
        })
    }

    /// Sees how much of the block is due by that reading of the clock.
    fn begin_run(&mut self, plan: &Plan) {
        if self.next == self.end {
            return;
        }
        self.due = self.pacer.0.timeline.due(plan, self.next, self.end);
        self.seen_due = self.due.slots();
        self.next = self.next.wrapping_add(self.seen_due.wrapping_mul(SLOT));
    }

    /// Ends a run of due slots: what was granted goes into the tally, at once, so that the hot path counts nothing and no start
    /// has to wait for the statistics; what was not goes back to the block.
    fn settle_run(&mut self) {
        if let Some(start) = self.started.take() {
            self.tally.lock().record(&start);
        }
        let left = self.due.slots();
        let granted = std::mem::take(&mut self.seen_due) - left;
        if granted > 0 {
            let (first_ns, last_ns) = self.due.waits_of_last(granted);
            self.tally.lock().record_run(&Run { first_ns, last_ns, slots: granted });
        }
        self.next = self.next.wrapping_sub(left.wrapping_mul(SLOT));
        self.due = self.due.emptied();
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.give_back();
    }
}
