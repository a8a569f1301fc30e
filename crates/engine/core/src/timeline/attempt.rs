//! Represents one caller's attempt to start an operation: the slots that it holds, its conditions, and its next step.

use crate::position::after;
use crate::release::Release;
use crate::{Grant, Nanos, Refused};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Claimed {
    pub(crate) position: u64,
    pub(crate) slots: u64,
    pub(crate) is_entered: bool,
}

impl Claimed {
    pub(crate) fn new(position: u64, slots: u64) -> Claimed {
        Claimed { position, slots, is_entered: false }
    }

    pub(crate) fn end(&self) -> u64 {
        after(self.position, self.slots)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum NotGranted {
    /// The slot at this position is now claimed for the caller, but it is not known to be due.
    Claimed(u64),
    NotClaimed,
}

#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) held: Option<Claimed>,
    pub(super) slots: u64,
    /// Whether the caller keeps the slots that it holds, even if an earlier slot is given back.
    pub(crate) is_fixed: bool,
    pub(crate) deadline: i64,
    pub(crate) pause: Option<EndedPause>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct EndedPause {
    pub(super) version: u64,
    pub(super) at: i64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    Start(Grant),
    /// The attempt holds a slot that is not due yet. The caller pauses by this plan, and tries again.
    Pause(Plan),
    /// The attempt can start no slot by its deadline, or at all. It no longer holds a slot.
    Refuse(Refused),
}

/// The error for a step that has to be decided under the lock. The attempt keeps its slots.
#[derive(Debug)]
pub(super) struct AskLock;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) version: u64,
    pub(crate) now: i64,
    pub(crate) position: u64,
    pub(super) slot: u64,
    pub(crate) intended: i64,
    pub(crate) release: Release,
    /// The time from which the slot is due: its release minus the timeline's `sleep_threshold_ns`.
    pub(super) due: i64,
    /// Zero if the plan was made under the lock and the slot is due.
    pub(crate) interval_ns: i64,
    /// The lateness up to which the policy has no effect, in nanoseconds.
    pub(crate) tolerated_ns: i64,
}

impl Attempt {
    pub(crate) fn new(slots: u64, deadline: i64) -> Attempt {
        Attempt { held: None, slots, is_fixed: slots > 1, deadline, pause: None }
    }

    pub(crate) fn one() -> Attempt {
        Attempt::new(1, i64::MAX)
    }

    /// The deadline is before any reading of the clock.
    pub(crate) fn if_due(slots: u64) -> Attempt {
        Attempt::new(slots, i64::MIN)
    }

    /// Creates an attempt that exchanges the claimed slot for an earlier one if one is given back.
    pub(crate) fn with(claimed: Claimed) -> Attempt {
        Attempt { held: Some(claimed), ..Attempt::new(claimed.slots, i64::MAX) }
    }

    /// If the claimed slots are skipped, the attempt claims the next slots.
    pub(crate) fn with_fixed(claimed: Claimed) -> Attempt {
        Attempt { is_fixed: true, ..Attempt::with(claimed) }
    }
}

impl Plan {
    pub(crate) fn ended(&self, at: i64) -> EndedPause {
        EndedPause { version: self.version, at }
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.release == Release::Paused
    }

    pub(crate) fn is_due(&self) -> bool {
        !self.is_paused() && self.due <= self.now
    }

    /// A slot that is due can always start. While the pacer is paused, every deadline that has not passed counts as
    /// reachable.
    pub(super) fn can_start_by(&self, deadline: i64) -> bool {
        if self.is_paused() { self.now < deadline } else { self.due <= deadline.max(self.now) }
    }

    pub(crate) fn refusal(&self) -> Refused {
        if self.is_paused() {
            Refused::Paused
        } else {
            Refused::NotUntil(Nanos::from_signed(self.due))
        }
    }
}
