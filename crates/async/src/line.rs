//! The line of tasks that wait for slots.
//!
//! A task that finds a slot due takes it at once and never stands in line. The others stand in line
//! in the order in which they came, and the first one *leads*: the timer is set to when the next
//! slot is due, and the pacer's watch reports changes, both with the leader's waker. A leader that
//! leaves, because it has its slot or because its future was dropped, hands the lead to the next
//! task: it sets the timer and the watch for that one. So a start takes one wake-up, and a line has
//! one timer whatever its length.
//!
//! Nobody in line holds a slot, so nothing has to be given back when a task is cancelled, and a
//! slot that is due goes to whichever task runs first.
//!
//! # Nothing is forgotten
//!
//! The leader, or whoever makes it one, sets the watch first and looks at the schedule then: a
//! change that it has not seen wakes it. Who is first in line changes under the line's lock only,
//! and whoever changes it sets timer and watch for the new first one before letting go of the lock.
//! A leader that is woken and polled looks at the schedule again; one that is woken and dropped
//! hands over. Models: `the_lead_is_handed_over`, `a_cancelled_leader_hands_over`,
//! `a_close_ends_the_line`, `a_change_reaches_the_leader`.

use crate::sync::{Mutex, MutexGuard};
use crate::timer::Timer;
use nanopace::{Closed, Nanos, Pacer, Watch};
use std::collections::BTreeMap;
use std::task::Waker;
use std::time::Duration;

/// With less than this left a task yields to its runtime instead of having the timer set: setting
/// it and waking take longer.
const YIELD_WITHIN: Duration = Duration::from_micros(20);

/// What a wake-up costs, in terms of setting the timer, with the wake-ups of other threads that
/// start what the leader hands out. With 3, the wake-up alone, oha needed a fifth more processor
/// time at 100 k/s than with its own timer of 1 ms; from 6 on the difference was in the noise.
const WAKE_PER_SET: u32 = 12;

/// What setting the timer takes, until that has been measured.
const SET_COST_AT_FIRST: Duration = Duration::from_micros(5);

#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) pacer: Pacer,
    watch: Watch,
    timer: Box<dyn Timer>,
    queue: Mutex<Queue>,
}

#[derive(Debug)]
struct Queue {
    /// By ticket: the first one leads.
    waiting: BTreeMap<u64, Waiting>,
    next_ticket: u64,
    /// How many of the tasks that wait have a deadline.
    deadlines: usize,
    /// When a task in line last had its slot.
    started: Nanos,
    /// When the timer goes off, or went off last.
    alarm: Nanos,
    /// What setting the timer takes, smoothed.
    set_cost: Duration,
}

#[derive(Debug)]
struct Waiting {
    waker: Waker,
    deadline: Nanos,
}

/// A task's place in line.
#[derive(Debug)]
pub(crate) struct Ticket(u64);

/// A stay under the queue's lock. The tasks that have to be woken are woken after it has ended, and
/// wakers are dropped then: either may run code of a task, which may want the lock.
struct Stay<'l> {
    line: &'l Line,
    // Dropped in this order.
    queue: MutexGuard<'l, Queue>,
    woken: Woken,
    dropped: Option<Waiting>,
}

#[derive(Default)]
struct Woken(Vec<Waker>);

impl Drop for Woken {
    fn drop(&mut self) {
        self.0.drain(..).for_each(Waker::wake);
    }
}

impl Line {
    pub(crate) fn new(pacer: Pacer, timer: Box<dyn Timer>) -> Line {
        let queue = Queue {
            waiting: BTreeMap::new(),
            next_ticket: 0,
            deadlines: 0,
            started: Nanos::ZERO,
            alarm: Nanos::ZERO,
            set_cost: SET_COST_AT_FIRST,
        };
        Line { watch: pacer.watch(), pacer, timer, queue: Mutex::new(queue) }
    }

    /// Stands in line, or stays there with another waker. True for the leader: its watch has been
    /// set, and it has to look at the schedule once more before it sleeps.
    pub(crate) fn stand(
        &self,
        ticket: &mut Option<Ticket>,
        deadline: Nanos,
        waker: &Waker,
    ) -> bool {
        let mut stay = self.enter();
        let Ticket(number) = *ticket.get_or_insert_with(|| stay.queue.admit(deadline));
        let waiting = Waiting { waker: waker.clone(), deadline };
        stay.dropped = stay.queue.waiting.insert(number, waiting);
        let leads = stay.queue.is_first(number);
        if leads {
            self.watch.set(waker);
        }
        leads
    }

