//! Models of the queue of tasks in `nanopace-async`. The lead must be handed over, and no wake-up may be lost.

use loom::sync::{Condvar, Mutex};
use loom_tests::{MILLI, at, explore, explore_less, paced, rate, span, spawn};
use nanopace::{Clock, Grant, ManualClock, Nanos, Refused};
use nanopace_async::{Acquire, AsyncPacer, Timer};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// An alarm on the manual clock. If its time has passed, it goes off when the clock is moved, or when a task is about
/// to sleep, as in a runtime with one thread.
#[derive(Clone, Debug)]
struct Alarm {
    clock: ManualClock,
    set: Arc<Mutex<Option<(Nanos, Duration, Waker)>>>,
}

impl Alarm {
    fn advance(&self, nanos: u64) {
        self.clock.advance(span(nanos));
        self.go_off();
    }

    fn go_off(&self) {
        let mut over = None;
        if let Some((at, again, waker)) = &mut *self.set.lock().unwrap()
            && *at <= self.clock.now()
        {
            *at = self.clock.now() + *again;
            over = Some(waker.clone());
        }
        if let Some(waker) = over {
            waker.wake();
        }
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        let token = Arc::new(Token::default());
        let waker = Waker::from(Arc::clone(&token));
        let mut future = pin!(future);
        loop {
            if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return done;
            }
            self.go_off();
            let mut woken = token.0.lock().unwrap();
            while !std::mem::take(&mut *woken) {
                woken = token.1.wait(woken).unwrap();
            }
        }
    }
}

impl Timer for Alarm {
    fn set(&self, delay: Duration, again: Duration, waker: &Waker) {
        *self.set.lock().unwrap() = Some((self.clock.now() + delay, again, waker.clone()));
    }

    fn stop(&self) {
        *self.set.lock().unwrap() = None;
    }
}

fn queue(rate: &str) -> (Alarm, AsyncPacer) {
    let (clock, pacer) = paced(rate);
    pacer.acquire().unwrap();
    let alarm = Alarm { clock, set: Arc::new(Mutex::new(None)) };
    (alarm.clone(), AsyncPacer::with_timer(pacer, alarm))
}

#[derive(Default)]
struct Token(Mutex<bool>, Condvar);

impl Wake for Token {
    fn wake(self: Arc<Self>) {
        *self.0.lock().unwrap() = true;
        self.1.notify_one();
    }
}

fn poll_once(acquire: &mut Acquire<'_>, waker: &Waker) -> Poll<Result<Grant, Refused>> {
    Pin::new(acquire).poll(&mut Context::from_waker(waker))
}

fn has_started(queue: &AsyncPacer, slots: u64) {
    assert_eq!(queue.pacer().ledger().granted, slots);
}

/// Threads: two tasks that each acquire a slot; one that moves the clock past both slots. Edit: a task that leaves the
/// queue wakes no other task and sets no timer.
#[test]
fn the_lead_is_handed_over() {
    explore_less(1, "the_lead_is_handed_over", || {
        let (alarm, queue) = queue("1k/s");
        let tasks = [(); 2].map(|()| {
            let (alarm, queue) = (alarm.clone(), queue.clone());
            spawn(move || alarm.block_on(queue.acquire()).unwrap())
        });
        alarm.advance(2 * MILLI);
        let [first, second] = tasks.map(|task| task.join().unwrap().intended_start());
        assert_eq!(first.min(second), at(MILLI));
        assert_eq!(first.max(second), at(2 * MILLI));
        has_started(&queue, 3);
    });
}

/// Threads: a task that acquires a slot and is queued after a leader; one that drops the leader and moves the clock
/// forward. Edit: a dropped task does not leave the queue.
#[test]
fn a_cancelled_leader_hands_over() {
    explore("a_cancelled_leader_hands_over", || {
        let (alarm, queue) = queue("1k/s");
        let mut leader = queue.acquire();
        assert!(poll_once(&mut leader, Waker::noop()).is_pending());
        let (driver, its_queue) = (alarm.clone(), queue.clone());
        let task = spawn(move || driver.block_on(its_queue.acquire()).unwrap());
        drop(leader);
        alarm.advance(MILLI);
        assert_eq!(task.join().unwrap().intended_start(), at(MILLI));
        has_started(&queue, 2);
    });
}

