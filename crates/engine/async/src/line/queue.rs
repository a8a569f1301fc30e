//! Stores the tasks in the queue, which of them have been called, and the line's measurements.
//!
//! A task *comes* when it is polled and its slot is not due: it *stands* in the queue, *uncalled*. The line *calls* it
//! by waking it. A called task keeps its position, and is not called again until it comes. The first uncalled task
//! *leads*. See the documentation of `line.rs` for the bell, the timer and the watch.

use crate::waking::{Holding, Waking};
use nanopace::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::task::Waker;
use std::time::Duration;

/// The assumed cost of setting the timer, until the cost has been measured.
const SET_COST_AT_FIRST: Duration = Duration::from_micros(5);

#[derive(Debug)]
pub(super) struct Queue {
    /// All tasks in the queue, by ticket.
    pub(super) waiting: BTreeMap<u64, Waiting>,
    /// The tickets of the uncalled tasks. The first one leads.
    pub(super) uncalled: BTreeSet<u64>,
    /// The deadlines of the uncalled tasks that have one, with their tickets.
    pub(super) deadlines: BTreeSet<(Nanos, u64)>,
    /// The uncalled tasks that want several slots, ordered by the number of slots.
    pub(super) rows: BTreeSet<(u32, u64)>,
    /// The tasks that wait until their claims are due. They are not in the queue.
    pub(super) claims: BTreeMap<Call, Waker>,
    pub(super) last_ticket: u64,
    /// Whether the next change rings the bell.
    pub(super) is_watched: bool,
    /// The time at which a task in the queue last got its slot.
    pub(super) started: Nanos,
    /// The time at which the timer rings the bell next. Zero if it is not set.
    pub(super) alarm: Nanos,
    /// The smoothed cost of setting the timer.
    pub(super) set_cost: Duration,
    pub(super) waking: Waking,
    pub(super) holding: Holding,
}

#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) waker: Waker,
    wish: Wish,
}

/// The number of slots and the deadline of a waiting task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) slots: u32,
    pub(crate) deadline: Nanos,
}

/// The due time of a claim, at which its task has to be called, and a unique number.
pub(crate) type Call = (Nanos, u64);

/// A task's position in the queue.
#[derive(Debug)]
pub(crate) struct Ticket(pub(super) u64);

impl Queue {
    pub(super) fn new() -> Queue {
        Queue {
            waiting: BTreeMap::new(),
            uncalled: BTreeSet::new(),
            deadlines: BTreeSet::new(),
            rows: BTreeSet::new(),
            claims: BTreeMap::new(),
            last_ticket: 0,
            is_watched: false,
            started: Nanos::ZERO,
            alarm: Nanos::ZERO,
            set_cost: SET_COST_AT_FIRST,
            waking: Waking::default(),
            holding: Holding::default(),
        }
    }

    /// Returns whether no task waits for a call.
    pub(super) fn is_idle(&self) -> bool {
        self.uncalled.is_empty() && self.claims.is_empty()
    }

    /// Returns whether the next call waits for a change of the schedule, because the time of the call is not known,
    /// for example while the pacer is paused.
    pub(super) fn waits_for_a_change(&self) -> bool {
        self.alarm == Nanos::ZERO && self.uncalled.len() == self.waiting.len()
    }

    /// Returns whether a task has been called and has not come, while other tasks wait for their calls.
    pub(super) fn waits_for_a_task(&self) -> bool {
        !self.uncalled.is_empty() && self.uncalled.len() < self.waiting.len()
    }

    pub(super) fn admit(&mut self) -> Ticket {
        self.last_ticket += 1;
        Ticket(self.last_ticket)
    }

    /// Adds a task to the queue, uncalled. If it was in the queue with another waker, returns that waker.
    pub(super) fn stand(&mut self, number: u64, wish: Wish, waker: &Waker) -> Option<Waker> {
        self.uncalled.insert(number);
        if wish.deadline != Nanos::MAX {
            self.deadlines.insert((wish.deadline, number));
        }
        if wish.slots > 1 {
            self.rows.insert((wish.slots, number));
        }
        match self.waiting.get(&number) {
            Some(waiting) if waiting.waker.will_wake(waker) => None,
            _ => {
                let waiting = Waiting { waker: waker.clone(), wish };
                self.waiting.insert(number, waiting).map(|earlier| earlier.waker)
            }
        }
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<Waker> {
        self.mark_called(number);
        self.waiting.remove(&number).map(|waiting| waiting.waker)
    }

    /// Records that the task is called: it is not called again until it comes.
    pub(super) fn mark_called(&mut self, number: u64) -> Option<&Waiting> {
        self.uncalled.remove(&number);
        let waiting = self.waiting.get(&number)?;
        self.deadlines.remove(&(waiting.wish.deadline, number));
        self.rows.remove(&(waiting.wish.slots, number));
        Some(waiting)
    }

    /// Records that the bell has rung. Returns whether the time for which the timer was set has come.
    pub(super) fn ring_alarm(&mut self, now: Nanos) -> bool {
        let was_due = self.alarm != Nanos::ZERO && self.alarm <= now;
        if was_due {
            self.waking.learn(now - self.alarm);
            self.alarm = Nanos::ZERO;
        }
        was_due
    }

    /// Returns the number of slots that the task wants.
    pub(super) fn slots(&self, number: u64) -> u32 {
        self.waiting.get(&number).map_or(1, |waiting| waiting.wish.slots)
    }

    /// Returns the first task that wants one slot.
    pub(super) fn first_of_one(&self) -> Option<u64> {
        self.uncalled.iter().copied().find(|&number| self.slots(number) <= 1)
    }

    pub(super) fn leads(&self, number: u64) -> bool {
        self.uncalled.first() == Some(&number)
    }

    /// Returns the earliest deadline of all tasks that have not been called.
    pub(super) fn deadline(&self) -> Nanos {
        self.deadlines.first().map_or(Nanos::MAX, |&(deadline, _)| deadline)
    }
}