    /// The leader has been refused until `due`, and is to be woken then.
    pub(crate) fn sleep(&self, due: Nanos) {
        self.enter().wake_leader_at(due);
    }

    /// Leaves the line, with a slot that has started or without. If this was the leader, the next
    /// one leads.
    pub(crate) fn leave(&self, ticket: &mut Option<Ticket>, started: Option<Nanos>) {
        let Some(Ticket(number)) = ticket.take() else { return };
        let mut stay = self.enter();
        let led = stay.queue.is_first(number);
        stay.dropped = stay.queue.remove(number);
        stay.queue.started = started.unwrap_or(stay.queue.started);
        if led {
            stay.hand_over();
        }
    }

    fn enter(&self) -> Stay<'_> {
        let queue = self.queue.lock();
        Stay { line: self, queue, woken: Woken::default(), dropped: None }
    }
}

impl Stay<'_> {
    /// The first task in line leads from now on.
    fn hand_over(&mut self) {
        let Some(first) = self.queue.first() else {
            self.line.watch.clear();
            return;
        };
        // Before the schedule is looked at: a change that comes after the look wakes the leader.
        self.line.watch.set(&first.waker);
        match self.line.pacer.next_due() {
            Ok(due) => self.wake_leader_at(due),
            Err(Closed) => self.wake(|_| true),
        }
    }

    /// Wakes the leader when the slot is due, later to save wake-ups where slots are close, earlier
    /// for somebody's deadline.
    fn wake_leader_at(&mut self, due: Nanos) {
        let now = self.line.pacer.now();
        if self.queue.deadlines > 0 {
            self.wake(|waiting| waiting.deadline <= now);
        }
        let queue = &mut *self.queue;
        let Some(first) = queue.first() else { return };
        let cost = queue.set_cost * WAKE_PER_SET;
        let at = self.line.pacer.wake_at(due, queue.started, cost).min(queue.deadline());
        if at == Nanos::MAX {
            return; // paused: a change wakes the leader
        }
        let left = at - now;
        // Where slots are so close that the pause is stretched, a task that yields would never wait.
        if left < YIELD_WITHIN && at <= due {
            self.woken.0.push(first.waker.clone());
        } else if now < queue.alarm && queue.alarm <= at {
            // It goes off in time. Setting it again takes longer than to be woken too early.
            self.line.timer.wake_another(&first.waker);
        } else {
            self.line.timer.set(left, &first.waker);
            queue.alarm = at;
            queue.set_cost = (queue.set_cost * 7 + (self.line.pacer.now() - now)) / 8;
        }
    }

    fn wake(&mut self, is_meant: impl Fn(&Waiting) -> bool) {
        let meant = self.queue.waiting.values().filter(|waiting| is_meant(waiting));
        self.woken.0.extend(meant.map(|waiting| waiting.waker.clone()));
    }
}

impl Queue {
    fn admit(&mut self, deadline: Nanos) -> Ticket {
        self.deadlines += usize::from(deadline != Nanos::MAX);
        self.next_ticket += 1;
        Ticket(self.next_ticket)
    }

    fn remove(&mut self, number: u64) -> Option<Waiting> {
        let waiting = self.waiting.remove(&number)?;
        self.deadlines -= usize::from(waiting.deadline != Nanos::MAX);
        Some(waiting)
    }

    fn is_first(&self, number: u64) -> bool {
        self.waiting.first_key_value().is_some_and(|(&first, _)| first == number)
    }

    fn first(&self) -> Option<&Waiting> {
        self.waiting.first_key_value().map(|(_, waiting)| waiting)
    }

    /// The earliest deadline of all tasks that wait.
    fn deadline(&self) -> Nanos {
        if self.deadlines == 0 {
            return Nanos::MAX;
        }
        self.waiting.values().map(|waiting| waiting.deadline).min().unwrap_or(Nanos::MAX)
    }
}
