//! Claims and starts without the lock: an open loop, in which no start moves another.

use super::attempt::AskLock;
use super::window::{Run, Snapshot};
use super::{Attempt, Claimed, EndedPause, LaneRun, Next, Pace, Plan, Timeline};
use crate::Grant;
use crate::clock::Clock;
use crate::position::{after, slots_between};
use std::ops::Range;

/// The lock's counts are brought up to date about this often while slots are claimed without it.
const UPKEEP_NS: i64 = 10_000_000;

impl Attempt {
    /// Starts the slot that is held, when the pause by this plan has ended at the reading `now`. This
    /// is the shortest way, because a caller that paused for an exact moment wants to start at it.
    /// None if the plan is outdated, if it says that the slot is not due, or while the lock decides. After a
    /// start the attempt must not be used again: `held` still has the slot.
    #[inline]
    pub(crate) fn start_planned(
        &self,
        timeline: &Timeline,
        plan: &Plan,
        now: i64,
    ) -> Option<Grant> {
        if !timeline.published.has_piece_at(plan.version) || now < plan.due {
            return None;
        }
        timeline.held.leave(self.held.as_ref()?);
        timeline.published.report(now);
        Some(timeline.grant(&Plan { now, ..*plan }))
    }

    /// Claims and starts the next slot, or starts the held one, if it is due; otherwise keeps it and returns
    /// the plan.
    pub(super) fn go_on_open(
        &mut self,
        timeline: &Timeline,
        clock: &dyn Clock,
    ) -> Result<Next, AskLock> {
        // A row has to be claimed under the lock, which makes sure that positions don't wrap.
        if self.slots != 1 && self.held.is_none() {
            return Err(AskLock);
        }
        loop {
            let snapshot = timeline.published.snapshot().ok_or(AskLock)?;
            let now = timeline.reading(&snapshot, self.pause, clock).ok_or(AskLock)?;
            let position = self.held.map_or_else(|| timeline.next(), |claimed| claimed.position);
            let plan = timeline.plan_open(&snapshot, position, now).ok_or(AskLock)?;
            if !plan.can_start_by(self.deadline) {
                self.give_up(timeline, &plan);
                return Ok(Next::Refuse(plan.refusal()));
            }
            if self.held.is_some() || timeline.exchange(position, after(position, 1)) {
                let claimed = self.held.get_or_insert(Claimed::new(position, 1));
                if !plan.is_due() {
                    timeline.keep_open(claimed, self.is_fixed, &plan);
                    return Ok(Next::Pause(plan));
                }
                timeline.start_open(claimed, &snapshot, now);
                self.held = None;
                return Ok(Next::Start(timeline.grant(&plan)));
            }
            // Another thread has claimed that slot meanwhile.
        }
    }

    /// What is held goes back, because by this plan it can't start by the deadline.
    fn give_up(&mut self, timeline: &Timeline, plan: &Plan) {
        if let Some(claimed) = self.held.take() {
            // So that the next caller who tries does not claim one too.
            timeline.published.report_at(claimed.position, plan.now);
            timeline.give_back(&claimed);
        }
    }
}

impl Timeline {
    /// What is claimed starts at the reading `now`.
    #[inline]
    fn start_open(&self, claimed: &Claimed, snapshot: &Snapshot, now: i64) {
        self.held.leave(claimed);
        let last = self.published.report_and_advance(snapshot, claimed.end(), now);
        self.upkeep(last..now, now);
    }

    /// Keeps what was claimed for its caller, by a plan for later. A caller that keeps its slot may come back
    /// without having slept, so its slot is entered as held. All others are known to the sleepers.
    #[inline]
    fn keep_open(&self, claimed: &mut Claimed, is_fixed: bool, plan: &Plan) {
        if is_fixed {
            self.held.enter(claimed);
        }
        self.published.report_at(claimed.end(), plan.now);
        // There is time for it here, so that the start does not have to do it.
        self.upkeep(plan.due.saturating_sub(plan.interval_ns)..plan.due, plan.now);
    }

    /// A reading of the clock that belongs to this snapshot: the one that ended the pause, if that
    /// was planned by this version. None if the schedule changes meanwhile, because a reading that
    /// was made under an older schedule says nothing about this one.
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

    /// Claims slots that are due for a lane: as many as the lane takes while a reading of the clock
    /// is young, and at least one. Returns that reading, too. None if no slot is due, the run would begin
    /// at the anchor, or the lock has to decide.
    pub(crate) fn claim_run(
        &self,
        pace: Pace,
        lane: &LaneRun,
        clock: &dyn Clock,
    ) -> Option<(Run, i64)> {
        let snapshot = self.published.snapshot()?;
        let now = self.reading(&snapshot, None, clock)?;
        let most = pace.allowance(now).max(1);
        let first_ahead = snapshot.first_ahead(now);
        loop {
            let start = self.next();
            let slots = slots_between(start, first_ahead).min(most);
            // The lock decides about a slot whose lateness is beyond the range, or that is not on this piece.
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

    /// Brings the lock's counts up to date if `part_ns` goes from one span of [`UPKEEP_NS`] into the next.
    /// The parts of all callers cover all time, so usually somebody does it once per span. It gives up if
    /// another thread has the lock: nothing waits for the counts, and callers may need the lock.
    fn upkeep(&self, part_ns: Range<i64>, now: i64) {
        if part_ns.start / UPKEEP_NS != part_ns.end / UPKEEP_NS
            && let Some(mut entry) = self.try_under_lock()
        {
            entry.upkeep(now);
        }
    }

    /// The plan for the slot at `position`; none if this snapshot can't tell.
    #[inline]
    fn plan_open(&self, snapshot: &Snapshot, position: u64, now: i64) -> Option<Plan> {
        let intended = snapshot.intended_within(position, now)?;
        Some(Plan {
            version: snapshot.version,
            now,
            position,
            slot: snapshot.slot(position),
            intended,
            release: intended,
            due: intended.saturating_sub(self.lead_ns),
            is_paused: false,
            interval_ns: snapshot.interval_ns(),
            tolerated_ns: i64::MAX,
        })
    }
}
