//! The line of tasks that wait for slots.
//!
//! A task that finds a slot due takes it at once and never stands in line. The others stand in line
//! in the order in which they came. The line has one *bell*: the timer rings it when the next slot
//! is due, and the pacer's watch rings it when the schedule changes. When it rings, the line *calls*
//! the first task, which means that it wakes it. A task that leaves, with its slot or because its
//! future was dropped, calls the next one if a slot is due, and otherwise sets the timer for it. So
//! a start takes one wake-up, and a line has one timer whatever its length.
//!
//! Nobody in line holds a slot, so nothing has to be given back when a task is cancelled, and a
//! slot that is due goes to whichever task runs first.
//!
//! # Nothing is forgotten
//!
//! * Whoever looks at the schedule for the line has set the watch before, so a change that it has
//!   not seen rings the bell. It looks under the line's lock, and sets the timer or calls a task
//!   before it lets go.
//! * A task that has been called is not called again until it comes: the next one is. A task that
//!   is called and does not come, because nobody polls its future, holds up nobody for longer than
//!   [`PATIENCE`]: the bell rings again then.
//!
//! Models: `the_lead_is_handed_over`, `a_cancelled_leader_hands_over`, `a_close_ends_the_line`,
//! `a_change_reaches_the_leader`, `a_change_reaches_the_next_leader`,
//! `a_task_that_does_not_come_is_passed_over`.

use crate::sync::{Mutex, MutexGuard};
use crate::timer::Timer;
use nanopace::{Nanos, Pacer, Watch};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};
use std::time::Duration;

/// With less than this left a task yields to its runtime instead of having the timer set: setting
/// it and waking take longer.
const YIELD_WITHIN: Duration = Duration::from_micros(20);

/// How long a task that has been called may take to come.
const PATIENCE: Duration = Duration::from_millis(10);

/// The timer is set again so often, should that take longer than it may.
const SETS: usize = 3;

/// What a wake-up costs, in terms of setting the timer, with the wake-ups of other threads that
/// start what is due then. At 100 k/s oha took 20 % more processor time than with its own timer of
/// 1 ms where this was 3, 7 % where it was 6 or 12, and 2 % where it was 24.
const WAKE_PER_SET: u32 = 12;

/// What setting the timer takes, until that has been measured.
const SET_COST_AT_FIRST: Duration = Duration::from_micros(5);

/// What took longer to set was not set all the time: the thread had lost the processor.
const MOST_SET_COST: Duration = Duration::from_micros(20);

#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) pacer: Pacer,
    watch: Watch,
    timer: Box<dyn Timer>,
    bell: Waker,
    queue: Mutex<Queue>,
}

#[derive(Debug)]
struct Queue {
    /// By ticket: all tasks that wait.
    waiting: BTreeMap<u64, Waiting>,
    /// The tickets of those that have not been called since they last came: the first one leads.
    uncalled: BTreeSet<u64>,
    /// The deadlines of those, if they have one.
    deadlines: BTreeSet<(Nanos, u64)>,
    last_ticket: u64,
    /// Whether the next change rings the bell.
    is_watched: bool,
    /// When a task in line last had its slot.
    started: Nanos,
    /// When the timer rings next; the origin if it does not.
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

/// Rings: see the essay above. It does not keep the line alive.
struct Bell(Weak<Line>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(line) = self.0.upgrade() {
            line.ring();
        }
    }
}

/// A stay under the queue's lock. The tasks that have been called are woken after it has ended, and
/// wakers are dropped then: either may run code of a task, which may want the lock.
struct Stay<'l> {
    line: &'l Line,
    // Dropped in this order.
    queue: MutexGuard<'l, Queue>,
    called: Called,
    dropped: Option<Waiting>,
}

#[derive(Default)]
struct Called(Vec<Waker>);

impl Drop for Called {
    fn drop(&mut self) {
        // If a waker panics, the others are woken while the panic goes on.
        let rest = WokenAnyway(&mut self.0);
        while let Some(waker) = rest.0.pop() {
            waker.wake();
        }
    }
}

struct WokenAnyway<'c>(&'c mut Vec<Waker>);

impl Drop for WokenAnyway<'_> {
    fn drop(&mut self) {
        self.0.drain(..).for_each(Waker::wake);
    }
}

impl Line {
    pub(crate) fn new(pacer: Pacer, timer: Box<dyn Timer>) -> Arc<Line> {
        let queue = Queue {
            waiting: BTreeMap::new(),
            uncalled: BTreeSet::new(),
            deadlines: BTreeSet::new(),
            last_ticket: 0,
            is_watched: false,
            started: Nanos::ZERO,
            alarm: Nanos::ZERO,
            set_cost: SET_COST_AT_FIRST,
        };
        Arc::new_cyclic(|line| Line {
            watch: pacer.watch(),
            pacer,
            timer,
            bell: Waker::from(Arc::new(Bell(Weak::clone(line)))),
            queue: Mutex::new(queue),
        })
    }

    /// Stands in line, or comes back to its place with another waker. False when a slot is due for
    /// it right now.
    pub(crate) fn stand(
        &self,
        ticket: &mut Option<Ticket>,
        deadline: Nanos,
        waker: &Waker,
    ) -> bool {
        let mut stay = self.enter();
        let Ticket(number) = *ticket.get_or_insert_with(|| stay.queue.admit());
        stay.dropped = stay.queue.insert(number, Waiting { waker: waker.clone(), deadline });
        let has_to_look = stay.queue.leads(number) || deadline != Nanos::MAX;
        !(has_to_look && stay.look(Some(number)))
    }

