//! Provides helpers for the test files.

#![allow(dead_code, reason = "every test file uses its own part of it")]

pub(crate) mod random;

use nanopace::{
    Clock, Ended, Grant, ManualClock, Nanos, Pacer, PacerBuilder, Pause, Rate, Refused, Strictness,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub(crate) const MICRO: u64 = 1_000;
pub(crate) const MILLI: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const HOUR: u64 = 3_600 * SECOND;
pub(crate) const DAY: u64 = 24 * HOUR;
pub(crate) const WEEK: u64 = 7 * DAY;
pub(crate) const YEAR: u64 = 365 * DAY;

pub(crate) const PAUSES: [Pause; 4] = [Pause::Sleep, Pause::Hybrid, Pause::Yield, Pause::Spin];

pub(crate) fn rate(text: &str) -> Rate {
    text.parse().expect("a rate")
}

pub(crate) fn span(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

pub(crate) fn at(nanos: u64) -> Nanos {
    Nanos::from_nanos(nanos)
}

pub(crate) fn strictness(number: f64) -> Strictness {
    Strictness::new(number).expect("a strictness")
}

/// Returns a builder without a tolerance, so that the policy acts on the slightest lateness.
pub(crate) fn build(text: &str, clock: &ManualClock) -> PacerBuilder {
    Pacer::builder(rate(text)).clock(clock.clone()).tolerance(Duration::ZERO)
}

/// Returns a clock at zero, and a pacer on that clock without a tolerance.
pub(crate) fn paced(text: &str) -> (ManualClock, Pacer) {
    let clock = ManualClock::new();
    let pacer = build(text, &clock).build();
    (clock, pacer)
}

pub(crate) fn wait_ns(grant: impl Into<Grant>) -> u64 {
    u64::try_from(grant.into().wait_time().as_nanos()).expect("less than 584 years")
}

pub(crate) fn intended_ns(grant: impl Into<Grant>) -> u64 {
    grant.into().intended_start().as_nanos()
}

pub(crate) fn actual_ns(grant: impl Into<Grant>) -> u64 {
    grant.into().actual_start().as_nanos()
}

pub(crate) fn assert_started(pacer: &Pacer, grant: impl Into<Grant>) {
    let (grant, now) = (grant.into(), pacer.now());
    assert!(now >= grant.intended_start(), "started at {now:?}: {grant:?}");
}

pub(crate) fn drain(pacer: &Pacer) -> Vec<Grant> {
    let due = || pacer.try_acquire().ok();
    std::iter::from_fn(due).inspect(|grant| assert_started(pacer, *grant)).collect()
}

pub(crate) fn put_off_to(pacer: &Pacer) -> u64 {
    match pacer.try_acquire() {
        Err(Refused::NotUntil(moment)) => moment.as_nanos(),
        other => panic!("{other:?} where NotUntil was expected"),
    }
}

pub(crate) fn assert_balanced(pacer: &Pacer) {
    let ledger = pacer.ledger();
    let sum = ledger.allocated + ledger.idle + ledger.waiting + ledger.backlog;
    assert_eq!(ledger.elapsed, sum, "{ledger:?}");
}

/// Only a test that fails waits this long.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn until(what: &str, mut done: impl FnMut() -> bool, mut step: impl FnMut()) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < PATIENCE, "{what}: no progress");
        step();
        thread::yield_now();
    }
}

pub(crate) fn finish<T>(what: &str, threads: Vec<JoinHandle<T>>, step: impl FnMut()) -> Vec<T> {
    until(what, || threads.iter().all(JoinHandle::is_finished), step);
    threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
}

pub(crate) fn sleepers(n: u64, pacer: &Pacer) -> Vec<JoinHandle<Result<Grant, Ended>>> {
    let taken = pacer.ledger().granted;
    let threads = (0..n)
        .map(|_| {
            let pacer = pacer.clone();
            thread::spawn(move || pacer.acquire().inspect(|grant| assert_started(&pacer, *grant)))
        })
        .collect();
    until("claims", || pacer.ledger().granted == taken + n, || ());
    threads
}

pub(crate) fn intended_starts(grants: impl IntoIterator<Item = impl Into<Grant>>) -> Vec<u64> {
    let mut starts: Vec<u64> = grants.into_iter().map(intended_ns).collect();
    starts.sort_unstable();
    starts
}

/// A clock for one thread that jumps to the end of a pause and some time beyond it, and that can be set back.
#[derive(Debug, Default)]
pub(crate) struct RoughClock {
    now: AtomicU64,
    oversleep: AtomicU64,
}

impl RoughClock {
    pub(crate) fn set(&self, nanos: u64) {
        self.now.store(nanos, Ordering::Relaxed);
    }

    pub(crate) fn set_oversleep(&self, nanos: u64) {
        self.oversleep.store(nanos, Ordering::Relaxed);
    }
}

impl Clock for RoughClock {
    fn now(&self) -> Nanos {
        at(self.now.load(Ordering::Relaxed))
    }

    fn park(&self, _: &nanopace::Parker, until: Nanos) {
        self.set(until.as_nanos().saturating_add(self.oversleep.load(Ordering::Relaxed)));
    }
}
