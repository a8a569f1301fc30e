//! What does a shape cost, beside a constant rate?
//!
//! All slots are due: the schedule is days behind. The ramps go through 1 M/s with the slope of
//! 0 to 1 M/s in 10 s, and of 0 to 1 M/s in 100 s.

use criterion::{Criterion, criterion_group, criterion_main};
use nanopace::{Arrivals, Grant, ManualClock, Pacer, PacerBuilder};
use std::time::Duration;

const LATE: Duration = Duration::from_secs(1 << 20);

fn shape(text: &str) -> PacerBuilder {
    Pacer::shaped(text.parse().expect("a shape"))
}

fn constant() -> PacerBuilder {
    Pacer::builder("1M/s".parse().expect("a rate"))
}

fn behind(builder: PacerBuilder) -> Pacer {
    let clock = ManualClock::new();
    let pacer = builder.clock(clock.clone()).build();
    clock.advance(LATE);
    pacer
}

fn loads() -> Vec<(&'static str, PacerBuilder)> {
    vec![
        ("constant", constant()),
        ("ramp of 10 s", shape("ramp 950k/s..1050k/s 1s mirror forever")),
        ("ramp of 100 s", shape("ramp 950k/s..1050k/s 10s mirror forever")),
        ("sine of 60 s", shape("sine 500k/s..1500k/s period 60s forever")),
        ("jitter", constant().arrivals(Arrivals::jitter(0.5, 1).expect("a part"))),
        ("Poisson", constant().arrivals(Arrivals::poisson(1))),
    ]
}

fn shapes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("shared");
    for (name, builder) in loads() {
        let pacer = behind(builder);
        group.bench_function(name, |bencher| {
            bencher.iter(|| pacer.acquire().map(Grant::wait_nanos));
        });
    }
    group.finish();

    let mut group = criterion.benchmark_group("lane");
    for (name, builder) in loads() {
        let pacer = behind(builder);
        let mut lane = pacer.lane();
        group.bench_function(name, |bencher| {
            bencher.iter(|| lane.acquire().map(Grant::wait_nanos));
        });
    }
    group.finish();
}

criterion_group!(benches, shapes);
criterion_main!(benches);
