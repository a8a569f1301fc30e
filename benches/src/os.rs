//! Accesses the operating system's clocks and timers, as the bare baseline of timed figures.

pub use platform::{least_slack, now, process_time, sleep_until, thread_time};

#[cfg(target_os = "linux")]
mod platform {
    use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};
    use rustix::time::{Timespec, clock_gettime};
    use std::num::NonZeroU64;
    use std::time::Duration;

    /// Sets the timer slack of the calling thread to 1 ns.
    ///
    /// # Panics
    /// Panics if the system rejects the setting, because a worse baseline would make the engine look better.
    pub fn least_slack() {
        set_current_timer_slack(NonZeroU64::new(1))
            .expect("a thread that may set its own timer slack");
    }

    /// Reads the monotonic clock.
    #[must_use]
    pub fn now() -> Duration {
        duration(clock_gettime(rustix::time::ClockId::Monotonic))
    }

    /// Returns the CPU time of the calling thread.
    #[must_use]
    pub fn thread_time() -> Duration {
        duration(clock_gettime(rustix::time::ClockId::ThreadCPUTime))
    }

    /// Returns the CPU time of all threads of the process.
    #[must_use]
    pub fn process_time() -> Duration {
        duration(clock_gettime(rustix::time::ClockId::ProcessCPUTime))
    }

    /// Sleeps until an absolute time with one system call, which is repeated only after an interruption.
    ///
    /// # Panics
    /// Panics if the system cannot represent the time.
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

    /// Does nothing, because other systems have no timer slack.
    pub fn least_slack() {}

    /// Reads the monotonic clock.
    #[must_use]
    pub fn now() -> Duration {
        ORIGIN.elapsed()
    }

    /// Returns zero, because the CPU time is unknown on these systems. Shares are then reported as 0.
    #[must_use]
    pub fn thread_time() -> Duration {
        Duration::ZERO
    }

    /// Returns zero, because the CPU time is unknown on these systems. Shares are then reported as 0.
    #[must_use]
    pub fn process_time() -> Duration {
        Duration::ZERO
    }

    /// Sleeps until about an absolute time, with a relative sleep.
    pub fn sleep_until(moment: Duration) {
        std::thread::sleep(moment.saturating_sub(now()));
    }
}
