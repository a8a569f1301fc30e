//! The pacer: the front door. Joins timeline, clock and pause.

use crate::builder::PacerBuilder;
use crate::claim::Claim;
use crate::clock::Clock;
use crate::nanos::span_ns;
use crate::pause::{Hold, Pausing};
use crate::schedule::Schedule;
use crate::stats::Statistics;
use crate::timeline::{Claimed, Fast, Plan, Step, Timeline};
use crate::{Closed, Grant, Lane, Ledger, Nanos, Rate, Refused, Stats, Strictness};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

/// Paces operations: each [`acquire`](Pacer::acquire) blocks until the next slot's intended start
/// and says how late it is.
///
/// Clones are handles to the same pacer; everything works on a shared reference from any number of
/// threads. A worker that starts many operations does best with a [`Lane`] of its own.
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
pub struct Pacer(pub(crate) Arc<Shared>);

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) timeline: Timeline,
    pub(crate) clock: Box<dyn Clock>,
    pausing: Pausing,
    pub(crate) statistics: Statistics,
}

// What a panic can interrupt is a clock that is being read, or a histogram that is being added to:
// under the lock the clock is read before anything is changed.
impl UnwindSafe for Shared {}
impl RefUnwindSafe for Shared {}

/// A start, with what the statistics want to know of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub(crate) grant: Grant,
    pub(crate) delay_ns: u64,
    pub(crate) oversleep_ns: u64,
}

impl Pacer {
    /// A pacer with the defaults, whose slot 0 starts now: average strictness (an open loop),
    /// sleeping pauses, the time-stamp counter for a clock, no limit on the backlog.
    #[must_use]
    pub fn new(rate: Rate) -> Pacer {
        PacerBuilder::new(rate).build()
    }

    /// For everything that is not default.
    pub fn builder(rate: Rate) -> PacerBuilder {
        PacerBuilder::new(rate)
    }

    pub(crate) fn from_parts(timeline: Timeline, clock: Box<dyn Clock>, pausing: Pausing) -> Pacer {
        Pacer(Arc::new(Shared { timeline, clock, pausing, statistics: Statistics::default() }))
    }

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

    /// Takes the next slot and returns without pausing, for event loops and timers of your own.
    ///
    /// # Errors
    /// [`Closed`].
    pub fn claim(&self) -> Result<Claim, Closed> {
        Claim::new(self.clone())
    }

    /// A handle for one worker, which takes slots that are due in runs and keeps statistics.
    #[must_use]
    pub fn lane(&self) -> Lane {
        Lane::new(self.clone())
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
        let Shared { timeline, clock, pausing, statistics } = &*self.0;
        let per_second = timeline.read(&**clock).per_second;
        statistics.collect(per_second, pausing.spun(), timeline.early())
    }
}

impl Shared {
    /// Starts a slot that has been claimed, or the next one there is.
    #[cold]
    fn start(&self, claimed: Option<Claimed>) -> Result<Grant, Closed> {
        self.start_one(claimed).map(|start| start.grant)
    }

    pub(crate) fn start_one(&self, claimed: Option<Claimed>) -> Result<Start, Closed> {
        // Without a deadline nothing else is refused.
        self.start_by(claimed, 1, i64::MAX).map_err(|_| Closed)
    }

    /// Starts what has been claimed, or the next `slots` slots in a row, when it may; not later
    /// than at `deadline`.
    fn start_by(
        &self,
        mut held: Option<Claimed>,
        slots: u64,
        deadline: i64,
    ) -> Result<Start, Refused> {
        let (mut first, mut woken) = (None, None);
        loop {
            match self.timeline.begin(&mut held, slots, deadline, woken, &*self.clock)? {
                Step::Start(grant) => return Ok(Start::new(grant, first, woken)),
                Step::Hold(plan) => {
                    let now = held
                        .map_or(plan.now, |claimed| self.hold(&claimed, &plan, deadline).signed());
                    let first = *first.get_or_insert(plan);
                    if let Some(grant) = self.timeline.start_planned(&plan, now) {
                        return Ok(Start::new(grant, Some(first), Some((plan, now))));
                    }
                    woken = Some((plan, now));
                }
            }
        }
    }

    fn hold(&self, claimed: &Claimed, plan: &Plan, deadline: i64) -> Nanos {
        let hold = Hold {
            pausing: &self.pausing,
            clock: &*self.clock,
            sleepers: &self.timeline.sleepers,
            claimed,
            plan,
            deadline,
            is_current: || self.timeline.version() == plan.version,
        };
        hold.run()
    }

    fn change(&self, edit: impl FnOnce(&mut Schedule, i64)) {
        self.timeline.change(&*self.clock, edit);
    }
}

impl Start {
    /// From the plan that the caller came with, if it was early, and the one that its last pause
    /// was for.
    fn new(grant: Grant, first: Option<Plan>, woken: Option<(Plan, i64)>) -> Start {
        let span = |from: i64, to: i64| to.saturating_sub(from).max(0).unsigned_abs();
        let started = grant.actual_start().signed();
        let delay_ns =
            first.filter(|plan| !plan.is_paused).map_or(0, |plan| span(plan.now, plan.release));
        let oversleep_ns = woken.map_or(0, |(plan, _)| span(plan.release, started));
        Start { grant, delay_ns, oversleep_ns }
    }
}
