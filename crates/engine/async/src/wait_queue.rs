//! Implements the wait queue: a FIFO queue of tasks that wait for slots, with one timer.
//!
//! A task that finds a slot due claims it at once and never queues. Other tasks queue in the order in which they
//! arrive. The queue has one *bell*: the timer rings the bell when the next slot is due, and the pacer's watch rings it
//! when the schedule changes. When the bell rings and a slot is due, the queue wakes the first task that is asleep. A
//! task that leaves the queue, with its slot or because its future was dropped, wakes the next task if a slot is due,
//! and otherwise sets the timer for that task. Each start therefore takes one wake-up, and a queue needs only one
//! timer. The same timer wakes the tasks that await claims, which are not in the queue ([`claims`]).
//!
//! A task in the queue is *asleep* or *woken*. To wake a task, the queue marks it as woken under the queue's lock, and
//! calls its waker right after the lock is released. The task keeps its position. If it is polled and its slot is not
//! due, it is asleep again. A task in the queue holds no slot, so a cancelled task has no slot to give back.
//!
//! # On time
//!
//! The timer rings about 10 us late. The timer is therefore set 10 us earlier ([`waking`]), and the woken task *holds
//! on*, which means that it spins until its slot is due. On some virtual machines, setting the timer also takes about
//! 10 us. If other tasks wait and there is enough time, a task sets the timer for the next slot before it spins,
//! because the system call then delays no operation.
//!
//! If slots are so close that a wake-up for each slot costs too much, the timer rings for several slots together, and
//! no task holds on. See [`Drive::wake_at`](nanopace::driver::Drive::wake_at).
//!
//! [`waking`]: crate::waking
//!
//! # No wake-up is lost
//!
//! * The queue sets the watch before it reads the schedule, so every later change that could make a start earlier rings
//!   the bell. The queue reads the schedule under its own lock. Before it releases the lock, it ensures that the timer
//!   is set, marks a task as woken, or lets the asking task hold on. While the pacer is paused and no task has a
//!   deadline, only a change rings the bell.
//! * A woken task is not woken again before it is polled. If the bell rings before that and a slot is due, the next
//!   task is woken instead. A woken task whose future is not polled delays the other tasks by at most three times
//!   [`PATIENCE`], because the [`Timer`] rings again within that time. With the timers of this crate, the delay is at
//!   most twice [`PATIENCE`].
//!
//! Models: `the_lead_is_handed_over`, `a_cancelled_leader_hands_over`, `a_close_ends_the_queue`,
//! `a_change_reaches_the_leader`, `a_change_reaches_the_next_leader`,
//! `a_task_that_does_not_come_is_passed_over`, `a_change_reaches_a_claim`.

mod claims;
mod state;

use crate::sync::{Mutex, MutexGuard};
use crate::timer::Timer;
use nanopace::driver::{Drive as _, Watch};
use nanopace::{Ended, Nanos, Pacer};
use smallvec::SmallVec;
use state::State;
pub(crate) use state::{ClaimKey, Ticket, Wish};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};
use std::thread;
use std::time::Duration;

/// A task holds on only if its slot is due within this time.
const HOLD_WITHIN: Duration = Duration::from_micros(30);

const PATIENCE: Duration = Duration::from_millis(2);

const SETS: usize = 3;

/// The cost of a wake-up, as a multiple of the cost of setting the timer. The cost includes the wake-ups of the other
/// threads that start the operations. In measurements with oha at 100 k/s, a multiple of 3 cost 20 % more CPU time than
/// oha's own 1 ms timer, 6 or 12 cost 7 % more, and 24 cost 2 % more.
const WAKE_PER_SET: u32 = 12;

/// The upper bound of the measured cost of setting the timer. A higher value means that the thread was descheduled.
const MOST_SET_COST: Duration = Duration::from_micros(20);

