//! How much CPU a worker thread needed. This tells a slow target from a generator that is short of
//! CPU.

use std::fs;
use std::time::Duration;

/// Measures the calling thread from when it is made.
#[derive(Debug)]
pub(crate) struct CpuMeter(Option<Duration>);

/// Seconds that a worker was inside requests, and seconds that its thread ran or was ready to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuDemand {
    busy: f64,
    wanted: f64,
}

impl CpuMeter {
    /// Starts measuring the calling thread.
    pub(crate) fn start() -> CpuMeter {
        CpuMeter(cpu_wanted())
    }

    /// What the thread needed since then, if it was inside requests for `busy`. Nothing where the
    /// system does not say (outside Linux).
    pub(crate) fn stop(self, busy: Duration) -> Option<CpuDemand> {
        let wanted = cpu_wanted()?.saturating_sub(self.0?);
        Some(CpuDemand { busy: busy.as_secs_f64(), wanted: wanted.as_secs_f64() })
    }
}

impl CpuDemand {
    /// The share of the time inside requests in which these workers ran or were ready to run,
    /// instead of waiting for answers. Nothing without requests.
    pub(crate) fn share(workers: &[CpuDemand]) -> Option<f64> {
        let busy: f64 = workers.iter().map(|worker| worker.busy).sum();
        let wanted: f64 = workers.iter().map(|worker| worker.wanted).sum();
        // A little CPU is used between requests.
        (busy > 0.0).then(|| (wanted / busy).min(1.0))
    }
}

/// The calling thread's time on a CPU and in the queue for one.
fn cpu_wanted() -> Option<Duration> {
    parse_schedstat(&fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// `ON_CPU IN_QUEUE SLICES`, the first two in nanoseconds.
fn parse_schedstat(text: &str) -> Option<Duration> {
    let mut fields = text.split_whitespace().map(|field| field.parse().ok());
    let (on_cpu, in_queue) = (fields.next()??, fields.next()??);
    Some(Duration::from_nanos(on_cpu) + Duration::from_nanos(in_queue))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_first_two_fields() {
        assert_eq!(parse_schedstat("1500 500 7\n"), Some(Duration::from_micros(2)));
        for text in ["", "12", "a b c", "-1 2 3"] {
            assert_eq!(parse_schedstat(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_share_is_over_all_workers() {
        let workers = [CpuDemand { busy: 1.0, wanted: 1.0 }, CpuDemand { busy: 3.0, wanted: 0.0 }];
        assert_eq!(CpuDemand::share(&workers), Some(0.25));
        assert_eq!(CpuDemand::share(&[CpuDemand { busy: 1.0, wanted: 1.1 }]), Some(1.0));
        assert_eq!(CpuDemand::share(&[]), None);
    }
}
