//! How much processor time a thread has had.

/// The processor time of this thread in nanoseconds, from the operating system.
#[cfg(target_os = "linux")]
pub(super) fn thread_time_ns() -> i64 {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

/// The processor time is not known here. It stays zero, and nothing is learnt from it.
#[cfg(not(target_os = "linux"))]
pub(super) fn thread_time_ns() -> i64 {
    0
}
