//! Measures the CPU time that the load threads used and needed. It shows whether the target was slow or the generator
//! lacked CPU time.

use std::time::Duration;

/// The CPU time of a thread, or the sum over several threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuTime {
    /// The time in which the thread ran.
    pub(crate) had: Duration,
    /// The time in which the thread ran or was ready to run.
    pub(crate) wanted: Duration,
}

impl CpuTime {
    /// Returns the time in which the thread was ready to run but did not run.
    pub(crate) fn queued(self) -> Duration {
        self.wanted.saturating_sub(self.had)
    }

    /// Returns the CPU time since an `earlier` reading.
    pub(crate) fn since(self, earlier: CpuTime) -> CpuTime {
        CpuTime {
            had: self.had.saturating_sub(earlier.had),
            wanted: self.wanted.saturating_sub(earlier.wanted),
        }
    }
}

/// Returns the CPU time of each thread since the earlier readings `then`.
pub(crate) fn since(now: &[CpuTime], then: &[CpuTime]) -> Vec<CpuTime> {
    now.iter().zip(then).map(|(now, then)| now.since(*then)).collect()
}

/// Returns the sum over all threads, or `None` if there are no threads.
pub(crate) fn sum(times: Vec<CpuTime>) -> Option<CpuTime> {
    let add = |a: CpuTime, b: CpuTime| CpuTime { had: a.had + b.had, wanted: a.wanted + b.wanted };
    times.into_iter().reduce(add)
}
