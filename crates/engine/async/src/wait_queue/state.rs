//! Stores the waiting tasks, which of them are asleep, and the queue's measurements.
//!
//! A task *comes* when it is polled. The first task that is asleep *leads*. `wait_queue.rs` describes tasks that are
//! asleep or woken, and the bell.

use crate::waking::{Holding, Waking};
use nanopace::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::task::Waker;
use std::time::Duration;

const SET_COST_AT_FIRST: Duration = Duration::from_micros(5);

#[derive(Debug)]
pub(super) struct State {
    pub(super) waiting: BTreeMap<u64, Waiting>,
    pub(super) asleep: BTreeSet<u64>,
    pub(super) deadlines: BTreeSet<(Nanos, u64)>,
    pub(super) rows: BTreeSet<(u32, u64)>,
    pub(super) claims: BTreeMap<ClaimKey, Waker>,
    pub(super) last_ticket: u64,
    pub(super) is_watched: bool,
    pub(super) started: Nanos,
    /// The time for which the timer was set, or zero if that ring has been handled or the timer was stopped.
    pub(super) alarm: Nanos,
    /// Whether the timer rings repeatedly, because the time for which it was set has passed and it was not set again.
    pub(super) rings_again: bool,
    pub(super) set_cost: Duration,
    pub(super) waking: Waking,
    pub(super) holding: Holding,
}

#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) waker: Waker,
    wish: Wish,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) slots: u32,
    pub(crate) deadline: Nanos,
}

/// The due time of a claim, and a unique number.
pub(crate) type ClaimKey = (Nanos, u64);

#[derive(Debug)]
pub(crate) struct Ticket(pub(super) u64);

impl State {
    pub(super) fn new() -> State {
        State {
            waiting: BTreeMap::new(),
            asleep: BTreeSet::new(),
            deadlines: BTreeSet::new(),
            rows: BTreeSet::new(),
            claims: BTreeMap::new(),
            last_ticket: 0,
            is_watched: false,
            started: Nanos::ZERO,
            alarm: Nanos::ZERO,
            rings_again: false,
            set_cost: SET_COST_AT_FIRST,
            waking: Waking::default(),
            holding: Holding::default(),
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.asleep.is_empty() && self.claims.is_empty()
    }

    pub(super) fn waits_for_a_change(&self) -> bool {
        self.alarm == Nanos::ZERO && self.asleep.len() == self.waiting.len()
    }

    pub(super) fn waits_for_a_task(&self) -> bool {
        !self.asleep.is_empty() && self.asleep.len() < self.waiting.len()
    }

    pub(super) fn admit(&mut self) -> Ticket {
        self.last_ticket += 1;
        Ticket(self.last_ticket)
    }

    pub(super) fn enqueue(&mut self, number: u64, wish: Wish, waker: &Waker) -> Option<Waker> {
        self.asleep.insert(number);
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
        self.mark_woken(number);
        self.waiting.remove(&number).map(|waiting| waiting.waker)
    }

    pub(super) fn mark_woken(&mut self, number: u64) -> Option<&Waiting> {
        self.asleep.remove(&number);
        let waiting = self.waiting.get(&number)?;
        self.deadlines.remove(&(waiting.wish.deadline, number));
        self.rows.remove(&(waiting.wish.slots, number));
        Some(waiting)
    }

    pub(super) fn ring_alarm(&mut self, now: Nanos) -> bool {
        let was_due = self.alarm != Nanos::ZERO && self.alarm <= now;
        if was_due {
            self.waking.learn(now - self.alarm);
            (self.alarm, self.rings_again) = (Nanos::ZERO, true);
        }
        was_due
    }

    pub(super) fn slots(&self, number: u64) -> u32 {
        self.waiting.get(&number).map_or(1, |waiting| waiting.wish.slots)
    }

    pub(super) fn first_of_one(&self) -> Option<u64> {
        self.asleep.iter().copied().find(|&number| self.slots(number) <= 1)
    }

    pub(super) fn leads(&self, number: u64) -> bool {
        self.asleep.first() == Some(&number)
    }

    pub(super) fn deadline(&self) -> Nanos {
        self.deadlines.first().map_or(Nanos::MAX, |&(deadline, _)| deadline)
    }
}
