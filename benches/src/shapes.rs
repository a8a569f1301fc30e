//! Measures the cost of loads that are not constant, compared with a constant load.

use crate::clocks::LeapClock;
use crate::crew::Work;
use crate::rounds::{Samples, alternate, per_call};
use crate::{pacers, sweep};
use nanopace::{Arrivals, Ended, Grant, Pacer, PacerBuilder};
use std::time::Duration;

const CALLS: u32 = 1 << 18;

/// The lateness of the pacers. If a pacer is 29 minutes late or more, the engine cannot rule out that slots are beyond
/// the range of positions, and handles slots one by one. The measured costs would then be too high.
const LATE: Duration = Duration::from_secs(60);

const GAP: Duration = Duration::from_micros(1);

/// The costs of calls in nanoseconds per call, on one thread, with slots that are due.
#[derive(Debug)]
pub struct Beside {
    /// The cost of `Pacer::acquire` with the constant load, and with the other load.
    pub shared: [Samples; 2],
    /// The cost of `Lane::acquire` with the same two loads.
    pub lane: [Samples; 2],
}

impl Beside {
    /// Measures the constant load and `load`, whose mean interval is `gap`, in alternating rounds.
    ///
    /// # Panics
    /// Panics if a slot is missing.
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

/// Returns a builder for a load that ramps from 0 to 1 M/s in 10 s and back, repeatedly.
///
/// # Panics
/// Never panics, because the shape is valid.
pub fn ramp() -> PacerBuilder {
    "ramp 0/s..1M/s 10s mirror forever".parse().expect("a shape")
}

/// Returns a builder for a load that ramps from 100/s to 5 k/s in 30 s and back, repeatedly.
///
/// # Panics
/// Never panics, because the shape is valid.
pub fn slow_ramp() -> PacerBuilder {
    "ramp 100/s..5k/s 30s mirror forever".parse().expect("a shape")
}

/// Returns a builder for a sine wave between 0.5 and 1.5 M/s with a period of one second.
///
/// # Panics
/// Never panics, because the shape is valid.
pub fn sine() -> PacerBuilder {
    "sine 500k/s..1500k/s period 1s forever".parse().expect("a shape")
}

/// Returns a builder for 1 M/s with random (Poisson) arrivals.
pub fn poisson() -> PacerBuilder {
    constant().arrivals(Arrivals::poisson(1))
}

/// Measures threads that acquire random arrivals from one pacer, with slots that are due.
#[must_use]
pub fn poisson_shared(threads: usize, span: Duration) -> Work {
    sweep::by_pacer(&pacers::late(poisson(), LATE).0, threads, span, Pacer::acquire)
}

/// Measures threads that each acquire random arrivals from one pacer with their own lane. All slots are due.
#[must_use]
pub fn poisson_lanes(threads: usize, span: Duration) -> Work {
    sweep::by_lanes(&pacers::late(poisson(), LATE).0, threads, span)
}