#[derive(Debug)]
pub(crate) struct WaitQueue {
    pub(crate) pacer: Pacer,
    watch: Watch,
    timer: Box<dyn Timer>,
    bell: Waker,
    change: Waker,
    state: Mutex<State>,
}

struct Bell {
    queue: Weak<WaitQueue>,
    tells_changes: bool,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(queue) = self.queue.upgrade() {
            // A waker's panic must not end the timer's thread or reactor, or the call that changed the schedule.
            let _ = catch_unwind(AssertUnwindSafe(|| queue.ring(self.tells_changes)));
        }
    }
}

/// Holds the queue's lock. After the lock is released, calls the wakers of the woken tasks and drops a replaced waker.
/// Both must come after the release, because they may run code of a task that takes the lock.
struct Stay<'q> {
    queue: &'q WaitQueue,
    // Fields are dropped in this order.
    state: MutexGuard<'q, State>,
    woken: Woken,
    dropped: Option<Waker>,
}

#[derive(Default)]
struct Woken(SmallVec<[Waker; 1]>);

impl Drop for Woken {
    fn drop(&mut self) {
        let mut panic = None;
        for waker in self.0.drain(..) {
            // If a waker panics, the others are still woken.
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
                panic.get_or_insert(payload);
            }
        }
        if let Some(payload) = panic.filter(|_| !thread::panicking()) {
            resume_unwind(payload);
        }
    }
}

impl WaitQueue {
    pub(crate) fn new(pacer: Pacer, timer: Box<dyn Timer>) -> Arc<WaitQueue> {
        Arc::new_cyclic(|queue| {
            let bell = |tells_changes| Bell { queue: Weak::clone(queue), tells_changes };
            WaitQueue {
                watch: pacer.watch(),
                pacer,
                timer,
                bell: Waker::from(Arc::new(bell(false))),
                change: Waker::from(Arc::new(bell(true))),
                state: Mutex::new(State::new()),
            }
        })
    }

    /// Puts the task in the queue. A woken task is then asleep again and keeps its position. If the task should hold on
    /// for its slot, returns the time for which it should hold on.
    pub(crate) fn enqueue(
        &self,
        ticket: &mut Option<Ticket>,
        wish: Wish,
        waker: &Waker,
    ) -> Option<Duration> {
        let mut stay = self.enter();
        let Ticket(number) = *ticket.get_or_insert_with(|| stay.state.admit());
        stay.dropped = stay.state.enqueue(number, wish, waker);
        let has_to_look =
            stay.state.leads(number) || wish.deadline != Nanos::MAX || !stay.state.rows.is_empty();
        if has_to_look { stay.look(Some(number)) } else { None }
    }

    pub(crate) fn leave(&self, ticket: &mut Option<Ticket>, started: Option<Nanos>) {
        let Some(Ticket(number)) = ticket.take() else { return };
        let mut stay = self.enter();
        // A task that wants one slot can come before a row that leads.
        let was_to_come = stay.state.leads(number)
            || !stay.state.asleep.contains(&number)
            || !stay.state.rows.is_empty();
        stay.dropped = stay.state.remove(number);
        stay.state.started = started.unwrap_or(stay.state.started);
        if was_to_come {
            stay.look(None);
        }
    }

    /// Handles a ring of the bell. `is_change` is true if the watch rang, and false if the timer rang.
    fn ring(&self, is_change: bool) {
        let mut stay = self.enter();
        if is_change {
            stay.state.is_watched = false; // a watch rings only once
            stay.wake_all_claims();
        }
        if stay.state.is_idle() {
            stay.stop_timer();
            return;
        }
        self.timer.went_off(&self.bell);
        let was_due = stay.state.ring_alarm(self.pacer.now());
        stay.look(None);
        if !was_due && !stay.woken.0.is_empty() {
            stay.wake_as_many_again();
        }
        if stay.state.waits_for_a_change() {
            stay.stop_timer();
        }
    }

