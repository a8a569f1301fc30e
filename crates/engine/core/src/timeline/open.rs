//! Claims and starts slots without the lock in an open loop, where no start moves another slot.

use super::attempt::AskLock;
use super::window::{SlotRun, Snapshot};
use super::{Attempt, Claimed, EndedPause, LaneRun, Next, Pace, Plan, Timeline};
use crate::position::{after, slots_between};
use crate::release::Release;
use crate::{Clock, Grant};
use std::ops::Range;

/// The approximate interval at which the lock's counts are updated while slots are claimed without it.
const UPKEEP_NS: i64 = 10_000_000;

impl Attempt {
    /// The shortest path from the end of a pause to a start. `now` is the reading that ended the pause.
    #[inline]
    pub(crate) fn start_planned(
        self,
        timeline: &Timeline,
        plan: &Plan,
        now: i64,
    ) -> Result<Grant, Attempt> {
        let may_start = timeline.published.is_open_at(plan.version) && now >= plan.due;
        let Some(held) = self.held.filter(|_| may_start) else { return Err(self) };
        timeline.held.leave(&held);
        timeline.report(now);
        Ok(timeline.grant(&Plan { now, ..*plan }))
    }

    pub(super) fn go_on_open(
        &mut self,
        timeline: &Timeline,
        clock: &dyn Clock,
    ) -> Result<Next, AskLock> {
        // A row has to be claimed under the lock, which ensures that positions don't wrap.
        if self.slots != 1 && self.held.is_none() {
            return Err(AskLock);
        }
        loop {
            let snapshot = timeline.published.snapshot().ok_or(AskLock)?;
            let now = timeline.reading(&snapshot, self.pause, clock).ok_or(AskLock)?;
            let position = self.held.map_or_else(|| timeline.next(), |claimed| claimed.position);
            let plan = timeline.plan_open(&snapshot, position, now).ok_or(AskLock)?;
            if !plan.can_start_by(self.deadline) {
                return Ok(self.refuse_open(timeline, &plan));
            }
            if self.held.is_some() || timeline.exchange(position, after(position, 1)) {
                return Ok(self.follow_open(timeline, &snapshot, plan));
            }
            // Another thread has just claimed that slot.
        }
    }

    #[inline]
    fn follow_open(&mut self, timeline: &Timeline, snapshot: &Snapshot, plan: Plan) -> Next {
        let claimed = self.held.get_or_insert(Claimed::new(plan.position, 1));
        if !plan.is_due() {
            timeline.keep_open(claimed, self.is_fixed, &plan);
            return Next::Pause(plan);
        }
        timeline.start_open(claimed, snapshot, plan.now);
        self.held = None;
        Next::Start(timeline.grant(&plan))
    }

    fn refuse_open(&mut self, timeline: &Timeline, plan: &Plan) -> Next {
        if let Some(claimed) = self.held.take() {
            // The report comes first, so that the next `try_acquire`, which checks the last reported position, does not
            // claim the slot in vain.
            timeline.published.report_at(claimed.position, plan.now);
            timeline.give_back(&claimed);
        }
        Next::Refuse(plan.refusal())
    }
}

impl Timeline {
    #[inline]
    fn start_open(&self, claimed: &Claimed, snapshot: &Snapshot, now: i64) {
        self.held.leave(claimed);
        let last = self.published.report_and_advance(snapshot, claimed.end(), now);
        self.upkeep(last..now, now);
    }

    /// A caller that is fixed on its slot may come back without having slept, so the sleepers may not record its slot.
    #[inline]
    fn keep_open(&self, claimed: &mut Claimed, is_fixed: bool, plan: &Plan) {
        if is_fixed {
            self.held.enter(claimed);
        }
        self.published.report_at(claimed.end(), plan.now);
        // The upkeep for the time up to the start is done here, while the caller waits, and not at the start.
        self.upkeep(plan.due.saturating_sub(plan.interval_ns)..plan.due, plan.now);
    }

    /// Returns `None` if the schedule has changed since the snapshot: a new reading may belong to the newer schedule.
    fn reading(
        &self,
        snapshot: &Snapshot,
        pause: Option<EndedPause>,
        clock: &dyn Clock,
    ) -> Option<i64> {
        if let Some(pause) = pause
            && pause.version == snapshot.version
        {
            return Some(pause.at);
        }
        let now = self.now(clock).signed();
        (self.version() == snapshot.version).then_some(now)
    }

    /// Returns `None` if no slot is due, if the first due slot lies at the anchor of the stretch's line, or if the
    /// decision needs the lock.
    pub(crate) fn claim_run(
        &self,
        pace: Pace,
        lane: &LaneRun,
        clock: &dyn Clock,
    ) -> Option<(SlotRun, i64)> {
        let snapshot = self.published.snapshot()?;
        let now = self.reading(&snapshot, None, clock)?;
        let most = pace.allowance(now).max(1);
        let first_ahead = snapshot.first_ahead(now);
        loop {
            let start = self.next();
            let slots = slots_between(start, first_ahead).min(most);
            // A slot that is late by more than the range of positions, or not on this stretch, needs the lock.
            snapshot
                .intended_within(start, now)
                .filter(|_| slots > 0 && snapshot.has_run_from(start))?;
            if self.exchange(start, after(start, slots)) {
                if slots > 1 {
                    lane.set(Some((start, after(start, slots))));
                }
                let last = self.published.report_at(after(start, slots), now);
                self.upkeep(last..now, now);
                return Some((snapshot.run(start, slots, now), now));
            }
        }
    }

    /// The intervals `passed` of all callers together cover all time, so usually one caller does the upkeep once per
    /// [`UPKEEP_NS`]. If another thread has the lock, the counts can wait.
    fn upkeep(&self, passed: Range<i64>, now: i64) {
        if passed.start / UPKEEP_NS != passed.end / UPKEEP_NS
            && let Some(mut entry) = self.try_under_lock()
        {
            entry.upkeep(now);
        }
    }

    /// Returns `None` if the slot is not on the snapshot's stretch, or is late by more than the range of positions.
    #[inline]
    fn plan_open(&self, snapshot: &Snapshot, position: u64, now: i64) -> Option<Plan> {
        let intended = snapshot.intended_within(position, now)?;
        Some(Plan {
            version: snapshot.version,
            now,
            position,
            slot: snapshot.slot(position),
            intended,
            release: Release::At(intended),
            due: intended.saturating_sub(self.sleep_threshold_ns),
            interval_ns: snapshot.interval_ns(),
            tolerated_ns: i64::MAX,
        })
    }
}
