//! Implements a clock that returns the values of `CLOCK_MONOTONIC` unchanged.

use crate::{Clock, Nanos};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The clock `CLOCK_MONOTONIC` of Unix systems. A time of this clock is the value of `CLOCK_MONOTONIC` in nanoseconds.
///
/// On Linux, other code in the same time namespace reads the same values, also in other processes: system timers
/// (`timerfd`), Python's `time.monotonic_ns` and Java's `System.nanoTime`. You can therefore compare these values with
/// the times of grants, and set a system timer to a time of this clock. A reading takes about 20 ns, compared with 10
/// ns for [`TscClock`](crate::TscClock). Pauses are equally exact with both clocks.
///
/// ```
/// use nanopace_nanos::{Clock, MonotonicClock};
///
/// let earlier = MonotonicClock.now();
/// assert!(MonotonicClock.now() >= earlier); // both by CLOCK_MONOTONIC
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct MonotonicClock;

impl Clock for MonotonicClock {
    fn now(&self) -> Nanos {
        let time = clock_gettime(ClockId::Monotonic);
        Nanos::ZERO + Duration::try_from(time).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_moments_are_those_of_the_system() {
        let system = || clock_gettime(ClockId::Monotonic);
        for _ in 0..1_000 {
            let (before, now, after) = (system(), MonotonicClock.now().as_nanos(), system());
            let [before, after] = [before, after].map(|time| {
                u64::try_from(time.tv_sec * 1_000_000_000 + time.tv_nsec).expect("not negative")
            });
            assert!((before..=after).contains(&now), "{before} {now} {after}");
        }
    }
}
