//! CPU time that the load threads used and wanted. It distinguishes a slow target from a generator that lacks CPU time.

use std::time::Duration;

/// CPU time of a thread, or a sum over threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuTime {
    /// Time in which it ran.
    pub(crate) had: Duration,
    /// Time in which it ran or was ready to run.
    pub(crate) wanted: Duration,
}

impl CpuTime {
    /// Time in which it was ready to run, and did not.
    pub(crate) fn queued(self) -> Duration {
        self.wanted.saturating_sub(self.had)
    }

    /// The time since `earlier`.
    pub(crate) fn since(self, earlier: CpuTime) -> CpuTime {
        CpuTime {
            had: self.had.saturating_sub(earlier.had),
            wanted: self.wanted.saturating_sub(earlier.wanted),
        }
    }
}

/// The time of each thread since `then`.
pub(crate) fn since(now: &[CpuTime], then: &[CpuTime]) -> Vec<CpuTime> {
    now.iter().zip(then).map(|(now, then)| now.since(*then)).collect()
}

/// The time of all threads together. None if it is not known.
pub(crate) fn sum(times: Vec<CpuTime>) -> Option<CpuTime> {
    let add = |a: CpuTime, b: CpuTime| CpuTime { had: a.had + b.had, wanted: a.wanted + b.wanted };
    times.into_iter().reduce(add)
}
