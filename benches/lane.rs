//! What does a lane's grant cost, by the length of its runs?
//!
//! The bare baseline is one relaxed `fetch_add`. A lane that does nothing but acquire takes runs of
//! 2048 slots. On a clock that runs too fast they are shorter, and what taking a run costs shows.
//! How long they were on average is printed.

use criterion::{
    BenchmarkGroup, Criterion, criterion_group, criterion_main, measurement::WallTime,
};
use nanopace::{Grant, Pacer};
use nanopace_benches::float;
use nanopace_benches::pacers::{behind, hurried};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Runs the call on a lane, and checks that all its slots were granted once.
fn bench<T>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    pacer: &Pacer,
    mut call: impl FnMut(Grant) -> T,
) {
    let mut lane = pacer.lane();
    let mut calls = 0;
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            calls += 1;
            lane.acquire().map(&mut call)
        });
    });
    drop(lane);
    assert_eq!(pacer.ledger().granted, calls, "{name}: a slot was lost or granted twice");
}

/// In runs of about that length, which are counted by the readings of the clock.
fn bench_runs(group: &mut BenchmarkGroup<'_, WallTime>, length: &str, factor: u32) {
    let (pacer, clock) = hurried(factor);
    bench(group, &format!("runs of about {length}"), &pacer, |grant| grant);
    let slots = float(pacer.ledger().granted) / float(clock.readings());
    // Less than one: it was not asked for.
    if slots >= 1.0 {
        println!("runs of about {length}: {slots:.1} slots on average");
    }
}

fn lane(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("lane");
    let word = AtomicU64::new(0);
    group.bench_function("bare fetch_add", |bencher| bencher.iter(|| word.fetch_add(1, Relaxed)));
    bench(&mut group, "far behind", &behind(0.0), |grant| grant);
    bench(&mut group, "far behind, wait time read", &behind(0.0), Grant::wait_nanos);
    for (length, factor) in [("1", 1_000), ("10", 70), ("100", 40), ("1000", 8)] {
        bench_runs(&mut group, length, factor);
    }
    group.finish();
}

criterion_group!(benches, lane);
criterion_main!(benches);