    pub(crate) fn spun(&self) -> Duration {
        self.state.lock().holding.spent
    }

    fn enter(&self) -> Stay<'_> {
        let state = self.state.lock();
        Stay { queue: self, state, woken: Woken::default(), dropped: None }
    }

    /// Sets the timer to ring at `at`. The timer counts its delay from the system call, so the ring is too late if the
    /// thread is descheduled before that call. The timer is then set again.
    fn set_timer(&self, at: Nanos) {
        for _ in 0..SETS {
            let now = self.pacer.now();
            self.timer.set(at - now, PATIENCE, &self.bell);
            if self.pacer.now() - now < HOLD_WITHIN {
                return;
            }
        }
    }
}

impl Stay<'_> {
    /// Reads the schedule, and ensures that the next task in turn is woken in time. `asking` is the task that makes
    /// this call, if any. If it is the next task and should hold on for its slot, returns the time for which it should
    /// hold on.
    fn look(&mut self, asking: Option<u64>) -> Option<Duration> {
        if self.state.is_idle() {
            return None;
        }
        self.watch();
        let now = self.queue.pacer.now();
        self.state.holding.pass(now);
        let holds_on_for = self.look_at_queue(asking, now);
        self.wake_claims(now);
        holds_on_for
    }

    fn look_at_queue(&mut self, asking: Option<u64>, now: Nanos) -> Option<Duration> {
        if self.state.asleep.is_empty() {
            return None;
        }
        let due = self.queue.pacer.next_due();
        self.wake_expired(now, due.unwrap_or(Nanos::MAX));
        self.wake_rows_that_do_not_fit();
        let (first, due) = self.next_to_come(due)?;
        match due {
            Err(_) => self.wake_all(),
            Ok(due) if !self.holds_on(due, now) => self.set_timer_for_slot(due, now),
            Ok(due) if asking == Some(first) => return Some(self.hold(due, now)),
            Ok(_) => self.wake_for_slot(first, now),
        }
        None
    }

    /// Returns the task whose slot comes next, and when that slot is due. `due` is when the pacer's next slot is due. A
    /// row never contains a slot that was given back, so a later task that wants one slot may come before a task that
    /// wants a row.
    fn next_to_come(&self, due: Result<Nanos, Ended>) -> Option<(u64, Result<Nanos, Ended>)> {
        let first = *self.state.asleep.first()?;
        let slots = self.state.slots(first);
        if slots <= 1 {
            return Some((first, due));
        }
        let row_due = self.queue.pacer.next_due_many(slots);
        let comes_before = due.is_ok_and(|due| row_due.is_ok_and(|row_due| due < row_due));
        match self.state.first_of_one().filter(|_| comes_before) {
            Some(other) => Some((other, due)),
            None => Some((first, row_due)),
        }
    }

    fn watch(&mut self) {
        if !self.state.is_watched {
            self.queue.watch.set(&self.queue.change);
            self.state.is_watched = true;
        }
    }

    fn set_timer_for_slot(&mut self, due: Nanos, now: Nanos) {
        let at = self.ring_time(due, now).min(self.state.deadline());
        self.set_timer_if_earlier(at, now);
    }

    fn stop_timer(&mut self) {
        self.queue.timer.stop();
        (self.state.alarm, self.state.rings_again) = (Nanos::ZERO, false);
    }

    fn ring_time(&self, due: Nanos, now: Nanos) -> Nanos {
        match self.wake_at(due, self.state.started) {
            wake if wake > now => wake,
            // The time for the wake-up has passed, but it is too early to hold on, or holding on is not allowed.
            _ if due - now > HOLD_WITHIN => due - HOLD_WITHIN,
            _ => due,
        }
    }

    /// Returns whether a task should not sleep before the slot at `due`, because the slot is due or the task should
    /// hold on.
    fn holds_on(&self, due: Nanos, now: Nanos) -> bool {
        let left = due - now;
        let is_near = left < HOLD_WITHIN && self.state.holding.affords(left);
        left.is_zero() || is_near && self.wake_at(due, self.state.started) <= due
    }

    fn hold(&mut self, due: Nanos, now: Nanos) -> Duration {
        self.set_ahead(due, now);
        let left = due - self.queue.pacer.now();
        self.state.holding.spend(left);
        left
    }

    fn set_ahead(&mut self, due: Nanos, now: Nanos) {
        let is_last = self.state.waiting.len() == 1;
        if !is_last
            && due - now > self.state.set_cost
            && let Ok(next) = self.queue.pacer.due_after(1)
        {
            let at = self.wake_at(next, due);
            self.set_timer_if_earlier(at, now);
        }
    }

    /// Returns when the timer should ring for the slot at `due`. `started` is the time at which a task last started a
    /// slot, or will start the slot before this slot.
    fn wake_at(&self, due: Nanos, started: Nanos) -> Nanos {
        let cost = self.state.set_cost * WAKE_PER_SET;
        let at = self.queue.pacer.wake_at(due, started, cost);
        // If `at > due`, one ring serves several slots. While the pacer is paused, no due time is known.
        if at > due || due == Nanos::MAX {
            return at;
        }
        due - self.state.waking.lead(due - started) - self.state.set_cost
    }

    /// Sets the timer to ring at `at`, unless the timer will ring earlier. An early wake-up costs less than setting the
    /// timer again. While the pacer is paused and no task has a deadline, `at` is `Nanos::MAX`, and only a change rings
    /// the bell.
    fn set_timer_if_earlier(&mut self, at: Nanos, now: Nanos) {
        if at < Nanos::MAX && (self.state.alarm <= now || at < self.state.alarm) {
            self.queue.set_timer(at);
            (self.state.alarm, self.state.rings_again) = (at, false);
            let took = (self.queue.pacer.now() - now).min(MOST_SET_COST);
            self.state.set_cost = (self.state.set_cost * 7 + took) / 8;
        }
    }

    /// Wakes the task whose slot is due. If other tasks are asleep, ensures that the timer rings soon, because the
    /// woken task may not come. The timer may be stopped or set to a later time if a change made the slot due.
    fn wake_for_slot(&mut self, number: u64, now: Nanos) {
        self.wake(number);
        let latest = now + PATIENCE;
        let is_set = self.state.alarm != Nanos::ZERO && self.state.alarm <= latest;
        if !self.state.asleep.is_empty() && !self.state.rings_again && !is_set {
            self.set_timer_if_earlier(latest, now);
        }
    }

    fn wake_expired(&mut self, now: Nanos, due: Nanos) {
        let is_known = due < Nanos::MAX; // not paused
        while let Some(&(deadline, number)) = self.state.deadlines.first()
            && (deadline <= now || is_known && deadline < due)
        {
            self.wake(number);
        }
    }

    fn wake_rows_that_do_not_fit(&mut self) {
        while let Some(&(slots, number)) = self.state.rows.last()
            && self.queue.pacer.next_due_many(slots).is_err()
        {
            self.wake(number);
        }
    }

    /// If woken tasks have not been polled since before this ring, wakes as many further tasks. Even a large number of
    /// tasks that are not polled then delays the other tasks only briefly.
    fn wake_as_many_again(&mut self) {
        let woken = self.state.waiting.len() - self.state.asleep.len();
        for _ in 1..woken {
            let Some(&first) = self.state.asleep.first() else { break };
            self.wake(first);
        }
    }

    fn wake_all(&mut self) {
        while let Some(&first) = self.state.asleep.first() {
            self.wake(first);
        }
    }

    fn wake(&mut self, number: u64) {
        let waiting = self.state.mark_woken(number).map(|waiting| waiting.waker.clone());
        self.woken.0.extend(waiting);
    }
}
