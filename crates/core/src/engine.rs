//! The engine: a timeline, a clock and a way to pause, which together start operations. Pacers,
//! lanes and claims are handles to one engine.

use crate::clock::Clock;
use crate::pause::{self, Hold, Pausing};
use crate::schedule::Schedule;
use crate::stats::{StartTimes, Statistics};
use crate::timeline::{Claimed, Plan, Step, Timeline};
use crate::{Ended, Grant, Lease, Nanos, Refused, Shard, ShardError};
use std::panic::{RefUnwindSafe, UnwindSafe};

#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) timeline: Timeline,
    pub(crate) clock: Box<dyn Clock>,
    pub(crate) pausing: Pausing,
    pub(crate) statistics: Statistics,
}

// A panic can interrupt only a reading of the clock, or an addition to a histogram. Under the lock,
// the clock is read before anything is changed. A curve or a recording of the user's must not panic.
impl UnwindSafe for Engine {}
impl RefUnwindSafe for Engine {}

impl Engine {
    /// Starts a slot that has been claimed, or the next one there is.
    #[cold]
    pub(crate) fn start(&self, claimed: Option<Claimed>) -> Result<Grant, Ended> {
        self.start_one(claimed).map(|start| start.grant)
    }

    pub(crate) fn start_one(&self, claimed: Option<Claimed>) -> Result<StartTimes, Ended> {
        self.start_by(claimed, 1, i64::MAX).map_err(Refused::for_good)
    }

    /// Starts what has been claimed, or the next `slots` slots in a row, as soon as it may start;
    /// refuses if that is later than `deadline`.
    pub(crate) fn start_by(
        &self,
        mut held: Option<Claimed>,
        slots: u64,
        deadline: i64,
    ) -> Result<StartTimes, Refused> {
        let (mut first, mut woken) = (None, None);
        loop {
            match self.timeline.begin(&mut held, slots, deadline, woken, &*self.clock)? {
                Step::Start(grant) => return Ok(StartTimes::new(grant, first, woken)),
                Step::Hold(plan) => {
                    let first = *first.get_or_insert(plan);
                    let Some(claimed) = held else { continue };
                    let now = self.hold(&claimed, &plan, deadline).signed();
                    if let Some(grant) = self.timeline.start_planned(&claimed, &plan, now) {
                        return Ok(StartTimes::new(grant, Some(first), Some((plan, now))));
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
        pause::run(&hold)
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
