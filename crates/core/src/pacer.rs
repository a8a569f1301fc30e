//! The pacer: the front door.

use crate::engine::Engine;
use crate::nanos::span_ns;
use crate::schedule::Schedule;
use crate::timeline::Fast;
use crate::{Closed, Grant, Ledger, Nanos, Rate, Refused, Stats, Strictness};
use std::sync::Arc;
use std::time::Duration;

/// Paces operations: each [`acquire`](Pacer::acquire) blocks until the next slot's intended start
/// and says how late it is.
///
/// Clones are handles to the same pacer; everything works on a shared reference from any number of
/// threads. A worker that starts many operations does best with a [`Lane`](crate::Lane) of its own.
///
/// Most callers want `acquire`. [`try_acquire`](Pacer::try_acquire) answers at once,
/// [`acquire_timeout`](Pacer::acquire_timeout) and [`acquire_deadline`](Pacer::acquire_deadline)
/// give up, [`acquire_many`](Pacer::acquire_many) takes several slots as one operation, and
/// [`claim`](Pacer::claim) takes a slot and leaves the pausing to you.
///
/// ```
/// use nanopace::{Pacer, Rate};
///
/// let pacer = Pacer::new(Rate::per_second(2_000)?);
/// for _ in 0..10 {
///     let grant = pacer.acquire()?;
///     // ... the operation ...
///     let response_time = grant.response_time(pacer.now());
///     assert!(response_time >= grant.wait_time());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pacer(pub(crate) Arc<Engine>);

impl Pacer {
    /// Takes the next slot, blocks until its intended start, and says how late it is.
    ///
    /// A slot that is known to be due costs one atomic addition and reads no clock, unless a late
    /// policy is set: then each start is judged by a reading of its own, under a lock.
    ///
    /// # Errors
    /// [`Closed`] as soon as the pacer is closed, also to callers that are asleep.
    #[inline]
    pub fn acquire(&self) -> Result<Grant, Closed> {
        match self.0.timeline.claim_fast() {
            Fast::Granted(grant) => Ok(grant),
            Fast::Claimed(claimed) => self.0.start(Some(claimed)),
            Fast::Ask => self.0.start(None),
        }
    }

    /// Takes the next `n` slots as one operation: it starts at the first one's intended start, and
    /// the next caller's slot comes `n` intervals later. For operations weighed in bytes, rows or
    /// requests. Zero takes nothing and starts now, also while the pacer is paused.
    ///
    /// # Errors
    /// [`Refused::Closed`], or [`Refused::TooFarAhead`] when more than 2^44 slots are taken that
    /// are not due yet.
    pub fn acquire_many(&self, n: u32) -> Result<Grant, Refused> {
        match n {
            0 if self.is_closed() => Err(Refused::Closed),
            0 => Ok(self.0.timeline.start_now(&*self.0.clock)),
            1 => Ok(self.acquire()?),
            _ => Ok(self.0.start_by(None, n.into(), i64::MAX)?.grant),
        }
    }

    /// Takes the next slot if it is due now; otherwise takes nothing and says from when on it can
    /// be granted.
    ///
    /// # Errors
    /// [`Refused::NotUntil`], [`Refused::Paused`] or [`Refused::Closed`].
    pub fn try_acquire(&self) -> Result<Grant, Refused> {
        match self.0.timeline.try_claim_fast() {
            Some(grant) => Ok(grant),
            // Before any reading of the clock: what is not due is refused.
            None => Ok(self.0.start_by(None, 1, i64::MIN)?.grant),
        }
    }