/// Threads: two tasks that each acquire a slot; one that closes the pacer. Edit: the watch is not set.
#[test]
fn a_close_ends_the_queue() {
    explore_less(1, "a_close_ends_the_queue", || {
        let (alarm, queue) = queue("1/h");
        let tasks = [(); 2].map(|()| {
            let (alarm, queue) = (alarm.clone(), queue.clone());
            spawn(move || alarm.block_on(queue.acquire()))
        });
        queue.pacer().close();
        for task in tasks {
            assert_eq!(task.join().unwrap(), Err(Refused::Closed));
        }
    });
}

/// Threads: a task that acquires a slot due in an hour; one that sets the rate to 1000/s and moves the clock forward by
/// 1 ms. Edit: the watch is not set.
#[test]
fn a_change_reaches_the_leader() {
    explore_less(1, "a_change_reaches_the_leader", || {
        let (alarm, queue) = queue("1/h");
        let (driver, its_queue) = (alarm.clone(), queue.clone());
        let task = spawn(move || driver.block_on(its_queue.acquire()).unwrap());
        queue.pacer().set_rate(rate("1k/s"));
        alarm.advance(MILLI);
        assert_eq!(task.join().unwrap().intended_start(), at(MILLI));
        has_started(&queue, 2);
    });
}

/// Threads: a task that acquires a slot due in an hour and is queued after a leader; one that drops the leader, sets
/// the rate to 1000/s and moves the clock forward by 1 ms. Edit: the watch is not set.
#[test]
fn a_change_reaches_the_next_leader() {
    explore_less(1, "a_change_reaches_the_next_leader", || {
        let (alarm, queue) = queue("1/h");
        let mut leader = queue.acquire();
        assert!(poll_once(&mut leader, Waker::noop()).is_pending());
        let (driver, its_queue) = (alarm.clone(), queue.clone());
        let task = spawn(move || driver.block_on(its_queue.acquire()).unwrap());
        drop(leader);
        queue.pacer().set_rate(rate("1k/s"));
        alarm.advance(MILLI);
        assert_eq!(task.join().unwrap().intended_start(), at(MILLI));
    });
}

/// Threads: a task that acquires a slot and is queued after a leader, which is never polled again; one that moves the
/// clock forward twice. Edit: a woken task is woken again before it is polled.
#[test]
fn a_task_that_does_not_come_is_passed_over() {
    explore_less(1, "a_task_that_does_not_come_is_passed_over", || {
        let (alarm, queue) = queue("1k/s");
        let mut leader = queue.acquire();
        assert!(poll_once(&mut leader, Waker::noop()).is_pending());
        let (driver, its_queue) = (alarm.clone(), queue.clone());
        let task = spawn(move || driver.block_on(its_queue.acquire()).unwrap());
        alarm.advance(MILLI);
        alarm.advance(10 * MILLI);
        assert_eq!(task.join().unwrap().intended_start(), at(MILLI));
        drop(leader);
    });
}

/// Threads: a task that awaits a slot that is due in an hour; one that sets the rate to 1000/s and moves the clock
/// forward by 1 ms. Edits: a task with a claim reads the due time before it watches; a change wakes no task with a
/// claim.
#[test]
fn a_change_reaches_a_claim() {
    explore_less(1, "a_change_reaches_a_claim", || {
        let (alarm, queue) = queue("1/h");
        let (driver, claim) = (alarm.clone(), queue.claim().unwrap());
        let task = spawn(move || driver.block_on(claim).unwrap());
        queue.pacer().set_rate(rate("1k/s"));
        alarm.advance(MILLI);
        assert_eq!(task.join().unwrap().intended_start(), at(MILLI));
        has_started(&queue, 2);
    });
}
