//! What loads cost that are not constant, beside one that is.

use crate::clocks::LeapClock;
use crate::crew::Work;
use crate::rounds::{Samples, alternate, per_call};
use crate::{pacers, sweep};
use nanopace::{Arrivals, Ended, Grant, Pacer, PacerBuilder};
use std::time::Duration;

const CALLS: u32 = 1 << 18;

/// What is late by some 30 minutes may be beyond the range, and is looked at one by one.
const LATE: Duration = Duration::from_secs(60);

/// Between the slots of the constant load.
const GAP: Duration = Duration::from_micros(1);

/// Nanoseconds per call, one thread, slots due.
#[derive(Debug)]
pub struct Beside {
    /// `Pacer::acquire`, the constant load and the other one.
    pub shared: [Samples; 2],
    /// `Lane::acquire`.
    pub lane: [Samples; 2],
}

impl Beside {
    /// Both loads, in alternating rounds. The other one has a slot every `gap` on average.
    ///
    /// # Panics
    /// When a slot is missing.
    #[must_use]
    pub fn measure(rounds: usize, load: fn() -> PacerBuilder, gap: Duration) -> Beside {
        let loads = [(constant(), GAP), (load(), gap), (constant(), GAP), (load(), gap)];
        let [constant, other, constant_lane, lane] = loads.map(|(load, gap)| Late::new(load, gap));
        let [mut by_constant, mut by_other] = [&constant_lane, &lane].map(|late| late.pacer.lane());
        let all = alternate(
            rounds,
            &mut [
                &mut || constant.measure(|| constant.pacer.acquire()),
                &mut || other.measure(|| other.pacer.acquire()),
                &mut || constant_lane.measure(|| by_constant.acquire()),
                &mut || lane.measure(|| by_other.acquire()),
            ],
        );
        let [constant, other, constant_lane, lane] = all.try_into().expect("four candidates");
        Beside { shared: [constant, other], lane: [constant_lane, lane] }
    }
}

/// A pacer that is late by about [`LATE`] in each round.
struct Late {
    pacer: Pacer,
    clock: LeapClock,
    gap: Duration,
}

impl Late {
    fn new(load: PacerBuilder, gap: Duration) -> Late {
        let (pacer, clock) = pacers::late(load, LATE);
        Late { pacer, clock, gap }
    }

    fn measure(&self, mut acquire: impl FnMut() -> Result<Grant, Ended>) -> f64 {
        self.clock.leap(self.gap * CALLS);
        per_call(CALLS.into(), || acquire().expect("a slot"))
    }
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
///
/// # Panics
/// When a slot is lost or granted twice.
#[must_use]
pub fn poisson_shared(threads: usize, span: Duration) -> Work {
    sweep::by_pacer(&pacers::late(poisson(), LATE).0, threads, span, Pacer::acquire)
}

/// The same by a lane each.
///
/// # Panics
/// When a slot is lost or granted twice.
#[must_use]
pub fn poisson_lanes(threads: usize, span: Duration) -> Work {
    sweep::by_lanes(&pacers::late(poisson(), LATE).0, threads, span)
}
