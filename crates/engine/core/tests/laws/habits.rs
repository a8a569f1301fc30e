//! Tests what a thread learns about its sleeps, and how long it sleeps and spins as a result. The estimates and the
//! spin budget belong to the thread, not to one of its pacers.

use crate::common::{HOUR, MICRO, MILLI, SECOND, at, rate, span};
use nanopace::{Clock, Nanos, Pacer, Parker, Pause};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// A clock on which a reading takes 100 ns. Each sleep ends up to 20 us too late, 10 us on average.
#[derive(Debug, Default)]
struct TickingClock(AtomicU64);

impl Clock for TickingClock {
    fn now(&self) -> Nanos {
        at(self.0.fetch_add(100, Relaxed))
    }

    fn park(&self, _: &Parker, until: Nanos) {
        // The factor is a prime, so that consecutive overruns differ.
        let overrun = until.as_nanos() / 100 * 7_919 % 20_000;
        self.0.fetch_max(until.as_nanos() + overrun, Relaxed);
    }
}

#[test]
fn a_thread_that_serves_two_pacers_keeps_its_budget_for_spinning() {
    let clock = Arc::new(TickingClock::default());
    let pacer = || {
        clock.0.fetch_add(100_000, Relaxed);
        Pacer::builder(rate("5k/s"))
            .pause(Pause::Hybrid)
            .spin_share(0.05)
            .clock(clock.clone())
            .build()
    };
    let pacers = [pacer(), pacer()];
    for _ in 0..5_000 {
        assert!(pacers.iter().all(|pacer| pacer.acquire().is_ok()));
    }
    let spun = pacers.map(|pacer| pacer.counters().spun).iter().sum();
    // The initial budget is 1 ms.
    let allowed = (clock.now() - at(0)).mul_f64(0.05) + span(MILLI);
    assert!((span(2 * MILLI)..=allowed).contains(&spun), "{spun:?} of {allowed:?}");
}

/// Neither clock advances while the thread waits on the other.
#[test]
fn moments_of_one_pacers_clock_are_not_used_for_another() {
    let clocks = [0, HOUR].map(|start| Arc::new(TickingClock(AtomicU64::new(start))));
    let pacers = clocks.clone().map(|clock| {
        Pacer::builder(rate("5k/s")).pause(Pause::Hybrid).spin_share(0.001).clock(clock).build()
    });
    for _ in 0..5_000 {
        assert!(pacers.iter().all(|pacer| pacer.acquire().is_ok()));
    }
    let spun: Duration = pacers.iter().map(|pacer| pacer.counters().spun).sum();
    assert!(spun <= span(2 * SECOND).mul_f64(0.001) + span(MILLI), "{spun:?}");
}

#[test]
fn the_first_sleep_for_another_pacer_is_not_stretched() {
    for start in [HOUR, 0] {
        let clock =
            Arc::new(SleepCounter { now: AtomicU64::new(start), sleeps: AtomicU64::new(0) });
        let pacer = Pacer::builder(rate("100k/s")).clock(clock.clone()).build();
        assert!((0..2).all(|_| pacer.acquire().is_ok()));
        assert_eq!(clock.now(), at(start + 10 * MICRO));
    }
}

#[derive(Debug, Default)]
struct SleepCounter {
    now: AtomicU64,
    sleeps: AtomicU64,
}

impl Clock for SleepCounter {
    fn now(&self) -> Nanos {
        at(self.now.load(Relaxed))
    }

    fn park(&self, _: &Parker, until: Nanos) {
        (0..10_000).for_each(|_| std::hint::spin_loop());
        self.now.store(until.as_nanos(), Relaxed);
        self.sleeps.fetch_add(1, Relaxed);
    }
}

#[test]
fn a_sleep_is_stretched_by_at_most_half_of_the_tolerated_lateness() {
    let clock = Arc::new(SleepCounter::default());
    let builder = Pacer::builder(rate("100k/s")).sleep_share(0.0).max_backlog(span(MILLI));
    let pacer = builder.clock(clock.clone()).build();
    // The first sleep is for slot 1. Each later sleep ends 500 us after its slot, so that 51 slots start.
    assert!((0..2 + 51 * 100).all(|_| pacer.acquire().is_ok()));
    assert_eq!(clock.sleeps.load(Relaxed), 1 + 100);
}

#[test]
fn slots_that_are_thirty_microseconds_apart_and_more_have_a_sleep_of_their_own_each() {
    for text in ["1/30us", "10k/s"] {
        let clock = Arc::new(SleepCounter::default());
        let pacer = Pacer::builder(rate(text)).clock(clock.clone()).build();
        assert!((0..=200).all(|_| pacer.acquire().is_ok()));
        assert_eq!(clock.sleeps.load(Relaxed), 200, "{text}");
    }
}

#[test]
fn hybrid_pausing_learns_how_far_sleeps_overrun_and_spins_for_no_more() {
    let clock = Arc::new(TickingClock::default());
    let pacer = Pacer::builder(rate("1000/s")).pause(Pause::Hybrid).clock(clock).build();
    let mut late = 0_u64;
    for slot in 0..1_000 {
        let grant = pacer.acquire().expect("open");
        late += u64::from(slot >= 100 && grant.wait_nanos() > 300);
    }
    let spun = pacer.counters().spun;
    // 94 % of the sleeps overrun by less than 18.8 us. A caller that allows for this overrun spins for 8.8 us on
    // average, which is about 9 ms in 1000 starts. The estimate is less precise for the first sleeps.
    assert!(late < 90 && spun < span(10 * MILLI), "{late} of 900 came late, {spun:?} spun");
}

#[test]
fn hybrid_pausing_spins_for_some_of_the_time_and_at_most_for_its_share() {
    for share in [0.05, 0.25] {
        let clock = Arc::new(TickingClock::default());
        let pacer = Pacer::builder(rate("10k/s"))
            .pause(Pause::Hybrid)
            .spin_share(share)
            .clock(clock.clone())
            .build();
        for _ in 0..10_000 {
            pacer.acquire().expect("open");
        }
        // The load lasts for 1 s. The spin budget is 1 ms at the start. Each spin lasts until the end of a reading.
        let spun = pacer.counters().spun;
        assert!(spun >= span(5 * MILLI), "{share}: {spun:?}");
        assert!(spun <= span(SECOND + MILLI).mul_f64(share) + span(3 * MILLI), "{share}: {spun:?}");
    }
}
