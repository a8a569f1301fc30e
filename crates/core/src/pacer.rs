//! The pacer: the front door. Joins timeline, clock and pause.

use crate::builder::PacerBuilder;
use crate::claim::Claim;
use crate::clock::Clock;
use crate::grant::Stamp;
use crate::line::SLOT;
use crate::nanos::span_ns;
use crate::pause::{Hold, Pausing};
use crate::sleepers::Sleepers;
use crate::stats::Tallies;
use crate::timebase::Timebase;
use crate::timeline::{Plan, Timeline};
use crate::{Closed, Grant, Lane, LazyGrant, Ledger, Nanos, Rate, Refused, Stats, Strictness};
use std::sync::Arc;
use std::time::Duration;

/// Paces operations: each [`acquire`](Pacer::acquire) blocks until the next slot's intended start and says how late it is.
///
/// Clones are handles to the same pacer; everything works on a shared reference from any number of threads. A worker
/// that starts many operations does best with a [`Lane`] of its own.
///
/// Most callers want `acquire`. [`try_acquire`](Pacer::try_acquire) answers at once,
/// [`acquire_timeout`](Pacer::acquire_timeout) and [`acquire_deadline`](Pacer::acquire_deadline) give up,
/// [`acquire_many`](Pacer::acquire_many) takes several slots as one operation, and [`claim`](Pacer::claim) takes a slot
/// and leaves the pausing to you.
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
    sleepers: Sleepers,
    pub(crate) clock: Box<dyn Clock>,
    pausing: Pausing,
    pub(crate) tallies: Tallies,
}

/// A slot, or several in a row, that this caller has taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub(crate) position: u64,
    pub(crate) slots: u64,
}

impl Turn {
    pub(crate) fn single(position: u64) -> Turn {
        Turn { position, slots: 1 }
    }
}

/// A start, with what the statistics want to know of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub(crate) grant: Grant,
    pub(crate) delay_ns: u64,
    pub(crate) oversleep_ns: u64,
    /// What it started by.
    pub(crate) plan: Plan,
}

impl Pacer {
    /// A pacer with the defaults, whose slot 0 starts now: average strictness (an open loop), sleeping pauses, the
    /// time-stamp counter for a clock, no limit on the backlog.
    #[must_use]
    pub fn new(rate: Rate) -> Pacer {
        PacerBuilder::new(rate).build()
    }

    /// For everything that is not default.
    pub fn builder(rate: Rate) -> PacerBuilder {
        PacerBuilder::new(rate)
    }

    pub(crate) fn from_parts(timebase: Timebase, now: i64, clock: Box<dyn Clock>, pausing: Pausing) -> Pacer {
        Pacer(Arc::new(Shared {
            timeline: Timeline::new(timebase, now),
            sleepers: Sleepers::new(),
            clock,
            pausing,
            tallies: Tallies::default(),
        }))
    }

