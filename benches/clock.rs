//! What does it cost to know the time: from the operating system, the time-stamp counter, or
//! somebody else's reading?

use criterion::{Criterion, criterion_group, criterion_main};
use nanopace::{Clock, Nanos, StdClock, TscClock};
use std::sync::atomic::{AtomicU64, Ordering::Acquire};

fn clock(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("clock");
    let (operating_system, counter) = (StdClock::new(), TscClock::new());
    for (name, clock) in [("std", &operating_system as &dyn Clock), ("counter", &counter)] {
        let mut last = Nanos::ZERO;
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let now = clock.now();
                // A clock of one thread does not run backwards.
                assert!(now >= last);
                last = now;
                now
            });
        });
        assert!(last > Nanos::ZERO, "{name} stood still");
    }
    let raw = quanta::Clock::new();
    let first = raw.raw();
    group.bench_function("raw counter, not converted", |bencher| bencher.iter(|| raw.raw()));
    assert!(raw.raw() > first, "the counter stood still");
    let seen = AtomicU64::new(first);
    group.bench_function("somebody else's reading, a load", |bencher| {
        bencher.iter(|| seen.load(Acquire));
    });
    assert_eq!(seen.into_inner(), first);
    group.finish();
}

criterion_group!(benches, clock);
criterion_main!(benches);
