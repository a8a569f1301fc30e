//! Defines the CPU time of load threads, which shows whether the generator lacked CPU time.

use std::time::Duration;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuTime {
    pub(crate) had: Duration,
    /// The time for which the thread ran or was ready to run.
    pub(crate) wanted: Duration,
}

impl CpuTime {
    pub(crate) fn queued(self) -> Duration {
        self.wanted.saturating_sub(self.had)
    }

    pub(crate) fn since(self, earlier: CpuTime) -> CpuTime {
        CpuTime {
            had: self.had.saturating_sub(earlier.had),
            wanted: self.wanted.saturating_sub(earlier.wanted),
        }
    }
}

pub(crate) fn since(now: &[CpuTime], then: &[CpuTime]) -> Vec<CpuTime> {
    now.iter().zip(then).map(|(now, then)| now.since(*then)).collect()
}

pub(crate) fn sum(times: Vec<CpuTime>) -> Option<CpuTime> {
    let add = |a: CpuTime, b: CpuTime| CpuTime { had: a.had + b.had, wanted: a.wanted + b.wanted };
    times.into_iter().reduce(add)
}
