//! Who waits gets in, in the order in which they came, and nobody is forgotten.

use nanopace::{Clock, ManualClock, Nanos};
use nanopace_limits::{
    CostsRejected, Limiter, Limits, Line, Rejected, Rule, Step, Wait, WaitError, Waiter,
};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};
use std::thread;
use std::time::Duration;

/// Whether somebody was woken.
#[derive(Default)]
struct Bell(AtomicBool);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// One who waits, and is looked after by nobody but its bell and its alarm.
struct Guest<'l> {
    waiter: Waiter<'l, String, str>,
    bell: Arc<Bell>,
    alarm: Nanos,
    n: u64,
    came: usize,
    key: &'static str,
}

const KEYS: [&str; 2] = ["alice", "bob"];

/// What happens, and how much time passes before it.
#[derive(Clone, Copy, Debug)]
enum Event {
    Comes { key: usize, n: u64, timeout: Option<u64> },
    GivesUp { which: usize },
    BargesIn { key: usize },
    TakesBack { key: usize },
}

fn any_event() -> impl Strategy<Value = (u64, Event)> {
    let timeout = prop::option::weighted(0.3, 0..3_000_u64);
    let event = prop_oneof![
        5 => (0..2_usize, 1..4_u64, timeout).prop_map(|(key, n, timeout)| Event::Comes { key, n, timeout }),
        1 => (0..8_usize).prop_map(|which| Event::GivesUp { which }),
        1 => (0..2_usize).prop_map(|key| Event::BargesIn { key }),
        1 => (0..2_usize).prop_map(|key| Event::TakesBack { key }),
    ];
    (0..400_u64, event)
}

fn at(micros: u64) -> Nanos {
    Nanos::from_nanos(micros * 1_000)
}

/// The limits of two keys, those who wait for them, and the moment.
struct World<'l> {
    limits: Arc<Limits>,
    states: [<Limits as Rule>::State; 2],
    line: &'l Line<String>,
    guests: Vec<Guest<'l>>,
    /// Who got in, for each key.
    let_in: [Vec<usize>; 2],
    came: usize,
    now: Nanos,
}

impl<'l> World<'l> {
    fn new(limits: Limits, line: &'l Line<String>) -> World<'l> {
        let states = [limits.fresh(), limits.fresh()];
        let (guests, let_in) = (Vec::new(), [Vec::new(), Vec::new()]);
        World { limits: Arc::new(limits), states, line, guests, let_in, came: 0, now: at(1_000) }
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Comes { key, n, timeout } => {
                let wait = timeout
                    .map_or(Wait::new(n), |t| Wait::new(n).timeout(Duration::from_micros(t)));
                let waiter = Waiter::new(self.line, KEYS[key], wait, self.now);
                let bell = Arc::new(Bell(AtomicBool::new(true)));
                self.came += 1;
                let came = self.came;
                self.guests.push(Guest {
                    waiter,
                    bell,
                    alarm: Nanos::MAX,
                    n,
                    came,
                    key: KEYS[key],
                });
            }
            Event::GivesUp { which } if which < self.guests.len() => {
                drop(self.guests.remove(which));
            }
            Event::GivesUp { .. } => (),
            Event::BargesIn { key } => {
                let _ = self.limits.decide(&mut self.states[key], self.now, 1);
            }
            Event::TakesBack { key } => {
                let state = &mut self.states[key];
                if let Ok(receipt) = self.limits.reserve(state, self.now, 1) {
                    self.limits.settle(state, self.now, &receipt, 0);
                    self.line.call(KEYS[key]);
                }
            }
        }
    }