    /// Leaves the line, with a slot that has started or without.
    pub(crate) fn leave(&self, ticket: &mut Option<Ticket>, started: Option<Nanos>) {
        let Some(Ticket(number)) = ticket.take() else { return };
        let mut stay = self.enter();
        let was_meant = stay.queue.leads(number) || !stay.queue.uncalled.contains(&number);
        stay.dropped = stay.queue.remove(number);
        stay.queue.started = started.unwrap_or(stay.queue.started);
        if was_meant {
            stay.look(None);
        }
    }

    fn ring(&self) {
        let mut stay = self.enter();
        // It may have been the watch, which rings once.
        stay.queue.is_watched = false;
        if stay.queue.uncalled.is_empty() {
            stay.queue.alarm = Nanos::ZERO;
            self.timer.stop();
            return;
        }
        self.timer.went_off(&self.bell);
        let now = self.pacer.now();
        if stay.queue.alarm <= now {
            stay.queue.alarm = now + PATIENCE;
        }
        stay.look(None);
    }

    fn enter(&self) -> Stay<'_> {
        let queue = self.queue.lock();
        Stay { line: self, queue, called: Called::default(), dropped: None }
    }

    /// Timers count from when they are set. A thread that loses the processor before it has set one
    /// would set it too late by that: then it sets it again.
    fn set_timer(&self, at: Nanos) {
        for _ in 0..SETS {
            let now = self.pacer.now();
            self.timer.set(at - now, PATIENCE, &self.bell);
            if self.pacer.now() - now < YIELD_WITHIN {
                return;
            }
        }
    }
}

impl Stay<'_> {
    /// Looks at the schedule, and sees to it that the task that is to come next comes in time. True
    /// when a slot is due for `asking`, the task that looks.
    fn look(&mut self, asking: Option<u64>) -> bool {
        if self.queue.uncalled.is_empty() {
            return false;
        }
        if !self.queue.is_watched {
            // Before the look: a change that comes behind it rings the bell.
            self.line.watch.set(&self.line.bell);
            self.queue.is_watched = true;
        }
        let now = self.line.pacer.now();
        self.call_expired(now);
        let Some(first) = self.queue.uncalled.first().copied() else { return false };
        match self.line.pacer.next_due() {
            Err(_) => self.call_all(),
            Ok(due) if due <= now && asking == Some(first) => return true,
            Ok(due) if due <= now => self.call(first),
            Ok(due) => self.call_at(due, now, first),
        }
        false
    }

    /// Has the first task come when the slot is due, later to save wake-ups if slots are close,
    /// earlier for a deadline.
    fn call_at(&mut self, due: Nanos, now: Nanos, first: u64) {
        let cost = self.queue.set_cost * WAKE_PER_SET;
        let at = self.line.pacer.wake_at(due, self.queue.started, cost).min(self.queue.deadline());
        if at == Nanos::MAX {
            return; // paused: a change rings the bell
        }
        // If slots are so close that the pause is stretched, a task that yields would never wait.
        if at - now < YIELD_WITHIN && at <= due {
            self.call(first);
        } else if self.queue.alarm <= now || at < self.queue.alarm {
            self.line.set_timer(at);
            self.queue.alarm = at;
            let took = (self.line.pacer.now() - now).min(MOST_SET_COST);
            self.queue.set_cost = (self.queue.set_cost * 7 + took) / 8;
        }
        // Otherwise it rings in time. Setting it again takes longer than to be woken too early.
    }

    fn call_expired(&mut self, now: Nanos) {
        while let Some(&(deadline, number)) = self.queue.deadlines.first()
            && deadline <= now
        {
            self.call(number);
        }
    }

    fn call_all(&mut self) {
        while let Some(&first) = self.queue.uncalled.first() {
            self.call(first);
        }
    }

    fn call(&mut self, number: u64) {
        let waiting = self.queue.called(number).map(|waiting| waiting.waker.clone());
        self.called.0.extend(waiting);
    }
}

impl Queue {
    fn admit(&mut self) -> Ticket {
        self.last_ticket += 1;
        Ticket(self.last_ticket)
    }

    fn insert(&mut self, number: u64, waiting: Waiting) -> Option<Waiting> {
        self.uncalled.insert(number);
        if waiting.deadline != Nanos::MAX {
            self.deadlines.insert((waiting.deadline, number));
        }
        self.waiting.insert(number, waiting)
    }

    fn remove(&mut self, number: u64) -> Option<Waiting> {
        self.called(number);
        self.waiting.remove(&number)
    }

    /// It is not called again until it comes.
    fn called(&mut self, number: u64) -> Option<&Waiting> {
        self.uncalled.remove(&number);
        let waiting = self.waiting.get(&number)?;
        self.deadlines.remove(&(waiting.deadline, number));
        Some(waiting)
    }

    fn leads(&self, number: u64) -> bool {
        self.uncalled.first() == Some(&number)
    }

    /// The earliest deadline of all tasks that have not been called.
    fn deadline(&self) -> Nanos {
        self.deadlines.first().map_or(Nanos::MAX, |&(deadline, _)| deadline)
    }
}
