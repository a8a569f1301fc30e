//! What does one claim cost: ahead of and behind schedule, in each strictness?
//!
//! The bare baseline is one relaxed `fetch_add`. All figures are taken in one run; look at the
//! ratios.

use criterion::{
    BenchmarkGroup, Criterion, criterion_group, criterion_main, measurement::WallTime,
};
use nanopace::driver::Drive as _;
use nanopace::{Grant, ManualClock, Pacer, Refused};
use nanopace_benches::pacers::{behind, overrun, rate};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

type Group<'a> = BenchmarkGroup<'a, WallTime>;

/// Runs the call, and checks that the pacer granted as many slots as there were calls.
fn bench<T>(group: &mut Group<'_>, name: &str, pacer: &Pacer, mut call: impl FnMut(&Pacer) -> T) {
    let before = pacer.ledger().granted;
    let mut calls = 0;
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            calls += 1;
            call(pacer)
        });
    });
    assert_eq!(pacer.ledger().granted - before, calls, "{name}: a slot was lost or granted twice");
}

/// Slots due in an open loop: one atomic addition.
fn due(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("claim, due");
    let (word, mut calls) = (AtomicU64::new(0), 0);
    group.bench_function("bare fetch_add", |bencher| {
        bencher.iter(|| {
            calls += 1;
            word.fetch_add(1, Relaxed)
        });
    });
    assert_eq!(word.load(Relaxed), calls, "an addition was lost");
    let average = behind(0.0);
    bench(&mut group, "average", &average, |pacer| pacer.acquire().is_ok());
    bench(&mut group, "average, grant kept", &average, |pacer| black_box(pacer.acquire()).is_ok());
    bench(&mut group, "average, wait time read", &average, |pacer| {
        pacer.acquire().map(Grant::wait_nanos)
    });
    bench(&mut group, "average, try_acquire", &average, |pacer| pacer.try_acquire().is_ok());
    bench(&mut group, "average, claim and start", &average, |pacer| {
        pacer.claim().is_ok_and(|mut claim| claim.start().is_ok())
    });
    group.finish();
}

/// Where a policy is set, each start is judged under a lock, by a reading of its own, whether there
/// is anything to do or not.
fn judged(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("claim, judged by a policy");
    bench(&mut group, "partial 0.5, within tolerance", &behind(0.5), |pacer| {
        pacer.acquire().is_ok()
    });
    bench(&mut group, "burst 1.1, within tolerance", &behind(1.1), |pacer| pacer.acquire().is_ok());
    bench(&mut group, "partial 0.5", &overrun(0.5), |pacer| pacer.acquire().is_ok());
    bench(&mut group, "strict", &overrun(1.0), |pacer| pacer.acquire().is_ok());
    bench(&mut group, "burst 1.1", &overrun(1.1), |pacer| pacer.acquire().is_ok());
    group.finish();
}

/// Slots that are not due: what refusing costs, and what pacing costs beside the pause itself.
fn ahead(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("claim, ahead");
    let pacer = Pacer::new(rate("1/d"));
    assert!(pacer.try_acquire().is_ok(), "slot 0 is due");
    group.bench_function("try_acquire, refused", |bencher| {
        bencher.iter(|| assert!(matches!(pacer.try_acquire(), Err(Refused::NotUntil(_)))));
    });
    group.bench_function("claim, and drop it", |bencher| bencher.iter(|| pacer.claim().is_ok()));
    group.bench_function("next_due", |bencher| bencher.iter(|| pacer.next_due().is_ok()));
    assert_eq!(pacer.ledger().granted, 1, "a slot was granted early");
    // Its sleeps take no time, so that only the pacer's own work is left.
    let jumping = Pacer::builder(rate("1k/s")).clock(ManualClock::jumping()).build();
    bench(&mut group, "acquire, the pause itself free", &jumping, |pacer| pacer.acquire().is_ok());
    group.finish();
}

criterion_group!(benches, due, judged, ahead);
criterion_main!(benches);
