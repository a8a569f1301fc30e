//! Pacers in the state that a benchmark asks about.

use crate::clocks::{HurriedClock, LeapClock};
use nanopace::{Pacer, PacerBuilder, Rate};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// A rate that is written down in a benchmark.
///
/// # Panics
/// On a text that is no rate.
#[must_use]
pub fn rate(text: &str) -> Rate {
    text.parse().expect("a rate")
}

/// A pacer an hour behind its schedule of 1 G/s: every slot is due.
#[must_use]
pub fn behind() -> Pacer {
    late(Pacer::builder(rate("1G/s")), HOUR).0
}

/// A pacer behind its schedule, and its clock.
#[must_use]
pub fn late(builder: PacerBuilder, span: Duration) -> (Pacer, LeapClock) {
    let clock = LeapClock::new();
    let pacer = builder.clock(clock.clone()).build();
    clock.leap(span);
    (pacer, clock)
}

/// A pacer an hour behind its schedule of 10 M/s by a clock that runs `factor` times too fast: what
/// a lane takes within 10 us of that clock is a `factor`-th of what it takes otherwise. The clock
/// tells how many runs that were.
#[must_use]
pub fn hurried(factor: u32) -> (Pacer, HurriedClock) {
    let clock = HurriedClock::new(factor);
    let pacer = Pacer::builder(rate("10M/s")).clock(clock.clone()).build();
    clock.leap(HOUR);
    (pacer, clock)
}
