//! What does a shape cost, beside a constant rate?
//!
//! All slots are due: before each sample the clock moves on by as much as its slots take on average. The
//! first two ramps go through 1 M/s with the slope of 0 to 1 M/s in 10 s, and of 0 to 1 M/s in 100 s.

use criterion::{Criterion, criterion_group, criterion_main};
use nanopace::{Arrivals, Ended, Grant, ManualClock, Pacer, PacerBuilder};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// So late are slots at least, and the first ones of a sample later by all of it.
const LATE: Duration = Duration::from_secs(60);

fn shape(text: &str) -> PacerBuilder {
    Pacer::shaped(text.parse().expect("a shape"))
}

fn constant() -> PacerBuilder {
    Pacer::builder("1M/s".parse().expect("a rate"))
}

fn build(builder: PacerBuilder) -> (Pacer, ManualClock) {
    let clock = ManualClock::new();
    let pacer = builder.clock(clock.clone()).build();
    clock.advance(LATE);
    (pacer, clock)
}

/// The time that so many starts take.
fn time(
    starts: u64,
    gap: Duration,
    clock: &ManualClock,
    mut acquire: impl FnMut() -> Result<Grant, Ended>,
) -> Duration {
    clock.advance(gap * u32::try_from(starts).expect("a sample"));
    let before = Instant::now();
    for _ in 0..starts {
        let _ = black_box(acquire().map(Grant::wait_nanos)).expect("a slot");
    }
    before.elapsed()
}

/// Name, what a slot takes on average, and the load.
fn loads() -> Vec<(&'static str, Duration, PacerBuilder)> {
    let slow = ("ramp 100/s to 5k/s", "ramp 100/s..5k/s 30s mirror forever");
    let loads = vec![
        ("constant", constant()),
        ("ramp of 10 s", shape("ramp 950k/s..1050k/s 1s mirror forever")),
        ("ramp of 100 s", shape("ramp 950k/s..1050k/s 10s mirror forever")),
        ("ramp from zero", shape("ramp 0/s..2M/s 20s mirror forever")),
        ("sine of 1 s", shape("sine 500k/s..1500k/s period 1s forever")),
        ("sine of 60 s", shape("sine 500k/s..1500k/s period 60s forever")),
        ("jitter", constant().arrivals(Arrivals::jitter(0.5, 1).expect("a part"))),
        ("Poisson", constant().arrivals(Arrivals::poisson(1))),
    ];
    let loads = loads.into_iter().map(|(name, load)| (name, Duration::from_micros(1), load));
    loads.chain([(slow.0, Duration::from_secs(1) / 2_550, shape(slow.1))]).collect()
}

fn shapes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("shared");
    for (name, gap, builder) in loads() {
        let (pacer, clock) = build(builder);
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|starts| time(starts, gap, &clock, || pacer.acquire()));
        });
    }
    group.finish();

    let mut group = criterion.benchmark_group("lane");
    for (name, gap, builder) in loads() {
        let (pacer, clock) = build(builder);
        let mut lane = pacer.lane();
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|starts| time(starts, gap, &clock, || lane.acquire()));
        });
    }
    group.finish();
}

criterion_group!(benches, shapes);
criterion_main!(benches);
