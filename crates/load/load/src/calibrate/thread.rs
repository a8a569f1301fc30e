//! Reads the timer slack, the CPU time and the clock source on Linux, and sets the timer slack. On other systems, the
//! functions return `None` or `false`. The engine has code for the same tasks, but it is private.

#[cfg(target_os = "linux")]
mod platform {
    use rustix::thread::{current_timer_slack, set_current_timer_slack};
    use rustix::time::{ClockId, clock_gettime};
    use std::fs;
    use std::num::NonZeroU64;
    use std::time::Duration;

    pub(in crate::calibrate) fn timer_slack() -> Option<Duration> {
        current_timer_slack().ok().map(Duration::from_nanos)
    }

    /// Sets the calling thread's timer slack to 1 ns, and does not restore it. Returns whether this succeeded.
    pub(in crate::calibrate) fn set_fine_timers() -> bool {
        set_current_timer_slack(Some(NonZeroU64::MIN)).is_ok()
    }

    pub(in crate::calibrate) fn cpu_time() -> Option<Duration> {
        Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).ok()
    }

    pub(in crate::calibrate) fn clock_source() -> Option<String> {
        let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        fs::read_to_string(file).ok().map(|text| text.trim().to_owned())
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use std::time::Duration;

    pub(in crate::calibrate) fn timer_slack() -> Option<Duration> {
        None
    }

    pub(in crate::calibrate) fn set_fine_timers() -> bool {
        false
    }

    pub(in crate::calibrate) fn cpu_time() -> Option<Duration> {
        None
    }

    pub(in crate::calibrate) fn clock_source() -> Option<String> {
        None
    }
}

pub(super) use platform::{clock_source, cpu_time, set_fine_timers, timer_slack};
