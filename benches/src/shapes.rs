//! What loads cost that are not constant, beside one that is.

use crate::crew::{self, Work};
use crate::pacers;
use crate::rounds::{Samples, alternate, per_call};
use nanopace::{Arrivals, Lane, Pacer, PacerBuilder};
use std::hint::black_box;
use std::time::Duration;

const CALLS: u64 = 1 << 18;

/// Nanoseconds per call, one thread, slots due.
#[derive(Debug)]
pub struct Beside {
    /// `Pacer::acquire`, the constant load and the other one.
    pub shared: [Samples; 2],
    /// `Lane::acquire`.
    pub lane: [Samples; 2],
}

impl Beside {
    /// Both loads, in alternating rounds.
    ///
    /// # Panics
    /// When a slot is missing.
    #[must_use]
    pub fn measure(rounds: usize, load: fn() -> PacerBuilder) -> Beside {
        let loads = [constant, load];
        let [constant, other] = loads.map(|load| pacers::late(load()));
        let [mut constant_lane, mut lane] = loads.map(|load| pacers::late(load()).lane());
        let all = alternate(
            rounds,
            &mut [
                &mut || by_pacer(&constant),
                &mut || by_pacer(&other),
                &mut || by_lane(&mut constant_lane),
                &mut || by_lane(&mut lane),
            ],
        );
        let [constant, other, constant_lane, lane] = all.try_into().expect("four candidates");
        Beside { shared: [constant, other], lane: [constant_lane, lane] }
    }
}

fn by_pacer(pacer: &Pacer) -> f64 {
    per_call(CALLS, || pacer.acquire().expect("a slot"))
}

fn by_lane(lane: &mut Lane) -> f64 {
    per_call(CALLS, || lane.acquire().expect("a slot"))
}

fn constant() -> PacerBuilder {
    "1M/s".parse().expect("a rate")
}

/// From 0 to 1 M/s in 10 s, and back, again and again.
///
/// # Panics
/// Never.
pub fn ramp() -> PacerBuilder {
    "ramp 0/s..1M/s 10s mirror forever".parse().expect("a shape")
}

/// From 100/s to 5 k/s in 30 s, and back, again and again.
///
/// # Panics
/// Never.
pub fn slow_ramp() -> PacerBuilder {
    "ramp 100/s..5k/s 30s mirror forever".parse().expect("a shape")
}

/// From 0.5 to 1.5 M/s and back within a second.
///
/// # Panics
/// Never.
pub fn sine() -> PacerBuilder {
    "sine 500k/s..1500k/s period 1s forever".parse().expect("a shape")
}

/// 1 M/s at random moments.
pub fn poisson() -> PacerBuilder {
    constant().arrivals(Arrivals::poisson(1))
}

/// Threads that acquire at random moments from one pacer, slots due.
#[must_use]
pub fn poisson_shared(threads: usize, span: Duration) -> Work {
    let pacer = pacers::late(poisson());
    crew::run(threads, span, || {
        || {
            let _ = black_box(pacer.acquire());
        }
    })
}

/// The same by a lane each.
#[must_use]
pub fn poisson_lanes(threads: usize, span: Duration) -> Work {
    let pacer = pacers::late(poisson());
    crew::run(threads, span, || {
        let mut lane = pacer.lane();
        move || {
            let _ = black_box(lane.acquire());
        }
    })
}
