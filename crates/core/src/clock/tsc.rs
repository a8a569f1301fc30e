//! The processor's own counter.

use super::Clock;
use crate::Nanos;

/// The time-stamp counter, calibrated and read by the crate `quanta`; the default.
///
/// About 10 ns a reading where [`StdClock`](super::StdClock) takes 25. Where the processor has no counter that runs at
/// one speed on all cores, `quanta` asks the operating system instead. The first clock of a process takes up to 0.2 s to
/// calibrate. The origin is the process's own and arbitrary.
#[derive(Clone, Debug)]
pub struct TscClock {
    clock: quanta::Clock,
    origin: u64,
}

impl TscClock {
    /// A clock whose origin is now.
    #[must_use]
    pub fn new() -> TscClock {
        let clock = quanta::Clock::new();
        let origin = clock.raw();
        TscClock { clock, origin }
    }

    /// Whether this reads a counter of the processor, and not the operating system's clock.
    ///
    /// It is told by the ticks: a counter's are converted to nanoseconds, the operating system's are nanoseconds already. So a
    /// counter that was found to tick exactly once a nanosecond, as only 1 GHz counters on ARM can be, is taken for the
    /// operating system's clock.
    ///
    /// ```
    /// use nanopace::TscClock;
    ///
    /// let source = if TscClock::new().reads_counter() { "counter" } else { "operating system" };
    /// println!("time comes from the {source}");
    /// ```
    #[must_use]
    pub fn reads_counter(&self) -> bool {
        // A counter's rate is known to some 30 bits: ticks enough for any difference to show.
        const TICKS: u64 = 1 << 40;
        self.clock.delta_as_nanos(0, TICKS) != TICKS
    }
}

impl Default for TscClock {
    fn default() -> TscClock {
        TscClock::new()
    }
}

impl Clock for TscClock {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos::from_nanos(self.clock.delta_as_nanos(self.origin, self.clock.raw()))
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::TscClock;

    /// `quanta` tells which of its clocks it chose only when debugged.
    #[test]
    fn what_is_read_is_what_quanta_chose() {
        let clock = TscClock::new();
        let shown = format!("{clock:?}");
        assert_eq!(clock.reads_counter(), shown.contains("Counter"), "{shown}");
        assert_ne!(clock.reads_counter(), shown.contains("{ inner: Monotonic"), "{shown}");
    }
}
