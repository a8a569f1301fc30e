//! Combines the shared word from which slots are claimed with the schedule that gives their starts.
//!
//! A claim is `allocated.fetch_add(SLOT)`. Slots are also claimed, skipped and taken back by compare-and-swap. Nothing
//! else writes the word. Claims are therefore unique and without gaps.
//!
//! In an *open loop* (average strictness, no limits) slots are claimed and started without the lock: on the hot path if
//! they are known to be due ([`published`]), otherwise by a plan ([`open`]). Unevenly spaced slots are drawn under the
//! lock: those of an arrival process for all callers ([`drawn`]), and a lane's slots for this lane alone (a block,
//! [`guarded`]).
//!
//! Under a late policy each start may move the slots after it. Starts are therefore judged under the lock, one at a
//! time ([`guarded`]), each with its own reading of the clock. The same applies while the pacer is paused, and while
//! slots that were given back wait to be handed out again.
//!
//! # Ground rules
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `allocated` | all callers, in one atomic step | all callers |
//! | `published` | the holder of the lock; its horizon and last reading by all callers, forwards only | all callers, as one state with one version |
//! | `drawn` | the holder of the lock | all callers, valid under the version under which the slots were drawn |
//! | `locked` | the holder of the lock | the holder of the lock |
//! | `held` | the caller that takes, starts or gives back a slot, under its locks | the holder of the lock |
//! | `sleepers` | sleeping callers, watching tasks and the holder of the lock, under their lock | the same |
//!
//! * **Order of locks.** The lock, `locked`, comes first. Under it, the locks of `held` and `sleepers` are taken for a
//!   moment each, never two at once. There is one exception: each lane's run is read under the lock of the list of
//!   lanes. No waker and no thread is woken under any of these locks.
//! * **Order of reading.** Without the lock, a caller reads the version, then the clock, then the version again. If the
//!   version has not changed, the clock reading belongs to the schedule of this version, and a plan made with the
//!   reading is valid until the version changes.
//! * **Order of changing.** A change has these steps, in this order: take the lock, withdraw the published state, read
//!   the clock, change the schedule, choose the sleepers to be woken, publish the new state. No caller therefore starts
//!   a slot by the old schedule with a reading that was made after the change.
//! * **Readings.** The reading of a start is never earlier than another reading that its caller can know of: a caller
//!   takes the later of its clock's reading and the last reported reading.
//! * **Slots.** A slot has at most one holder. Another caller can get the slot only after its holder has given it back.

mod attempt;
mod drawn;
mod guarded;
mod held;
mod open;
mod published;
mod reading;
mod returned;
mod window;

use crate::lease::Lease;
use crate::nanos::span_ns;
use crate::position::{SLOT, after, first_after, later};
use crate::release::Release;
use crate::schedule::{Account, Schedule};
use crate::sleepers::Sleepers;
use crate::sync::{AtomicU64, Mutex, Relaxed};
use crate::{Clock, Ended, Grant, Nanos, Refused, Shard};
use attempt::AskLock;
use attempt::EndedPause;
pub(crate) use attempt::{Attempt, Claimed, Next, NotGranted, Plan};
use crossbeam_utils::CachePadded;
use drawn::Drawn;
pub(crate) use guarded::Block;
use guarded::Locked;
use held::Held;
pub(crate) use held::LaneRun;
use published::Published;
pub(crate) use reading::Pace;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
pub(crate) use window::SlotRun;

/// The maximum error of a slot's time on a published chord or parabola, by which the slot may start too early.
const FIT_ERROR_NS: i64 = 1;

#[derive(Debug)]
pub(crate) struct Timeline {
    /// The next position to be claimed, in ticks. `claim_in` and `claim` add to it, and `exchange` replaces it.
    allocated: CachePadded<AtomicU64>,
    published: Published,
    /// `None` without an arrival process. The slots of an uneven shard are claimed under the lock instead.
    drawn: Option<Box<Drawn>>,
    locked: CachePadded<Mutex<Locked>>,
    held: Held,
    pub(crate) sleepers: Sleepers,
    /// The time by which a slot is due before its release: the sleep threshold minus one nanosecond.
    sleep_threshold_ns: i64,
    early: AtomicU64,
}

