//! Simulates a runtime with one thread, and a clock and a timer that tests move.

use nanopace::{Clock, ManualClock, Nanos, Pacer, PacerBuilder, Rate};
use nanopace_async::AsyncPacer;
use nanopace_async::timer::Timer;
use std::cell::Cell;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

const MILLI: u64 = 1_000_000;

pub(crate) fn rate(text: &str) -> Rate {
    text.parse().unwrap()
}

pub(crate) fn ms(millis: u64) -> Nanos {
    Nanos::from_nanos(millis * MILLI)
}

/// The time of the next ring, the interval of repeated rings, and the waker.
type Alarm = Option<(Nanos, Duration, Waker)>;

/// A timer on the manual clock. The timer rings again after twice the requested interval, because no timer of the crate
/// has a longer interval.
#[derive(Clone, Debug)]
struct ManualTimer {
    clock: ManualClock,
    alarm: Arc<Mutex<Alarm>>,
}

impl Timer for ManualTimer {
    fn set(&self, delay: Duration, again: Duration, waker: &Waker) {
        let at = self.clock.now() + delay;
        *self.alarm.lock().unwrap() = Some((at, again, waker.clone()));
    }

    fn stop(&self) {
        *self.alarm.lock().unwrap() = None;
    }
}

pub(crate) struct World {
    pub(crate) clock: ManualClock,
    pub(crate) pacer: Pacer,
    pub(crate) queue: AsyncPacer,
    timer: ManualTimer,
    pub(crate) rings: Cell<u32>,
}

impl World {
    pub(crate) fn new(text: &str, build: impl FnOnce(PacerBuilder) -> PacerBuilder) -> World {
        let clock = ManualClock::new();
        let pacer = build(Pacer::builder(rate(text)).clock(clock.clone())).build();
        let timer = ManualTimer { clock: clock.clone(), alarm: Arc::default() };
        let queue = AsyncPacer::with_timer(pacer.clone(), timer.clone());
        World { clock, pacer, queue, timer, rings: Cell::new(0) }
    }

    pub(crate) fn run_to(&self, end: Nanos, tasks: &mut [&mut dyn Run]) {
        run_all(tasks);
        while let Some(waker) = self.next_ring(end) {
            waker.wake();
            run_all(tasks);
        }
        self.clock.set(end);
        run_all(tasks);
    }

    fn next_ring(&self, end: Nanos) -> Option<Waker> {
        let mut alarm = self.timer.alarm.lock().unwrap();
        let (at, again, waker) = alarm.as_mut().filter(|(at, ..)| *at <= end)?;
        self.clock.set(self.clock.now().max(*at));
        *at = *at + 2 * *again;
        self.rings.set(self.rings.get() + 1);
        Some(waker.clone())
    }

    pub(crate) fn will_ring(&self) -> bool {
        self.timer.alarm.lock().unwrap().is_some()
    }
}

fn run_all(tasks: &mut [&mut dyn Run]) {
    for task in tasks {
        task.run();
    }
}

pub(crate) struct Task<F: Future> {
    future: Option<Pin<Box<F>>>,
    wakes: Arc<Wakes>,
    polled_at: u32,
    pub(crate) polls: u32,
    pub(crate) done: Option<F::Output>,
}

#[derive(Default)]
struct Wakes(AtomicU32);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The maximum number of times that a yielding task is polled before other tasks run and the clock is moved.
const POLLS: usize = 3;

pub(crate) trait Run {
    fn run(&mut self);
}

impl<F: Future> Task<F> {
    pub(crate) fn new(future: F) -> Task<F> {
        let wakes = Arc::new(Wakes(AtomicU32::new(1)));
        Task { future: Some(Box::pin(future)), wakes, polled_at: 0, polls: 0, done: None }
    }

    pub(crate) fn wakes(&self) -> u32 {
        self.wakes.0.load(Ordering::Relaxed)
    }

    pub(crate) fn is_woken(&self) -> bool {
        self.future.is_some() && self.wakes() != self.polled_at
    }

    pub(crate) fn cancel(&mut self) {
        self.future = None;
    }
}

impl<F: Future> Run for Task<F> {
    fn run(&mut self) {
        for _ in 0..POLLS {
            self.poll();
        }
    }
}

impl<F: Future> Task<F> {
    fn poll(&mut self) {
        if !self.is_woken() {
            return;
        }
        self.polled_at = self.wakes();
        self.polls += 1;
        let waker = Waker::from(Arc::clone(&self.wakes));
        let future = self.future.as_mut().expect("it is woken");
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            self.done = Some(done);
            self.future = None;
        }
    }
}

pub(crate) fn poll_once<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => Some(done),
        Poll::Pending => None,
    }
}
