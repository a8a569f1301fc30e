//! What the operating system's own clock and timers do: the bare baseline of the timed figures.

pub use platform::{least_slack, now, process_time, sleep_until, thread_time};

#[cfg(target_os = "linux")]
mod platform {
    use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};
    use rustix::time::{Timespec, clock_gettime};
    use std::num::NonZeroU64;
    use std::time::Duration;

    /// The calling thread's timers have the least slack from now on.
    ///
    /// # Panics
    /// Where the system refuses: the baseline would be worse, and we would look better.
    pub fn least_slack() {
        set_current_timer_slack(NonZeroU64::new(1))
            .expect("a thread that may set its own timer slack");
    }

    /// The monotonic clock.
    ///
    /// # Panics
    /// On a clock before its own origin.
    #[must_use]
    pub fn now() -> Duration {
        duration(clock_gettime(rustix::time::ClockId::Monotonic))
    }

    /// Processor time of the calling thread.
    ///
    /// # Panics
    /// On a clock before its own origin.
    #[must_use]
    pub fn thread_time() -> Duration {
        duration(clock_gettime(rustix::time::ClockId::ThreadCPUTime))
    }

    /// Processor time of all threads of the process.
    ///
    /// # Panics
    /// On a clock before its own origin.
    #[must_use]
    pub fn process_time() -> Duration {
        duration(clock_gettime(rustix::time::ClockId::ProcessCPUTime))
    }

    /// The bare absolute sleep.
    ///
    /// # Panics
    /// On a moment that the system can't express.
    pub fn sleep_until(moment: Duration) {
        let moment = Timespec::try_from(moment).expect("a moment of this century");
        while clock_nanosleep_absolute(ClockId::Monotonic, &moment).is_err() {}
    }

    fn duration(moment: Timespec) -> Duration {
        Duration::try_from(moment).expect("a clock that does not run backwards")
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use std::sync::LazyLock;
    use std::time::{Duration, Instant};

    static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

    /// Other systems have no such knob.
    pub fn least_slack() {}

    /// The monotonic clock.
    #[must_use]
    pub fn now() -> Duration {
        ORIGIN.elapsed()
    }

    /// Not known here: shares show as 0.
    #[must_use]
    pub fn thread_time() -> Duration {
        Duration::ZERO
    }

    /// Not known here: shares show as 0.
    #[must_use]
    pub fn process_time() -> Duration {
        Duration::ZERO
    }

    /// The nearest to an absolute sleep there is.
    pub fn sleep_until(moment: Duration) {
        std::thread::sleep(moment.saturating_sub(now()));
    }
}