/// `overdue` becomes `backlog_slots` of the [`Ledger`](crate::Ledger).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Totals {
    pub(crate) account: Account,
    pub(crate) granted: u64,
    pub(crate) skipped: u64,
    pub(crate) overdue: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Spacing {
    pub(crate) interval_ns: i64,
    pub(crate) tolerated_ns: i64,
}

impl Timeline {
    pub(crate) fn new(schedule: Schedule, now: i64, sleep_threshold_ns: i64) -> Timeline {
        let timeline = Timeline {
            allocated: CachePadded::new(AtomicU64::new(0)),
            published: Published::new(),
            drawn: schedule.has_arrivals().then(|| Box::new(Drawn::new())),
            locked: CachePadded::new(Mutex::new(Locked::new(schedule, now))),
            held: Held::new(),
            sleepers: Sleepers::new(),
            sleep_threshold_ns,
            early: AtomicU64::new(0),
        };
        timeline.under_lock().publish(now);
        timeline
    }

    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.published.version()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.published.is_closed()
    }

    /// The clock's readings on two processors may be out of order by some hundred nanoseconds.
    #[inline]
    pub(crate) fn now(&self, clock: &dyn Clock) -> Nanos {
        clock.now().max(Nanos::from_nanos(self.published.reading()))
    }

    /// The grant has no slot. Its reading of the clock is reported to all threads.
    pub(crate) fn start_now(&self, clock: &dyn Clock) -> Grant {
        let now = self.now(clock).signed();
        self.report(now);
        Grant::at(now, now, u64::MAX)
    }

    #[inline]
    fn report(&self, now: i64) {
        self.published.report_at(self.next(), now);
    }

    pub(crate) fn delay(&self, release: Nanos, clock: &dyn Clock) -> Duration {
        let delay = release - self.now(clock);
        if span_ns(delay) <= self.sleep_threshold_ns { Duration::ZERO } else { delay }
    }

    /// The hot path. The loads before the addition cost almost nothing.
    #[inline]
    pub(crate) fn claim_fast(&self) -> Result<Grant, NotGranted> {
        let window = self.published.window().ok_or(NotGranted::NotClaimed)?;
        self.claim_in(|position| window.grant(position))
    }

    #[inline]
    pub(crate) fn claim_bent(&self) -> Result<Grant, NotGranted> {
        let bent = self.published.bent_window().ok_or(NotGranted::NotClaimed)?;
        self.claim_in(|position| bent.grant(position))
    }

    /// The check uses the position at the last reading of the clock, because loading `allocated` would take longer than
    /// the addition if another thread has just written that word. The caller may therefore have to give its slot back.
    #[inline]
    pub(crate) fn try_claim_fast(&self) -> Result<Grant, NotGranted> {
        let window = self.published.window().ok_or(NotGranted::NotClaimed)?;
        if !window.has(self.published.claimed()) {
            return Err(NotGranted::NotClaimed);
        }
        self.claim_in(|position| window.grant(position))
    }

    #[inline]
    pub(crate) fn try_claim_bent(&self) -> Result<Grant, NotGranted> {
        let bent = self.published.bent_window().ok_or(NotGranted::NotClaimed)?;
        if !bent.window.has(self.published.claimed()) {
            return Err(NotGranted::NotClaimed);
        }
        self.claim_in(|position| bent.grant(position))
    }

    #[inline]
    fn claim_in(&self, grant: impl FnOnce(u64) -> Option<Grant>) -> Result<Grant, NotGranted> {
        // Relaxed: a claim must be unique, not ordered; nothing is published through the word.
        // Model: `claims_are_unique`.
        let position = self.allocated.fetch_add(SLOT, Relaxed);
        grant(position).ok_or(NotGranted::Claimed(position))
    }

    #[inline]
    fn next(&self) -> u64 {
        // Relaxed: as in `claim_in`; code that acts on the value does so by compare-and-swap. Model:
        // `tried_claims_are_unique`.
        self.allocated.load(Relaxed)
    }

    #[inline]
    fn exchange(&self, old: u64, new: u64) -> bool {
        // Relaxed: as in `claim_in`. Models: `tried_claims_are_unique`, `a_skip_loses_no_slot`.
        self.allocated.compare_exchange(old, new, Relaxed, Relaxed).is_ok()
    }

    pub(crate) fn claim(&self, slots: u64, clock: &dyn Clock) -> Result<Claimed, Refused> {
        if slots != 1 || !self.published.is_open() {
            return self.under_lock().claim(slots, clock);
        }
        // Relaxed: as in `claim_in`.
        let mut claimed = Claimed::new(self.allocated.fetch_add(SLOT, Relaxed), 1);
        self.held.enter(&mut claimed);
        let snapshot = self.published.snapshot();
        if snapshot.is_some_and(|snapshot| snapshot.tells(claimed.position)) {
            return Ok(claimed);
        }
        self.under_lock().confirm(claimed)
    }

    pub(crate) fn lane(&self) -> Arc<LaneRun> {
        self.held.lane()
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.under_lock().is_finished()
    }

    /// The time is `i64::MAX` while the pacer is paused, and for a slot that is not known yet or never comes.
    pub(crate) fn due_after(&self, slots: u64) -> Result<i64, Ended> {
        let snapshot = self.published.snapshot();
        let position = after(self.next(), slots);
        match snapshot.filter(|snapshot| snapshot.tells(position)) {
            Some(snapshot) => {
                Ok(snapshot.intended(position).saturating_sub(self.sleep_threshold_ns))
            }
            None => self.under_lock().due_after(slots),
        }
    }

    pub(crate) fn row_due(&self, slots: u64) -> Result<i64, Ended> {
        self.under_lock().row_due(slots)
    }

    pub(crate) fn spacing(&self) -> Spacing {
        match self.published.snapshot() {
            Some(snapshot) => {
                Spacing { interval_ns: snapshot.interval_ns(), tolerated_ns: i64::MAX }
            }
            None => self.under_lock().spacing(),
        }
    }

    #[inline]
    pub(crate) fn go_on(&self, attempt: &mut Attempt, clock: &dyn Clock) -> Next {
        match attempt.go_on_open(self, clock) {
            Ok(next) => next,
            Err(AskLock) => match self.claim_drawn(attempt) {
                Some(grant) => Next::Start(grant),
                None => attempt.go_on_guarded(&mut self.under_lock(), clock),
            },
        }
    }

    fn claim_drawn(&self, attempt: &Attempt) -> Option<Grant> {
        let drawn = self.drawn.as_ref().filter(|_| attempt.held.is_none() && attempt.slots == 1)?;
        // Another start may have reported a later reading. The last reported reading is loaded before the version, so
        // that no slot starts by the old schedule with a reading that was made after a change. Model:
        // `drawn_slots_move_before_they_start_later`.
        let reported = self.published.reading();
        loop {
            let position = self.next();
            let (grant, version) = drawn.get(position, reported)?;
            if self.version() != version {
                return None;
            }
            if self.exchange(position, after(position, 1)) {
                return Some(grant);
            }
        }
    }

    /// With a sleep threshold, the slots are due before their release.
    pub(crate) fn release(&self, claimed: &Claimed) -> Result<Release, Ended> {
        match self.published.snapshot().filter(|snapshot| snapshot.tells(claimed.position)) {
            Some(snapshot) => Ok(Release::At(snapshot.intended(claimed.position))),
            None => self.under_lock().release(claimed),
        }
    }

    pub(crate) fn plan(&self, claimed: &Claimed, clock: &dyn Clock) -> Result<Plan, Ended> {
        self.under_lock().plan_of(claimed, clock)
    }

    pub(crate) fn give_back(&self, claimed: &Claimed) {
        if claimed.slots > 0 {
            self.under_lock().give_back(claimed);
        }
    }

    pub(crate) fn change(&self, clock: &dyn Clock, edit: impl FnOnce(&mut Schedule, i64)) {
        self.under_lock().change(clock, edit);
    }

    /// Returns false if this process has claimed the slot with the number `from` or a later one. A slot that is due
    /// within [`furthest_lead_ns`](Timeline::furthest_lead_ns) counts as claimed, because another thread may grant it
    /// without the lock in an open loop. Under a late policy such a slot counts as claimed, too, even while it waits
    /// because time is owed. The clock's readings on two processors may differ by some hundred nanoseconds: a slot that
    /// becomes due within that time may start anyway. Model: `a_slot_that_is_due_stays_with_its_process`.
    pub(crate) fn set_shard(&self, clock: &dyn Clock, shard: Shard, from: u64) -> bool {
        let mut is_set = false;
        self.change(clock, |schedule, now| {
            let unstarted = first_after(schedule.intended_within(self.furthest_lead_ns(), now));
            is_set = schedule.set_shard(shard, from, later(self.next(), unstarted), now);
        });
        is_set
    }

    fn furthest_lead_ns(&self) -> i64 {
        self.sleep_threshold_ns.saturating_add(FIT_ERROR_NS)
    }

    /// A slot that a caller holds and that may not start yet moves as it does with a change of the rate. Models:
    /// `a_lease_reaches_waiting_callers`, `a_slot_that_may_start_is_not_leased_away`.
    pub(crate) fn lease(&self, clock: &dyn Clock, from: u64, leases: &[Lease]) -> bool {
        let mut is_leased = false;
        let sleep_threshold_ns = self.furthest_lead_ns();
        self.change(clock, |schedule, now| {
            is_leased = schedule.lease(from, leases, sleep_threshold_ns, now);
        });
        is_leased
    }

    pub(crate) fn lease_rest(&self, clock: &dyn Clock, from: u64, leases: &[Lease]) -> u64 {
        let mut leased_from = from;
        let sleep_threshold_ns = self.furthest_lead_ns();
        self.change(clock, |schedule, now| {
            leased_from = schedule.lease_rest(from, leases, sleep_threshold_ns, now);
        });
        leased_from
    }

    pub(crate) fn close(&self, clock: &dyn Clock) {
        self.under_lock().close(clock);
    }

    pub(crate) fn with_schedule<T>(&self, read: impl FnOnce(&Schedule) -> T) -> T {
        read(self.under_lock().schedule())
    }

    pub(crate) fn unstarted(&self, span: &Range<i64>, clock: &dyn Clock) -> Vec<(i64, u64)> {
        self.under_lock().unstarted(span, clock)
    }

    pub(crate) fn totals(&self, clock: &dyn Clock) -> Totals {
        self.under_lock().totals(clock)
    }

    pub(crate) fn early(&self) -> u64 {
        // Relaxed: the count is independent of other data. No decision depends on it, so there is no model.
        self.early.load(Relaxed)
    }

    fn grant(&self, plan: &Plan) -> Grant {
        if plan.now < plan.intended {
            // Relaxed: as in `early`.
            self.early.fetch_add(1, Relaxed);
        }
        Grant::at(plan.intended, plan.now, plan.slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{End, Load, Policy, Slots};
    use crate::{Arrivals, ManualClock, Shard, Strictness};

    #[test]
    fn a_row_is_refused_where_too_many_slots_are_taken_that_are_not_due() {
        for (taken, is_refused) in [(1 << 44, false), ((1 << 44) + 1, true)] {
            let strictness = Strictness::AVERAGE;
            let policy =
                Policy { strictness, tolerance: 0, max_backlog: None, skip_later_than: None };
            let load = Load::Rate("10G/s".parse().unwrap());
            let slots = Slots::new(&Arrivals::even(), Shard::whole());
            let schedule = Schedule::new(load, slots, policy, End::new(None, None), 0);
            let (timeline, clock) = (Timeline::new(schedule, 0, 0), ManualClock::new());
            let begin = |slots| timeline.go_on(&mut Attempt::new(slots, i64::MAX), &clock);
            assert!(matches!(begin(1), Next::Start(_)), "slot 0 is due");
            assert!(matches!(begin(taken - 1), Next::Pause(_)));
            let refused = matches!(begin(2), Next::Refuse(Refused::TooFarAhead));
            assert_eq!(refused, is_refused, "{taken}");
        }
    }
}
