//! An attempt of one caller to start an operation: the slots that it holds, its conditions, and its next step.

use crate::position::after;
use crate::release::Release;
use crate::{Grant, Nanos, Refused};

/// One or more slots in a row that a caller has claimed and not started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claimed {
    pub(crate) position: u64,
    pub(crate) slots: u64,
    /// Whether the slots have been entered in [`Held`](super::held::Held).
    pub(crate) is_entered: bool,
}

impl Claimed {
    pub(crate) fn new(position: u64, slots: u64) -> Claimed {
        Claimed { position, slots, is_entered: false }
    }

    /// The position after the last of these slots.
    pub(crate) fn end(&self) -> u64 {
        after(self.position, self.slots)
    }
}

/// Why the hot path has granted no slot.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NotGranted {
    /// The slot at this position is now claimed for the caller, but it is not known to be due.
    Claimed(u64),
    /// Nothing is claimed.
    NotClaimed,
}

/// An attempt of one caller to start an operation.
#[derive(Debug)]
pub(crate) struct Attempt {
    /// The slots that the caller has claimed and not started.
    pub(crate) held: Option<Claimed>,
    /// How many slots in a row the caller starts as one operation.
    pub(super) slots: u64,
    /// Whether the caller keeps the slots that it holds, even if an earlier slot is given back.
    pub(crate) is_fixed: bool,
    /// The caller is refused if its slot can't start by this moment.
    pub(crate) deadline: i64,
    /// The caller's last pause; none if it has not paused yet.
    pub(crate) pause: Option<EndedPause>,
}

/// A pause that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndedPause {
    /// The version of the schedule that the pause was planned by.
    pub(super) version: u64,
    /// The reading of the clock that ended the pause.
    pub(super) at: i64,
}

/// The next step of an attempt.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    /// The operation starts. Nothing is held any more.
    Start(Grant),
    /// The attempt holds a slot that is not due yet. The caller pauses by this plan, and tries again.
    Pause(Plan),
    /// Nothing can start by the deadline, or ever. Nothing is held any more.
    Refuse(Refused),
}

/// The next step has to be decided under the lock. The attempt keeps the slots that it holds.
#[derive(Debug)]
pub(super) struct AskLock;

/// When a slot may start, by the schedule at `now`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// The plan is valid as long as this is the schedule's version.
    pub(crate) version: u64,
    /// The reading of the clock that the plan was made by.
    pub(crate) now: i64,
    /// The position of the slot, or of the first slot of a row.
    pub(crate) position: u64,
    /// The number of that slot in the whole load.
    pub(super) slot: u64,
    /// When the slot is intended to start.
    pub(crate) intended: i64,
    pub(crate) release: Release,
    /// The moment from which the slot is due: its release, less the timeline's `lead_ns`.
    pub(super) due: i64,
    /// The average distance between the process's slots, in nanoseconds; zero if the slot is due and the plan was made
    /// under the lock.
    pub(crate) interval_ns: i64,
    /// The lateness up to which the policy does nothing, in nanoseconds.
    pub(crate) tolerated_ns: i64,
}

impl Attempt {
    /// An attempt to start the next `slots` slots in a row. It holds no slots yet.
    pub(crate) fn new(slots: u64, deadline: i64) -> Attempt {
        Attempt { held: None, slots, is_fixed: slots > 1, deadline, pause: None }
    }

    /// An attempt to start the next slot, without a deadline.
    pub(crate) fn one() -> Attempt {
        Attempt::new(1, i64::MAX)
    }

    /// An attempt to start the next `slots` slots in a row if they are due now. Its deadline is before any reading
    /// of the clock.
    pub(crate) fn if_due(slots: u64) -> Attempt {
        Attempt::new(slots, i64::MIN)
    }

    /// An attempt to start the slot that has been claimed. It is exchanged for an earlier slot if one is given
    /// back.
    pub(crate) fn with(claimed: Claimed) -> Attempt {
        Attempt { held: Some(claimed), ..Attempt::new(claimed.slots, i64::MAX) }
    }

    /// An attempt to start the slots that have been claimed, and not earlier ones. If they are skipped, the attempt
    /// takes the next slots instead.
    pub(crate) fn with_fixed(claimed: Claimed) -> Attempt {
        Attempt { is_fixed: true, ..Attempt::with(claimed) }
    }
}

impl Plan {
    /// This plan's pause, which has ended at the reading `at`.
    pub(crate) fn ended(&self, at: i64) -> EndedPause {
        EndedPause { version: self.version, at }
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.release == Release::Paused
    }

    /// Whether the slot is due at the reading that the plan was made by.
    pub(crate) fn is_due(&self) -> bool {
        !self.is_paused() && self.due <= self.now
    }

    /// Whether the slot can start by `deadline`. A slot that is due always can. While the pacer is paused the start is
    /// unknown, so only a deadline that has passed rules it out.
    pub(super) fn can_start_by(&self, deadline: i64) -> bool {
        if self.is_paused() { self.now < deadline } else { self.due <= deadline.max(self.now) }
    }

    /// The error for a caller whose slot can't start by its deadline.
    pub(crate) fn refusal(&self) -> Refused {
        if self.is_paused() {
            Refused::Paused
        } else {
            Refused::NotUntil(Nanos::from_signed(self.due))
        }
    }
}
