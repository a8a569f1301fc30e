//! What does one claim cost, when slots are due?
//!
//! The bare baseline is one relaxed `fetch_add`. All figures are taken in one run; look at the ratios.

use criterion::{Criterion, criterion_group, criterion_main};
use nanopace::{ManualClock, Pacer, Rate, Strictness};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A pacer that is 34 years behind its schedule: every slot is due.
fn behind(strictness: f64) -> Pacer {
    let clock = ManualClock::new();
    let rate = Rate::per_second(1_000_000).expect("a rate");
    let strictness = Strictness::new(strictness).expect("a strictness");
    let pacer = Pacer::builder(rate).strictness(strictness).clock(clock.clone()).build();
    clock.advance(Duration::from_secs(1 << 30));
    pacer
}

fn claim(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("claim");
    let bare = AtomicU64::new(0);
    group.bench_function("bare fetch_add", |bencher| {
        bencher.iter(|| bare.fetch_add(black_box(1), Ordering::Relaxed))
    });
    let pacer = behind(0.0);
    group.bench_function("shared acquire", |bencher| bencher.iter(|| pacer.acquire()));
    group.bench_function("shared acquire, wait time read", |bencher| {
        bencher.iter(|| pacer.acquire().map(|grant| grant.wait_nanos()));
    });
    group.bench_function("try_acquire", |bencher| bencher.iter(|| pacer.try_acquire()));
    let mut lane = pacer.lane();
    group.bench_function("lane acquire", |bencher| bencher.iter(|| lane.acquire()));
    drop(lane);
    let strict = behind(1.0);
    group.bench_function("shared try_acquire, strict", |bencher| bencher.iter(|| strict.try_acquire()));
    group.finish();
    assert_eq!(pacer.ledger().skipped, 0, "every slot was granted");
}

criterion_group!(benches, claim);
criterion_main!(benches);
