//! Makes the decisions that need the timeline's lock.
//!
//! One caller at a time reads the clock and claims the earliest free slot. If the slot is due, the policy judges its
//! start. Starts are therefore judged in the order in which they happen, each with its own reading.

mod block;
mod upkeep;

use super::returned::Returned;
use super::{Attempt, Claimed, Next, Plan, Spacing, Timeline};
use crate::position::{RANGE, after, before, slots_between, ticks_between};
use crate::release::Release;
use crate::schedule::{Fate, Schedule};
use crate::sleepers::WakeUps;
use crate::sync::MutexGuard;
use crate::{Clock, Ended, Refused};
pub(crate) use block::Block;

#[derive(Debug)]
pub(super) struct Locked {
    schedule: Schedule,
    returned: Returned,
    is_closed: bool,
    /// Whether the schedule had no slot left for a new caller when it was last published.
    is_finished: bool,
    /// A published stretch may have been withdrawn since, so `shows_slot` also checks that it is still published.
    published_revision: Option<u64>,
    skipped: u64,
    /// The number of slots that had been claimed when `counted_to` was the next position to be claimed.
    claimed: u64,
    counted_to: u64,
    /// The latest reading of the clock that a holder of the lock has made or was given. Only [`upkeep`](Entry::upkeep)
    /// may work with an earlier one, which was made before the lock was taken.
    latest_reading: i64,
}

impl Locked {
    pub(super) fn new(schedule: Schedule, now: i64) -> Locked {
        Locked {
            schedule,
            returned: Returned::default(),
            is_closed: false,
            is_finished: false,
            published_revision: None,
            skipped: 0,
            claimed: 0,
            counted_to: 0,
            latest_reading: now,
        }
    }
}

/// The timeline's lock while a caller has it, and the sleepers that are woken after the lock is released.
#[derive(Debug)]
pub(super) struct Entry<'t> {
    timeline: &'t Timeline,
    // Fields are dropped in this order: first the lock is released, then sleepers are woken.
    locked: MutexGuard<'t, Locked>,
    wake_ups: WakeUps,
}

impl Timeline {
    pub(super) fn under_lock(&self) -> Entry<'_> {
        Entry { timeline: self, locked: self.locked.lock(), wake_ups: WakeUps::default() }
    }

    pub(super) fn try_under_lock(&self) -> Option<Entry<'_>> {
        let locked = self.locked.try_lock()?;
        Some(Entry { timeline: self, locked, wake_ups: WakeUps::default() })
    }
}

impl Attempt {
    pub(super) fn go_on_guarded(&mut self, entry: &mut Entry<'_>, clock: &dyn Clock) -> Next {
        if let Err(ended) = entry.refuse_if_closed(&mut self.held) {
            return Next::Refuse(ended.into());
        }
        // The caller has seen the reading that ended its pause. No later reading may be before it.
        let pause_end = self.pause.map_or(i64::MIN, |pause| pause.at);
        entry.locked.latest_reading = entry.locked.latest_reading.max(pause_end);
        let now = entry.now(clock);
        entry.go_on_at(self, now)
    }
}

