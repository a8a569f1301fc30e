//! Requests that wait for one limiter, in virtual time. Each request acts only when its waker is woken or its alarm is
//! due.

use nanopace_limits::custom::{Step, Waiter};
use nanopace_limits::{CostsRejected, Limiter, Wait, WaitError};
use nanopace_nanos::{Clock, ManualClock, Nanos};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};
use std::time::Duration;

pub(crate) type End = Result<Duration, WaitError<CostsRejected>>;

#[derive(Default)]
pub(crate) struct Bell(AtomicBool);

impl Bell {
    pub(crate) fn has_rung(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub(crate) fn limiter(limits: &str) -> (ManualClock, Limiter) {
    let clock = ManualClock::new();
    (clock.clone(), Limiter::with_clock(limits.parse().unwrap(), clock))
}

struct Guest<'l> {
    waiter: Waiter<'l, &'l Limiter>,
    bell: Arc<Bell>,
    alarm: Nanos,
    number: usize,
}

pub(crate) struct Crowd<'l> {
    limiter: &'l Limiter,
    clock: ManualClock,
    guests: Vec<Guest<'l>>,
    came: usize,
    pub(crate) gone: Vec<(usize, End)>,
}

impl<'l> Crowd<'l> {
    pub(crate) fn new(limiter: &'l Limiter, clock: &ManualClock) -> Crowd<'l> {
        Crowd { limiter, clock: clock.clone(), guests: Vec::new(), came: 0, gone: Vec::new() }
    }

    pub(crate) fn comes(&mut self, wait: Wait<'l>) -> usize {
        let (waiter, number) = (self.limiter.waiter(wait), self.came);
        let bell = Arc::new(Bell(AtomicBool::new(true)));
        self.came += 1;
        self.guests.push(Guest { waiter, bell, alarm: Nanos::MAX, number });
        self.settle();
        number
    }

    pub(crate) fn gives_up(&mut self, which: usize) {
        if which < self.guests.len() {
            drop(self.guests.remove(which));
            self.settle();
        }
    }

    pub(crate) fn waiting(&self) -> usize {
        self.guests.len()
    }

    pub(crate) fn settle(&mut self) {
        let now = self.clock.now();
        let rang = |guest: &Guest<'_>| guest.bell.has_rung() || guest.alarm <= now;
        while let Some(place) = self.guests.iter().position(rang) {
            let guest = &mut self.guests[place];
            match guest.waiter.step(&Waker::from(Arc::clone(&guest.bell))) {
                Step::Until(alarm) => guest.alarm = alarm,
                Step::Done(end) => self.gone.push((self.guests.remove(place).number, end)),
            }
        }
    }

    pub(crate) fn next_alarm(&self) -> Option<Nanos> {
        self.guests.iter().map(|guest| guest.alarm).min()
    }

    pub(crate) fn wait_until(&mut self, moment: Nanos) {
        while let Some(alarm) = self.next_alarm().filter(|alarm| *alarm <= moment) {
            self.clock.set(alarm);
            self.settle();
        }
        self.clock.set(moment);
    }

    pub(crate) fn wait_for(&mut self, span: Duration) {
        self.wait_until(self.clock.now() + span);
    }

    pub(crate) fn wait_for_all(&mut self) {
        for _ in 0..10_000 {
            let Some(alarm) = self.next_alarm() else { return };
            assert!(alarm < Nanos::MAX, "all of {} wait to be called", self.guests.len());
            self.wait_until(alarm);
        }
        panic!("{} wait for ever", self.guests.len());
    }

    pub(crate) fn end_of(&self, number: usize) -> Option<End> {
        self.gone.iter().find(|(other, _)| *other == number).map(|(_, end)| *end)
    }
}