    /// Lets those look whose bell or alarm has rung, until none is left.
    fn settle(&mut self) {
        let rung = |guest: &Guest<'_>, now| {
            guest.bell.0.swap(false, Ordering::Relaxed) || guest.alarm <= now
        };
        while let Some(place) = self.guests.iter().position(|guest| rung(guest, self.now)) {
            let guest = &mut self.guests[place];
            let key = usize::from(guest.key == KEYS[1]);
            let waker = Waker::from(Arc::clone(&guest.bell));
            let (limits, state, now, n) = (&self.limits, &mut self.states[key], self.now, guest.n);
            match guest.waiter.step(now, &waker, || limits.admit(state, now, n)) {
                Step::Until(alarm) => guest.alarm = alarm,
                Step::Done(done) => {
                    if done.is_ok() {
                        self.let_in[key].push(guest.came);
                    }
                    drop(self.guests.remove(place));
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn who_waits_gets_in_in_order_and_nobody_is_forgotten(
        text in prop::sample::select(vec!["1/ms", "3/ms burst 4", "5/2ms in 4", "4/3ms sliding-log", "3/ms sliding-log-all"]),
        events in prop::collection::vec(any_event(), 1..60),
    ) {
        let line = Line::new();
        let mut world = World::new(text.parse().unwrap(), &line);
        for (pause, event) in events {
            // Time passes from alarm to alarm.
            let until = world.now + Duration::from_micros(pause);
            while let Some(next) = world.guests.iter().map(|guest| guest.alarm).min().filter(|next| *next <= until) {
                world.now = world.now.max(next);
                world.settle();
            }
            world.now = until;
            world.happens(event);
            world.settle();
        }
        for _ in 0..10_000 {
            let Some(next) = world.guests.iter().map(|guest| guest.alarm).min() else { break };
            prop_assert!(next < Nanos::MAX, "all of {} wait to be called", world.guests.len());
            world.now = world.now.max(next);
            world.settle();
        }
        prop_assert!(world.guests.is_empty());
        prop_assert!(KEYS.iter().all(|key| line.is_empty(*key)));
        for let_in in &world.let_in {
            prop_assert!(let_in.is_sorted(), "{:?}", let_in);
        }
    }
}

#[test]
fn what_never_gets_in_does_not_wait() {
    let limiter = Limiter::with_clock("5/s, 1k/s".parse().unwrap(), ManualClock::new());
    let never = CostsRejected::Limit(Rejected::ExceedsCapacity { capacity: 5 });
    assert_eq!(limiter.wait(Wait::new(6)), Err(WaitError::Rejected(never)));
    let number = CostsRejected::Number { limits: 2, costs: 1 };
    assert_eq!(limiter.wait(Wait::new(&[1])), Err(WaitError::Rejected(number)));
}

#[test]
fn a_timeout_that_is_too_short_is_told_at_once() {
    let clock = ManualClock::new();
    let limiter = Limiter::with_clock("1/s".parse().unwrap(), clock.clone());
    limiter.until_ready().unwrap();
    let waited = limiter.wait(Wait::new(1).timeout(Duration::from_millis(999)));
    assert_eq!(waited, Err(WaitError::TooLate { retry: Duration::from_secs(1) }));
    clock.advance(Duration::from_secs(1));
    assert_eq!(limiter.wait(Wait::new(1).timeout(Duration::ZERO)), Ok(Duration::ZERO));
}

/// However long the wait: whoever looks in between does not come sooner.
#[test]
fn jitter_comes_after_the_moment() {
    let moment = Nanos::from_nanos(2_500_000_000);
    let not_yet = || Err(Rejected::NotUntil(moment));
    let looks = |_| {
        let line: Line<String> = Line::new();
        let wait = Wait::new(1).jitter(Duration::from_secs(100));
        let mut waiter = Waiter::new(&line, "alice", wait, Nanos::ZERO);
        let mut now = Nanos::ZERO;
        while now < moment {
            let Step::Until(next) = waiter.step(now, Waker::noop(), not_yet) else {
                panic!("done")
            };
            now = next;
        }
        now - moment
    };
    let late: Vec<_> = (0..64).map(looks).collect();
    assert!(late.iter().any(|late| *late > Duration::from_secs(1)), "{late:?}");
    assert!(late.iter().all(|late| *late <= Duration::from_secs(100)));
}

#[test]
fn a_thread_that_waits_gets_in_when_its_moment_comes() {
    let clock = ManualClock::jumping();
    let limiter = Limiter::with_clock("1/s".parse().unwrap(), clock.clone());
    let waited: Vec<_> = (0..4).map(|_| limiter.until_ready().unwrap().as_secs()).collect();
    assert_eq!(waited, [0, 1, 1, 1]);
    assert_eq!(clock.now(), Nanos::from_nanos(3_000_000_000));
}

#[test]
fn a_raise_and_a_reservation_taken_back_reach_a_thread_that_waits() {
    let clock = ManualClock::new();
    let limiter = Limiter::with_clock("1/day".parse().unwrap(), clock);
    let reservation = limiter.reserve(1).unwrap();
    thread::scope(|scope| {
        let first = scope.spawn(|| limiter.until_ready());
        let second = scope.spawn(|| limiter.until_ready());
        drop(reservation);
        limiter.set_limits("2/day".parse().unwrap());
        assert!(first.join().unwrap().is_ok());
        assert!(second.join().unwrap().is_ok());
    });
    assert!(limiter.check().is_err());
}
