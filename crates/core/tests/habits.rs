//! What a thread has learnt and spent is its own, whatever pacers it serves.

mod common;

use common::{MILLI, at, rate, span};
use nanopace::clock::Parker;
use nanopace::{Clock, Nanos, Pacer, Pause};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Reading it takes 100 ns, and sleeping until a moment 10 us longer than that.
#[derive(Debug, Default)]
struct TickingClock(AtomicU64);

impl Clock for TickingClock {
    fn now(&self) -> Nanos {
        at(self.0.fetch_add(100, Relaxed))
    }

    fn park(&self, _: &Parker, until: Nanos) {
        self.0.fetch_max(until.as_nanos() + 10_000, Relaxed);
    }
}

#[test]
fn a_thread_that_serves_two_pacers_keeps_its_budget_for_spinning() {
    let clock = Arc::new(TickingClock::default());
    let pacer = || {
        clock.0.fetch_add(100_000, Relaxed);
        Pacer::builder(rate("5k/s")).pause(Pause::Hybrid).spin_share(0.05).clock(clock.clone()).build()
    };
    let pacers = [pacer(), pacer()];
    for _ in 0..5_000 {
        assert!(pacers.iter().all(|pacer| pacer.acquire().is_ok()));
    }
    let spun = pacers.map(|pacer| pacer.stats().spun()).iter().sum();
    // A millisecond is there at first.
    let allowed = (clock.now() - at(0)).mul_f64(0.05) + span(MILLI);
    assert!((span(2 * MILLI)..=allowed).contains(&spun), "{spun:?} of {allowed:?}");
}
