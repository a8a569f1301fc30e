//! Builds pacers whose slots are all due, for benchmarks.

use crate::clocks::{HurriedClock, LeapClock};
use nanopace::{Pacer, PacerBuilder, Rate};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// Parses a rate that is written in a benchmark.
///
/// # Panics
/// Panics if the string is not a valid rate.
#[must_use]
pub fn rate(text: &str) -> Rate {
    text.parse().expect("a rate")
}

/// Returns a pacer that is an hour late on a schedule of 1 G/s, so that every slot is due.
#[must_use]
pub fn behind() -> Pacer {
    late(Pacer::builder(rate("1G/s")), HOUR).0
}

/// Returns a pacer that is `span` late, and its clock.
#[must_use]
pub fn late(builder: PacerBuilder, span: Duration) -> (Pacer, LeapClock) {
    let clock = LeapClock::new();
    let pacer = builder.clock(clock.clone()).build();
    clock.leap(span);
    (pacer, clock)
}

/// Returns a pacer that is an hour late on a schedule of 10 M/s, with a clock that runs `factor` times too fast. A lane
/// claims the slots that it grants within 10 us of its clock, so its runs are `factor` times shorter. A lane reads the
/// clock once per run, so the increase of [`HurriedClock::readings`] is the number of runs.
#[must_use]
pub fn hurried(factor: u32) -> (Pacer, HurriedClock) {
    let clock = HurriedClock::new(factor);
    let pacer = Pacer::builder(rate("10M/s")).clock(clock.clone()).build();
    clock.leap(HOUR);
    (pacer, clock)
}
