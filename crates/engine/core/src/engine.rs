//! Combines a timeline, a clock and a way to pause.
//!
//! `start_claimed`, `start_next` and similar functions fill in a grant that their caller has made, and are never
//! inlined. If they returned the grant, the compiler would pass the grants of the hot path through memory, too.

use crate::lease::Lease;
use crate::pause::{self, CallerPause, Pausing};
use crate::schedule::Schedule;
use crate::timeline::{Attempt, Claimed, Next, NotGranted, Plan, Timeline};
use crate::{Clock, Ended, Grant, Nanos, Refused, Shard, ShardError};
use std::panic::{RefUnwindSafe, UnwindSafe};

#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) timeline: Timeline,
    pub(crate) clock: Box<dyn Clock>,
    pub(crate) pausing: Pausing,
}

// A panic of the clock or of a waker leaves the schedule consistent: under the lock, the clock is read before the
// schedule is changed, and no waker is woken. A user's curve or recording must not panic.
impl UnwindSafe for Engine {}
impl RefUnwindSafe for Engine {}

impl Engine {
    /// Starts the slot at `position` when it is due, or an earlier slot that was given back.
    #[cold]
    #[inline(never)]
    pub(crate) fn start_claimed(&self, position: u64, grant: &mut Grant) -> Result<(), Ended> {
        let attempt = Attempt::with(Claimed::new(position, 1));
        *grant = self.start(attempt).map_err(Refused::for_good)?;
        Ok(())
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn start_next(&self, grant: &mut Grant) -> Result<(), Ended> {
        match self.timeline.claim_bent() {
            Ok(bent) => *grant = bent,
            Err(NotGranted::Claimed(position)) => return self.start_claimed(position, grant),
            Err(NotGranted::NotClaimed) => return self.start_any(grant),
        }
        Ok(())
    }

    #[inline(never)]
    fn start_any(&self, grant: &mut Grant) -> Result<(), Ended> {
        *grant = self.start(Attempt::one()).map_err(Refused::for_good)?;
        Ok(())
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn start_claimed_if_due(
        &self,
        position: u64,
        grant: &mut Grant,
    ) -> Result<(), Refused> {
        let mut attempt = Attempt::if_due(1);
        attempt.held = Some(Claimed::new(position, 1));
        *grant = self.start(attempt)?;
        Ok(())
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn start_next_if_due(&self, grant: &mut Grant) -> Result<(), Refused> {
        match self.timeline.try_claim_bent() {
            Ok(bent) => *grant = bent,
            Err(NotGranted::Claimed(position)) => {
                return self.start_claimed_if_due(position, grant);
            }
            Err(NotGranted::NotClaimed) => return self.start_any_if_due(grant),
        }
        Ok(())
    }

    #[inline(never)]
    fn start_any_if_due(&self, grant: &mut Grant) -> Result<(), Refused> {
        *grant = self.start(Attempt::if_due(1))?;
        Ok(())
    }

    /// Held slots are not exchanged for earlier ones that were given back. Slots that can't start by `limit` stay held.
    /// With a limit of `i64::MIN`, only slots that are due now start.
    pub(crate) fn start_kept(
        &self,
        held: &mut Option<Claimed>,
        limit: i64,
    ) -> Result<Grant, Refused> {
        let mut attempt = held.map_or_else(Attempt::one, Attempt::with_fixed);
        attempt.is_fixed = true;
        let started = self.start_by(limit, attempt);
        *held = started.as_ref().err().and_then(|(_, kept)| *kept);
        started.map_err(|(refused, _)| refused)
    }

    pub(crate) fn pause_kept(&self, claimed: Claimed, limit: i64) {
        if let Ok(plan) = self.timeline.plan(&claimed, &*self.clock)
            && !plan.is_due()
        {
            self.pause(&Attempt::with_fixed(claimed), &plan, limit);
        }
    }

    pub(crate) fn start(&self, attempt: Attempt) -> Result<Grant, Refused> {
        self.start_by(i64::MAX, attempt).map_err(|(refused, _)| refused)
    }

    /// If the slots may not start by `limit`, the error contains the slots that the attempt keeps.
    fn start_by(
        &self,
        limit: i64,
        mut attempt: Attempt,
    ) -> Result<Grant, (Refused, Option<Claimed>)> {
        loop {
            let plan = match self.timeline.go_on(&mut attempt, &*self.clock) {
                Next::Start(grant) => return Ok(grant),
                Next::Refuse(refused) => return Err((refused, None)),
                Next::Pause(plan) if plan.now >= limit => {
                    return Err((plan.refusal(), attempt.held));
                }
                Next::Pause(plan) => plan,
            };
            let now = self.pause(&attempt, &plan, limit).signed();
            attempt.pause = Some(plan.ended(now));
            attempt = match attempt.start_planned(&self.timeline, &plan, now) {
                Ok(grant) => return Ok(grant),
                Err(attempt) => attempt,
            };
        }
    }

    fn pause(&self, attempt: &Attempt, plan: &Plan, limit: i64) -> Nanos {
        let Engine { timeline, clock, pausing } = self;
        pause::run(&CallerPause { timeline, clock: &**clock, pausing, attempt, plan, limit })
    }

    pub(crate) fn change(&self, edit: impl FnOnce(&mut Schedule, i64)) {
        self.timeline.change(&*self.clock, edit);
    }

    pub(crate) fn set_shard(&self, shard: Shard, from: u64) -> Result<(), ShardError> {
        self.timeline.set_shard(&*self.clock, shard, from).then_some(()).ok_or(ShardError::TooLate)
    }

    pub(crate) fn lease(&self, from: u64, leases: &[Lease]) -> Result<(), ShardError> {
        if !leases.is_sorted_by_key(|lease| lease.until) {
            return Err(ShardError::Order);
        }
        let is_leased = self.timeline.lease(&*self.clock, from, leases);
        is_leased.then_some(()).ok_or(ShardError::TooLate)
    }

    pub(crate) fn lease_rest(&self, from: u64, leases: &[Lease]) -> u64 {
        self.timeline.lease_rest(&*self.clock, from, leases)
    }
}