impl Entry<'_> {
    /// The timeline must not be closed.
    fn go_on_at(&mut self, attempt: &mut Attempt, now: i64) -> Next {
        self.resume_on_use(now);
        self.tidy(now);
        let end = self.locked.schedule.end();
        let decided = self.decide(attempt, now);
        if let Some(claimed) = &mut attempt.held {
            self.timeline.held.enter(claimed);
        }
        // A refusal does not show how late slots are, so after a refusal the lateness is always checked.
        let intended = decided.as_ref().map_or(i64::MIN, |plan| plan.intended);
        if Schedule::may_be_out_of_range(intended, now) {
            self.locked.schedule.cut_to_range(self.timeline.next(), now);
        }
        // Forfeited time may move slots beyond an end by time. Callers that sleep for such slots have to be woken.
        if self.locked.schedule.end() != end {
            self.wake_moved();
        }
        self.publish_keeping_pace(now);
        self.next_by(decided, now)
    }

    fn resume_on_use(&mut self, now: i64) {
        if self.locked.schedule.resume_on_use(now) {
            self.wake_moved();
        }
    }

    fn next_by(&mut self, decided: Result<Plan, Refused>, now: i64) -> Next {
        match decided {
            Err(refused) => Next::Refuse(refused),
            Ok(plan) if plan.is_due() => {
                self.draw_for_all(now);
                self.timeline.report(now);
                Next::Start(self.timeline.grant(&plan))
            }
            Ok(plan) => Next::Pause(Plan { version: self.timeline.version(), ..plan }),
        }
    }

    /// The attempt holds the slot afterwards, unless the slot is due and starts.
    fn decide(&mut self, attempt: &mut Attempt, now: i64) -> Result<Plan, Refused> {
        loop {
            self.prefer_returned(attempt);
            let held = attempt.held;
            let position =
                held.map_or_else(|| self.offered(attempt.slots), |claimed| claimed.position);
            let plan = self.plan(position, now);
            if let Err(refused) = self.check_plan(attempt, &plan) {
                attempt.held.take().iter().for_each(|claimed| self.make_free(claimed));
                return Err(refused);
            }
            attempt.held = held.or_else(|| self.take(position, attempt.slots));
            let Some(claimed) = attempt.held else { continue };
            if !plan.is_due() {
                return Ok(plan);
            }
            attempt.held = None;
            self.timeline.held.leave(&claimed);
            match self.locked.schedule.start(claimed.position, claimed.slots, now) {
                Fate::Starts => return Ok(plan),
                Fate::Skipped => self.skip(&claimed, now),
            }
        }
    }

    fn check_plan(&self, attempt: &Attempt, plan: &Plan) -> Result<(), Refused> {
        if self.locked.schedule.ends_before(before(after(plan.position, attempt.slots))) {
            return Err(Refused::Finished);
        }
        if attempt.held.is_none() && attempt.slots > 1 && self.is_too_far(plan.position) {
            return Err(Refused::TooFarAhead);
        }
        if plan.can_start_by(attempt.deadline) { Ok(()) } else { Err(plan.refusal()) }
    }

    fn refuse_if_closed(&mut self, held: &mut Option<Claimed>) -> Result<(), Ended> {
        if !self.locked.is_closed {
            return Ok(());
        }
        held.take().iter().for_each(|claimed| self.make_free(claimed));
        self.publish(self.locked.latest_reading);
        Err(Ended::Closed)
    }

    fn now(&mut self, clock: &dyn Clock) -> i64 {
        let now = self.timeline.now(clock).signed();
        self.locked.latest_reading = self.locked.latest_reading.max(now);
        self.locked.latest_reading
    }

    /// There is no version yet: the schedule may still have to be published. The due time does not depend on `now`.
    fn plan(&self, position: u64, now: i64) -> Plan {
        let schedule = &self.locked.schedule;
        let release = match schedule.release(position) {
            _ if schedule.is_paused() => Release::Paused,
            i64::MAX => Release::Unknown,
            moment => Release::At(moment),
        };
        let due = match release {
            Release::At(moment) => moment.saturating_sub(self.timeline.sleep_threshold_ns),
            Release::Paused | Release::Unknown => i64::MAX,
        };
        Plan {
            version: 0,
            now,
            position,
            // A slot whose number is not known yet is not due yet.
            slot: schedule.slot(position).unwrap_or(u64::MAX),
            intended: schedule.intended(position),
            release,
            due,
            interval_ns: if due > now { schedule.interval_ns(position, now) } else { 0 },
            tolerated_ns: schedule.policy().tolerated_ns(),
        }
    }

    /// A row of two slots or more contains no slots that were given back.
    fn offered(&self, slots: u64) -> u64 {
        let returned = self.locked.returned.earliest().filter(|_| slots == 1);
        returned.unwrap_or_else(|| self.timeline.next())
    }

    fn take(&mut self, position: u64, slots: u64) -> Option<Claimed> {
        let claimed = Claimed::new(position, slots);
        if slots == 1 && self.locked.returned.earliest() == Some(position) {
            self.locked.returned.take_earliest();
            return Some(claimed);
        }
        self.timeline.exchange(position, claimed.end()).then_some(claimed)
    }

    fn is_too_far(&self, position: u64) -> bool {
        ticks_between(self.locked.schedule.reached(self.locked.latest_reading), position) > RANGE
    }

    pub(super) fn claim(&mut self, slots: u64, clock: &dyn Clock) -> Result<Claimed, Refused> {
        self.refuse_if_closed(&mut None)?;
        let now = self.now(clock);
        self.resume_on_use(now);
        let mut claimed = loop {
            let position = self.offered(slots);
            if self.locked.schedule.ends_before(before(after(position, slots))) {
                return Err(Refused::Finished);
            }
            if slots > 1 && self.is_too_far(position) {
                return Err(Refused::TooFarAhead);
            }
            if let Some(claimed) = self.take(position, slots) {
                break claimed;
            }
        };
        self.timeline.held.enter(&mut claimed);
        self.publish(now);
        Ok(claimed)
    }

    pub(super) fn confirm(&mut self, claimed: Claimed) -> Result<Claimed, Refused> {
        if let Err(ended) = self.check_end(claimed.position) {
            self.give_back(&claimed);
            return Err(ended.into());
        }
        self.publish(self.locked.latest_reading);
        Ok(claimed)
    }

    pub(super) fn is_finished(&self) -> bool {
        self.locked.schedule.ends_before(self.offered(1))
    }

    pub(super) fn due_after(&self, slots: u64) -> Result<i64, Ended> {
        let returned = &self.locked.returned;
        let behind = || after(self.timeline.next(), slots - returned.slots());
        let position = returned.nth(slots).unwrap_or_else(behind);
        self.check_end(position)?;
        Ok(self.plan(position, 0).due)
    }

    pub(super) fn row_due(&self, slots: u64) -> Result<i64, Ended> {
        let position = self.offered(slots);
        self.check_end(before(after(position, slots)))?;
        Ok(self.plan(position, 0).due)
    }

    fn check_end(&self, position: u64) -> Result<(), Ended> {
        match &*self.locked {
            locked if locked.is_closed => Err(Ended::Closed),
            locked if locked.schedule.ends_before(position) => Err(Ended::Finished),
            _ => Ok(()),
        }
    }

    fn prefer_returned(&mut self, attempt: &mut Attempt) {
        if let Some(claimed) = &mut attempt.held
            && !attempt.is_fixed
            && let Some(earliest) = self.locked.returned.earliest()
            && ticks_between(earliest, claimed.position) > 0
        {
            self.locked.returned.take_earliest();
            let later = std::mem::replace(claimed, Claimed::new(earliest, 1));
            self.make_free(&later);
        }
    }

    fn skip(&mut self, claimed: &Claimed, now: i64) {
        self.locked.skipped += claimed.slots;
        self.skip_late(now);
    }

    fn skip_late(&mut self, now: i64) {
        loop {
            let next = self.timeline.next();
            self.locked.schedule.cut_to_range(next, now);
            let Some(target) = self.locked.schedule.skip_target(next, now) else { break };
            if self.timeline.exchange(next, target) {
                self.locked.skipped += slots_between(next, target);
                self.locked.schedule.skipped_to(target, now);
                self.follow_arrivals(target, now);
                self.wake_moved();
            }
        }
        let returned = self.locked.returned.earliest();
        if let Some(target) =
            returned.and_then(|earliest| self.locked.schedule.skip_target(earliest, now))
        {
            self.locked.skipped += self.locked.returned.take_before(target);
        }
    }

    pub(super) fn give_back(&mut self, claimed: &Claimed) {
        self.make_free(claimed);
        self.publish(self.locked.latest_reading);
    }

    fn make_free(&mut self, claimed: &Claimed) {
        self.timeline.held.leave(claimed);
        if self.unclaim(claimed.position, claimed.end()) {
            if let Some((start, end)) = self.locked.returned.last_range()
                && self.unclaim(start, end)
            {
                self.locked.returned.take_last_range();
            }
            // Threads need no wake-up, because each has a slot. Tasks that wait for a change have no slot.
            self.wake_ups.and(self.timeline.sleepers.watching());
            return;
        }
        self.locked.returned.put(claimed.position, claimed.end());
        // This comes before the sleepers are read, so that a caller that is about to sleep checks the schedule again.
        self.timeline.published.withdraw();
        self.wake_ups.and(self.timeline.sleepers.latest_behind(claimed.position, claimed.slots));
    }

    /// Returns false if later slots have been claimed, or if the slot at `start` or a later one counts as started.
    fn unclaim(&mut self, start: u64, end: u64) -> bool {
        // If the slot at `start` or a later one has started, it may have moved slots.
        if !self.locked.schedule.is_unsettled(start) {
            return false;
        }
        // The slot's next owner must not start with the reading at which the slot was first seen to be due: its wait
        // time would be too short. The published state must therefore no longer show the slot as due.
        let version = self.timeline.version();
        let is_drawn = self.timeline.drawn.as_ref().is_some_and(|drawn| drawn.has(start, version));
        if is_drawn || self.timeline.published.is_known_due(start) {
            self.timeline.published.withdraw();
        }
        self.timeline.exchange(end, start)
    }

    pub(super) fn change(&mut self, clock: &dyn Clock, edit: impl FnOnce(&mut Schedule, i64)) {
        // This comes before the clock is read, so that no slot starts by the old schedule with a later reading.
        self.timeline.published.withdraw();
        let now = self.now(clock);
        let next = self.timeline.next();
        let was_open_loop = self.locked.schedule.policy().is_open_loop();
        edit(&mut self.locked.schedule, now);
        if was_open_loop && !self.locked.schedule.policy().is_open_loop() {
            self.locked
                .schedule
                .settle_before(next, now.saturating_add(self.timeline.sleep_threshold_ns));
        }
        self.tidy(now);
        self.wake_moved();
        self.publish_keeping_pace(now);
    }

    /// While the pacer is paused, only slots after the end are a reason to wake sleepers and tasks.
    fn wake_moved(&mut self) {
        // This comes before the sleepers are read, so that a caller that is about to sleep checks the schedule again.
        self.timeline.published.withdraw();
        let schedule = &self.locked.schedule;
        let ends_before = |position| schedule.ends_before(position);
        let release =
            |position| if ends_before(position) { i64::MIN } else { schedule.release(position) };
        let sleepers = &self.timeline.sleepers;
        self.wake_ups.and(if schedule.is_paused() {
            sleepers.behind_end(ends_before)
        } else {
            sleepers.moved(release)
        });
    }

    pub(super) fn close(&mut self, clock: &dyn Clock) {
        let now = self.now(clock);
        self.locked.is_closed = true;
        self.publish(now);
        self.wake_ups.and(self.timeline.sleepers.all());
    }

    pub(super) fn release(&self, claimed: &Claimed) -> Result<Release, Ended> {
        self.check_end(before(claimed.end()))?;
        Ok(self.plan(claimed.position, 0).release)
    }

    pub(super) fn plan_of(&mut self, claimed: &Claimed, clock: &dyn Clock) -> Result<Plan, Ended> {
        self.check_end(before(claimed.end()))?;
        let now = self.now(clock);
        Ok(Plan { version: self.timeline.version(), ..self.plan(claimed.position, now) })
    }

    pub(super) fn schedule(&self) -> &Schedule {
        &self.locked.schedule
    }

    pub(super) fn spacing(&self) -> Spacing {
        let schedule = &self.locked.schedule;
        let interval_ns = schedule.interval_ns(self.timeline.next(), self.locked.latest_reading);
        Spacing { interval_ns, tolerated_ns: schedule.policy().tolerated_ns() }
    }
}
