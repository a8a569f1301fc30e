//! The operating system's monotonic clock, with its own numbers.

use crate::{Clock, Nanos};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// `CLOCK_MONOTONIC`, whose moments are its nanoseconds themselves; on Unix.
///
/// Other code reads the same number, in this process and in others on the machine: timers of the system (`timerfd`),
/// `time.monotonic_ns` of Python, `System.nanoTime` of Java on Linux. So their moments can be compared with those of
/// grants, and a moment of this clock can be set as a timer. A reading takes about 20 ns, compared with 10 ns for
/// [`TscClock`](crate::TscClock); pauses are equally exact.
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
