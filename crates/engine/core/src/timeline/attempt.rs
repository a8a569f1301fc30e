//! Represents one caller's attempt to start an operation: the slots that it holds, its conditions, and its next step.

use crate::position::after;
use crate::release::Release;
use crate::{Grant, Nanos, Refused};

/// One or more slots in a row that a caller has claimed and not started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claimed {
    pub(crate) position: u64,
    pub(crate) slots: u64,
    /// Whether the slots have been registered in [`Held`](super::held::Held).
    pub(crate) is_entered: bool,
}

impl Claimed {
    pub(crate) fn new(position: u64, slots: u64) -> Claimed {
        Claimed { position, slots, is_entered: false }
    }

    /// Returns the position after the last of these slots.
    pub(crate) fn end(&self) -> u64 {
        after(self.position, self.slots)
    }
}

/// The reason why the hot path has granted no slot.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NotGranted {
    /// The slot at this position is now claimed for the caller, but it is not known to be due.
    Claimed(u64),
    /// No slot is claimed.
    NotClaimed,
}

/// One caller's attempt to start an operation.
#[derive(Debug)]
pub(crate) struct Attempt {
    /// The slots that the caller has claimed and not started.
    pub(crate) held: Option<Claimed>,
    /// The number of consecutive slots that the caller starts as one operation.
    pub(super) slots: u64,
    /// Whether the caller keeps the slots that it holds, even if an earlier slot is given back.
    pub(crate) is_fixed: bool,
    /// The time by which the slot has to start. If it can't, the caller is refused.
    pub(crate) deadline: i64,
    /// The caller's last pause. `None` if it has not paused yet.
    pub(crate) pause: Option<EndedPause>,
}

/// A pause that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndedPause {
    /// The version of the schedule by which the pause was planned.
    pub(super) version: u64,
    /// The reading of the clock that ended the pause.
    pub(super) at: i64,
}

/// The next step of an attempt.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    /// The operation starts. The attempt no longer holds a slot.
    Start(Grant),
    /// The attempt holds a slot that is not due yet. The caller pauses by this plan, and tries again.
    Pause(Plan),
    /// No slot can start by the deadline, or ever. The attempt no longer holds a slot.
    Refuse(Refused),
}

/// The error for a step that has to be decided under the lock. The attempt keeps the slots that it holds.
#[derive(Debug)]
pub(super) struct AskLock;

/// The time at which a slot may start, by the schedule at `now`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// The schedule's version for which the plan was made. The plan is valid while the schedule has this version.
    pub(crate) version: u64,
    /// The reading of the clock with which the plan was made.
    pub(crate) now: i64,
    /// The position of the slot, or of the first slot of a row.
    pub(crate) position: u64,
    /// The number of the slot in the whole load.
    pub(super) slot: u64,
    /// The time at which the slot is intended to start.
    pub(crate) intended: i64,
    pub(crate) release: Release,
    /// The time from which the slot is due: its release minus the timeline's `sleep_threshold_ns`.
    pub(super) due: i64,
    /// The average time between the process's slots, in nanoseconds. It is zero if the slot is due and the plan was
    /// made under the lock.
    pub(crate) interval_ns: i64,
    /// The lateness up to which the policy has no effect, in nanoseconds.
    pub(crate) tolerated_ns: i64,
}

impl Attempt {
    /// Creates an attempt to start the next `slots` slots in a row. It holds no slots yet.
    pub(crate) fn new(slots: u64, deadline: i64) -> Attempt {
        Attempt { held: None, slots, is_fixed: slots > 1, deadline, pause: None }
    }

    /// Creates an attempt to start the next slot, without a deadline.
    pub(crate) fn one() -> Attempt {
        Attempt::new(1, i64::MAX)
    }

    /// Creates an attempt to start the next `slots` slots in a row if they are due now. Its deadline is before any
    /// reading of the clock.
    pub(crate) fn if_due(slots: u64) -> Attempt {
        Attempt::new(slots, i64::MIN)
    }

    /// Creates an attempt to start a claimed slot. The slot is exchanged for an earlier one if one is given back.
    pub(crate) fn with(claimed: Claimed) -> Attempt {
        Attempt { held: Some(claimed), ..Attempt::new(claimed.slots, i64::MAX) }
    }

    /// Creates an attempt to start the claimed slots, and not earlier ones. If they are skipped, the attempt claims
    /// the next slots instead.
    pub(crate) fn with_fixed(claimed: Claimed) -> Attempt {
        Attempt { is_fixed: true, ..Attempt::with(claimed) }
    }
}

impl Plan {
    /// Returns this plan's pause, which ended at the reading `at`.
    pub(crate) fn ended(&self, at: i64) -> EndedPause {
        EndedPause { version: self.version, at }
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.release == Release::Paused
    }

    /// Returns whether the slot is due at the reading with which the plan was made.
    pub(crate) fn is_due(&self) -> bool {
        !self.is_paused() && self.due <= self.now
    }

    /// Returns whether the slot can start by `deadline`. A slot that is due always can. While the pacer is paused, the
    /// start is unknown, so only a deadline that has passed rules it out.
    pub(super) fn can_start_by(&self, deadline: i64) -> bool {
        if self.is_paused() { self.now < deadline } else { self.due <= deadline.max(self.now) }
    }

    /// Returns the error for a caller whose slot can't start by its deadline.
    pub(crate) fn refusal(&self) -> Refused {
        if self.is_paused() {
            Refused::Paused
        } else {
            Refused::NotUntil(Nanos::from_signed(self.due))
        }
    }
}