    /// Takes the next `n` slots as one operation if the first of them is due now, as
    /// [`acquire_many`](Pacer::acquire_many) does; otherwise takes nothing.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer, Rate, Refused};
    ///
    /// let pacer = Pacer::builder(Rate::per_second(10)?).clock(ManualClock::new()).build();
    /// assert!(pacer.try_acquire_many(20).is_ok()); // slot 0 is due now
    /// assert!(matches!(pacer.try_acquire_many(1), Err(Refused::NotUntil(_)))); // slot 20 in 2 s
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`try_acquire`](Pacer::try_acquire), and [`Refused::TooFarAhead`] as `acquire_many`.
    pub fn try_acquire_many(&self, n: u32) -> Result<Grant, Refused> {
        match n {
            0 => self.acquire_many(0),
            1 => self.try_acquire(),
            _ => Ok(self.0.start_by(None, n.into(), i64::MIN)?.grant),
        }
    }

    /// As [`acquire`](Pacer::acquire), but gives up where the slot can't start within `timeout`.
    ///
    /// # Errors
    /// As [`acquire_deadline`](Pacer::acquire_deadline).
    pub fn acquire_timeout(&self, timeout: Duration) -> Result<Grant, Refused> {
        self.acquire_deadline(self.now() + timeout)
    }

    /// As [`acquire`](Pacer::acquire), but gives up where the slot can't start by `deadline` on the
    /// pacer's clock.
    ///
    /// It does so as soon as that is known: at once, or when a change of the rate makes it so.
    /// Nothing is taken then. A slot that is due now is granted, even if the deadline has passed.
    ///
    /// # Errors
    /// [`Refused::NotUntil`], [`Refused::Closed`], or [`Refused::Paused`] when the pacer is still
    /// paused at the deadline.
    pub fn acquire_deadline(&self, deadline: Nanos) -> Result<Grant, Refused> {
        Ok(self.0.start_by(None, 1, deadline.signed())?.grant)
    }

    /// From now on the schedule runs at `rate`, in one atomic step.
    ///
    /// Nothing bursts: what has passed of the current interval stays passed, slots that are late
    /// keep their intended starts, and callers that are asleep and may now start earlier are woken.
    pub fn set_rate(&self, rate: Rate) {
        self.0.change(|schedule, now| schedule.set_rate(rate, now));
    }

    /// The rate in force.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.0.timeline.with_schedule(Schedule::rate)
    }

    /// From now on late starts are treated so. Time that is owed under a burst ratio becomes plain
    /// backlog when the new strictness is no burst ratio; strict then forfeits it, average starts
    /// it at once.
    pub fn set_strictness(&self, strictness: Strictness) {
        self.0.change(|schedule, now| schedule.set_strictness(strictness, now));
    }

    /// The strictness in force.
    #[must_use]
    pub fn strictness(&self) -> Strictness {
        self.0.timeline.with_schedule(|schedule| schedule.policy().strictness)
    }

    /// From now on no more than this is made up for; see [`PacerBuilder::max_backlog`].
    pub fn set_max_backlog(&self, limit: Option<Duration>) {
        self.0.change(|schedule, _| schedule.set_max_backlog(limit.map(span_ns)));
    }

    /// From now on slots that are later than this when they could start are skipped, and counted.
    pub fn set_skip_later_than(&self, limit: Option<Duration>) {
        self.0.change(|schedule, _| schedule.set_skip_later_than(limit.map(span_ns)));
    }

    /// Stops the schedule's time: nothing starts until [`resume`](Pacer::resume). Pausing a paused
    /// pacer does nothing.
    pub fn pause(&self) {
        self.0.change(Schedule::pause);
    }

    /// Lets the schedule's time go on: intended starts move by the length of the pause, and what
    /// was late is as late as it was. Nothing bursts.
    pub fn resume(&self) {
        self.0.change(Schedule::resume);
    }

    /// Whether the schedule's time stands still.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.0.timeline.with_schedule(Schedule::is_paused)
    }

    /// Ends it: everyone who is asleep wakes, and whoever acquires is told [`Closed`]. There is no
    /// way back.
    pub fn close(&self) {
        self.0.timeline.close(&*self.0.clock);
    }

    /// Whether the pacer is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.timeline.is_closed()
    }

    /// Now, on the pacer's clock: what intended starts are to be compared with. Never before the
    /// actual start of a grant that the caller knows of, whichever processor that was made on.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.0.timeline.now(&*self.0.clock)
    }

    /// Where the schedule's time and slots went.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        Ledger::from(self.0.timeline.read(&*self.0.clock))
    }

    /// What the lanes have recorded, and the rate of starts over the last second.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let Engine { timeline, clock, pausing, statistics } = &*self.0;
        let per_second = timeline.read(&**clock).per_second;
        statistics.collect(per_second, pausing.spun(), timeline.early())
    }
}