    /// Takes the next slot, blocks until its intended start, and says how late it is.
    ///
    /// A slot that is due already costs one atomic addition and reads no clock.
    ///
    /// # Errors
    /// [`Closed`] as soon as the pacer is closed, also to callers that are asleep.
    #[inline]
    pub fn acquire(&self) -> Result<LazyGrant<'_>, Closed> {
        let (position, seen) = self.0.timeline.claim_fast();
        match seen {
            Some(seen) => Ok(LazyGrant::due(&self.0.timeline, position, seen)),
            None => Ok(self.0.start(Turn::single(position))?.into()),
        }
    }

    /// Takes the next `n` slots as one operation: it starts at the first one's intended start, and the next caller's
    /// slot comes `n` intervals later. For operations weighed in bytes, rows or requests. Zero takes nothing and starts now.
    ///
    /// # Errors
    /// [`Refused::Closed`], or [`Refused::TooFarAhead`] when 2^44 slots and more are taken that are not due yet.
    pub fn acquire_many(&self, n: u32) -> Result<LazyGrant<'_>, Refused> {
        match n {
            0 if self.is_closed() => Err(Refused::Closed),
            0 => Ok(Grant::at(self.now()).into()),
            1 => Ok(self.acquire()?),
            _ => Ok(self.0.start_row(u64::from(n))?.into()),
        }
    }

    /// Takes the next slot if it is due now; otherwise takes nothing and says from when on it can be granted.
    ///
    /// # Errors
    /// [`Refused::NotUntil`], [`Refused::Paused`] or [`Refused::Closed`].
    pub fn try_acquire(&self) -> Result<LazyGrant<'_>, Refused> {
        match self.0.timeline.try_claim_fast() {
            Some((position, seen)) => Ok(LazyGrant::due(&self.0.timeline, position, seen)),
            None => Ok(self.acquire_deadline(self.now())?.into()),
        }
    }

    /// As [`acquire`](Pacer::acquire), but gives up where the slot can't start within `timeout`.
    ///
    /// # Errors
    /// As [`acquire_deadline`](Pacer::acquire_deadline).
    pub fn acquire_timeout(&self, timeout: Duration) -> Result<Grant, Refused> {
        self.acquire_deadline(self.now() + timeout)
    }

    /// As [`acquire`](Pacer::acquire), but gives up where the slot can't start by `deadline` on the pacer's clock.
    ///
    /// It does so as soon as that is known: at once, or when a change of the rate makes it so. Nothing is taken then.
    ///
    /// # Errors
    /// [`Refused::NotUntil`], [`Refused::Closed`], or [`Refused::Paused`] when the pacer is still paused at the deadline.
    pub fn acquire_deadline(&self, deadline: Nanos) -> Result<Grant, Refused> {
        self.0.start_by(deadline.signed())
    }

    /// Takes the next slot and returns without pausing, for event loops and timers of your own.
    ///
    /// # Errors
    /// [`Closed`].
    pub fn claim(&self) -> Result<Claim, Closed> {
        Claim::new(self.clone())
    }

    /// A handle for one worker, which takes slots in blocks and keeps statistics.
    #[must_use]
    pub fn lane(&self) -> Lane {
        Lane::new(self.clone())
    }

    /// From now on the schedule runs at `rate`, in one atomic step.
    ///
    /// Nothing bursts: what has passed of the current interval stays passed, slots that are late keep their intended
    /// starts, and callers that are asleep are re-planned at once.
    pub fn set_rate(&self, rate: Rate) {
        self.0.change(|timebase, now| timebase.set_rate(rate, now));
    }

    /// The rate in force.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.0.timeline.with_timebase(Timebase::rate)
    }

    /// From now on late claims are treated so. Time that is owed under a burst ratio becomes plain backlog when the
    /// new strictness is no burst ratio; strict then forfeits it, average starts it at once.
    pub fn set_strictness(&self, strictness: Strictness) {
        self.0.change(|timebase, now| timebase.set_strictness(strictness, now));
    }

    /// The strictness in force.
    #[must_use]
    pub fn strictness(&self) -> Strictness {
        self.0.timeline.with_timebase(|timebase| timebase.policy.strictness)
    }

    /// From now on no more than this is made up for; see [`PacerBuilder::max_backlog`].
    pub fn set_max_backlog(&self, limit: Option<Duration>) {
        self.0.change(|timebase, _| timebase.policy.max_backlog = limit.map(span_ns));
    }

    /// From now on slots that are later than this when they are claimed are skipped, and counted.
    pub fn set_skip_later_than(&self, limit: Option<Duration>) {
        self.0.change(|timebase, _| timebase.policy.skip_later_than = limit.map(span_ns));
    }

    /// Stops the schedule's time: nothing starts until [`resume`](Pacer::resume). Pausing a paused pacer does nothing.
    pub fn pause(&self) {
        self.0.change(Timebase::pause);
    }

    /// Lets the schedule's time go on: intended starts move by the length of the pause, and what was late is as late
    /// as it was. Nothing bursts.
    pub fn resume(&self) {
        self.0.change(Timebase::resume);
    }

    /// Whether the schedule's time stands still.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.0.timeline.with_timebase(Timebase::is_paused)
    }

    /// Ends it: everyone who is asleep wakes, and whoever acquires is told [`Closed`]. There is no way back.
    pub fn close(&self) {
        self.0.timeline.close(&*self.0.clock);
        self.0.sleepers.wake_all();
    }

    /// Whether the pacer is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.timeline.is_closed()
    }

    /// Now, on the pacer's clock: what intended starts are to be compared with.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.0.clock.now()
    }

    /// Where the schedule's time and slots went.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        Ledger::from(self.0.timeline.read(&*self.0.clock))
    }

    /// What the lanes have recorded, and the rate of starts over the last second.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.0.tallies.collect(self.0.timeline.read(&*self.0.clock).per_second, self.0.pausing.spun())
    }
}

impl Shared {
    #[cold]
    fn start(&self, mut turn: Turn) -> Result<Grant, Closed> {
        let plan = self.admit(&mut turn, || ())?;
        self.timeline.refresh(turn.position, turn.slots, &plan);
        self.start_admitted(turn, plan, || ()).map(|start| start.grant)
    }

    fn start_row(&self, slots: u64) -> Result<Grant, Refused> {
        let position = self.timeline.claim_row(slots, &*self.clock)?;
        Ok(self.start(Turn { position, slots })?)
    }

    /// Paces an admitted turn. While it is held back, `on_change` is told of changes of schedule.
    pub(crate) fn start_admitted(
        &self,
        turn: Turn,
        plan: Plan,
        on_change: impl FnMut(),
    ) -> Result<Start, Closed> {
        self.pace(turn, plan, i64::MAX, on_change).map_err(|_| Closed)
    }

