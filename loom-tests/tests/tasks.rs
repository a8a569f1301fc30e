//! Models of the line of tasks in `nanopace-async`: the lead is handed over, and no wake-up is
//! lost.

#![cfg(loom)]

use loom::sync::{Condvar, Mutex};
use loom_tests::{MILLI, at, explore, explore_less, manual, rate, span, spawn};
use nanopace::{Clock, Grant, ManualClock, Nanos, Refused};
use nanopace_async::{Acquire, AsyncPacer, Timer};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// An alarm on the manual clock: it goes off when the clock is moved past it.
#[derive(Clone, Debug)]
struct Alarm {
    clock: ManualClock,
    set: Arc<Mutex<Option<(Nanos, Waker)>>>,
}

impl Alarm {
    fn advance(&self, nanos: u64) {
        self.clock.advance(span(nanos));
        self.go_off();
    }

    fn go_off(&self) {
        let mut set = self.set.lock().unwrap();
        let is_over = set.as_ref().is_some_and(|(at, _)| *at <= self.clock.now());
        let over = if is_over { set.take() } else { None };
        drop(set);
        if let Some((_, waker)) = over {
            waker.wake();
        }
    }
}

impl Timer for Alarm {
    fn set(&self, delay: Duration, waker: &Waker) {
        *self.set.lock().unwrap() = Some((self.clock.now() + delay, waker.clone()));
        self.go_off();
    }

    fn wake_another(&self, waker: &Waker) {
        let mut set = self.set.lock().unwrap();
        match &mut *set {
            Some((_, other)) => *other = waker.clone(),
            None => waker.wake_by_ref(),
        }
    }
}

/// One slot was taken at the start; the others follow at this rate.
fn line(rate: &str) -> (Alarm, AsyncPacer) {
    let (clock, builder) = manual(rate);
    let pacer = builder.build();
    pacer.acquire().unwrap();
    let alarm = Alarm { clock, set: Arc::new(Mutex::new(None)) };
    (alarm.clone(), AsyncPacer::with_timer(pacer, alarm))
}

/// A token behind a mutex: the thread that runs a task sleeps until it is woken.
#[derive(Default)]
struct Token(Mutex<bool>, Condvar);

impl Wake for Token {
    fn wake(self: Arc<Self>) {
        *self.0.lock().unwrap() = true;
        self.1.notify_one();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let token = Arc::new(Token::default());
    let waker = Waker::from(Arc::clone(&token));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return done;
        }
        let mut woken = token.0.lock().unwrap();
        while !std::mem::take(&mut *woken) {
            woken = token.1.wait(woken).unwrap();
        }
    }
}

fn poll_once(acquire: &mut Acquire, waker: &Waker) -> Poll<Result<Grant, Refused>> {
    Pin::new(acquire).poll(&mut Context::from_waker(waker))
}

fn has_started(line: &AsyncPacer, slots: u64) {
    assert_eq!(line.pacer().ledger().granted, slots);
}

/// Two tasks stand in line; both have their slots when the clock has come to the second.
///
/// Threads: two tasks that acquire; one that moves the clock on past both slots. Edits: a leader that
/// leaves hands over to nobody; the timer is set for the task that leaves; an alarm in time keeps
/// its old waker.
#[test]
fn the_lead_is_handed_over() {
    explore_less(1, "the_lead_is_handed_over", || {
        let (alarm, line) = line("1k/s");
        let tasks = [(); 2].map(|()| {
            let acquire = line.acquire();
            spawn(move || block_on(acquire).unwrap())
        });
        alarm.advance(2 * MILLI);
        let [first, second] = tasks.map(|task| task.join().unwrap().intended_start());
        assert_eq!(first.min(second), at(MILLI));
        assert_eq!(first.max(second), at(2 * MILLI));
        has_started(&line, 3);
    });
}

/// A leader that is cancelled takes nothing, and the task behind it has the slot.
///
/// Threads: a task that acquires behind a leader; one that drops the leader and moves the clock on.
/// Edits: dropping leaves without handing over, or not at all.
#[test]
fn a_cancelled_leader_hands_over() {
    explore("a_cancelled_leader_hands_over", || {
        let (alarm, line) = line("1k/s");
        let mut leader = line.acquire();
        assert!(poll_once(&mut leader, Waker::noop()).is_pending());
        let acquire = line.acquire();
        let task = spawn(move || block_on(acquire).unwrap());
        drop(leader);
        alarm.advance(MILLI);
        assert_eq!(task.join().unwrap().intended_start(), at(MILLI));
        has_started(&line, 2);
    });
}

/// Closing ends the wait of the leader, and of the task behind it.
///
/// Threads: two tasks that acquire; one that closes. Edits: `close` wakes nobody; those who watch
/// are left out; a leader that leaves hands over to nobody.
#[test]
fn a_close_ends_the_line() {
    explore_less(1, "a_close_ends_the_line", || {
        let (_alarm, line) = line("1/h");
        let tasks = [(); 2].map(|()| {
            let acquire = line.acquire();
            spawn(move || block_on(acquire))
        });
        line.pacer().close();
        for task in tasks {
            assert_eq!(task.join().unwrap(), Err(Refused::Closed));
        }
    });
}

/// A change of the rate reaches the leader, whenever it has looked at the schedule.
///
/// Threads: a task that waits for an hour; one that sets the rate to 1000/s and moves the clock on
/// by 1 ms. Edits: `wake_moved` wakes nobody; those who watch are left out; the leader looks at the
/// schedule and sets its watch then.
#[test]
fn a_change_reaches_the_leader() {
    explore_less(1, "a_change_reaches_the_leader", || {
        let (alarm, line) = line("1/h");
        let acquire = line.acquire();
        let task = spawn(move || block_on(acquire).unwrap());
        line.pacer().set_rate(rate("1k/s"));
        alarm.advance(MILLI);
        assert_eq!(task.join().unwrap().intended_start(), at(MILLI));
        has_started(&line, 2);
    });
}

/// A change reaches the task that leads since the leader before was cancelled.
///
/// Threads: a task that waits for an hour behind a leader; one that drops the leader, sets the rate
/// to 1000/s and moves the clock on by 1 ms. Edits: a leader that leaves hands over without setting
/// the watch for the next one.
#[test]
fn a_change_reaches_the_next_leader() {
    explore_less(1, "a_change_reaches_the_next_leader", || {
        let (alarm, line) = line("1/h");
        let mut leader = line.acquire();
        assert!(poll_once(&mut leader, Waker::noop()).is_pending());
        let acquire = line.acquire();
        let task = spawn(move || block_on(acquire).unwrap());
        drop(leader);
        line.pacer().set_rate(rate("1k/s"));
        alarm.advance(MILLI);
        assert_eq!(task.join().unwrap().intended_start(), at(MILLI));
    });
}
