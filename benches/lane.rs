//! What does a lane's grant cost, by the size of its blocks?
//!
//! The bare baseline is one relaxed `fetch_add`. A block of 10 us of schedule is one slot at 100 k/s and a thousand at 100 M/s;
//! what taking a block costs shows where blocks are small.

use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main, measurement::WallTime};
use nanopace::{Grant, Pacer};
use nanopace_benches::pacers::{behind, in_blocks, rate};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Runs the call on a lane, and checks that all its slots were granted once and recorded.
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
    assert_eq!(pacer.stats().wait_time().len(), calls, "{name}: the statistics missed a start");
}

fn lane(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("lane");
    let word = AtomicU64::new(0);
    group.bench_function("bare fetch_add", |bencher| bencher.iter(|| word.fetch_add(1, Relaxed)));
    bench(&mut group, "far behind", &behind(0.0), |grant| grant);
    bench(&mut group, "far behind, wait time read", &behind(0.0), Grant::wait_nanos);
    for (name, text) in [("1", "100k/s"), ("10", "1M/s"), ("100", "10M/s"), ("1000", "100M/s")] {
        bench(&mut group, &format!("blocks of {name}"), &in_blocks(rate(text)), |grant| grant);
    }
    group.finish();
}

criterion_group!(benches, lane);
criterion_main!(benches);