    /// Shows a claimed turn to the late policy; where the policy skips it, calls `on_skip` and claims again.
    pub(crate) fn admit(&self, turn: &mut Turn, mut on_skip: impl FnMut()) -> Result<Plan, Closed> {
        self.prefer_returned(turn);
        loop {
            if let Some(plan) = self.plan_and_admit(turn).inspect_err(|_| self.give_back(turn))? {
                return Ok(plan);
            }
            on_skip();
            turn.position = self.claim_again(turn.slots)?;
        }
    }

    fn plan_and_admit(&self, turn: &Turn) -> Result<Option<Plan>, Closed> {
        let plan = self.timeline.plan(turn.position, &*self.clock)?;
        self.timeline.admit(turn.position, turn.slots, plan, &*self.clock)
    }

    /// In place of slots that were skipped, and so are not too far ahead.
    fn claim_again(&self, slots: u64) -> Result<u64, Closed> {
        match slots {
            1 => Ok(self.timeline.claim(1, &*self.clock)?.0),
            _ => self.timeline.claim_row(slots, &*self.clock).map_err(|_| Closed),
        }
    }

    fn start_by(&self, deadline: i64) -> Result<Grant, Refused> {
        loop {
            let turn = Turn::single(self.timeline.try_claim(deadline, &*self.clock)?);
            let admitted = self.plan_and_admit(&turn).inspect_err(|_| self.give_back(&turn))?;
            if let Some(plan) = admitted {
                self.timeline.refresh(turn.position, 1, &plan);
                return self.pace(turn, plan, deadline, || ()).map(|start| start.grant);
            }
        }
    }

    /// Holds the caller back until its turn may start; gives the turn back where that can't be by `deadline`.
    pub(crate) fn pace(
        &self,
        mut turn: Turn,
        mut plan: Plan,
        deadline: i64,
        mut on_change: impl FnMut(),
    ) -> Result<Start, Refused> {
        let first = plan;
        if plan.is_due() {
            return Ok(Start::new(&first, &plan));
        }
        while !plan.is_due() {
            // After the plan was made: a slot that comes back later than this changes the gate, and so ends the pause.
            if self.prefer_returned(&mut turn) {
                plan =
                    self.timeline.plan(turn.position, &*self.clock).inspect_err(|_| self.give_back(&turn))?;
                continue;
            }
            if !plan.can_start_by(deadline) {
                self.give_back(&turn);
                return Err(plan.refusal());
            }
            let now = self.hold(&turn, &plan, deadline).signed();
            // A clock that was read before the plan is seen to be current still belongs to it.
            if self.timeline.gate() == plan.gate {
                plan.now = now;
                continue;
            }
            on_change();
            plan = self.timeline.plan(turn.position, &*self.clock).inspect_err(|_| self.give_back(&turn))?;
        }
        self.timeline.overslept(turn.position, &plan, &*self.clock);
        Ok(Start::new(&first, &plan))
    }

    fn hold(&self, turn: &Turn, plan: &Plan, deadline: i64) -> Nanos {
        let hold = Hold {
            pausing: &self.pausing,
            clock: &*self.clock,
            sleepers: &self.sleepers,
            position: turn.position,
            until: Nanos::from_signed(plan.release.min(deadline)),
            is_paused: plan.release == i64::MAX,
            leeway_ns: self.timeline.leeway_ns(self.pausing.spared_ns),
            is_current: || self.timeline.gate() == plan.gate,
        };
        hold.run()
    }

    /// Takes an earlier slot that was given back, if there is one: true when the turn has changed. A row of slots is not
    /// exchanged.
    fn prefer_returned(&self, turn: &mut Turn) -> bool {
        if turn.slots != 1 {
            return false;
        }
        let position = self.timeline.prefer_returned(turn.position, &*self.clock);
        std::mem::replace(&mut turn.position, position) != position
    }

    pub(crate) fn give_back(&self, turn: &Turn) {
        self.give_back_range(turn.position, turn.position.wrapping_add(turn.slots.wrapping_mul(SLOT)));
    }

    pub(crate) fn give_back_range(&self, start: u64, end: u64) {
        if self.timeline.give_back(start, end, &*self.clock) {
            self.sleepers.wake_all();
        }
    }

    fn change(&self, edit: impl FnOnce(&mut Timebase, i64)) {
        self.timeline.change(&*self.clock, edit);
        self.sleepers.wake_all();
    }
}

impl Start {
    /// From the plan that the caller came with and the one it started by.
    fn new(first: &Plan, last: &Plan) -> Start {
        let span = |from: i64, to: i64| to.saturating_sub(from).max(0).unsigned_abs();
        let was_early = !first.is_due();
        Start {
            grant: Grant::new(span(0, last.intended), Stamp::new(span(0, last.now))),
            delay_ns: if first.release == i64::MAX { 0 } else { span(first.now, first.release) },
            oversleep_ns: if was_early { span(last.release, last.now) } else { 0 },
            plan: *last,
        }
    }
}
