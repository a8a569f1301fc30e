//! Records the arrival times of requests, and determines when the measurement ends.

use crate::console::panics::locked;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[derive(Debug)]
pub(crate) struct Limits {
    pub(crate) warmup: Duration,
    pub(crate) duration: Option<Duration>,
    pub(crate) requests: u64,
}

#[derive(Debug)]
pub(crate) struct Recorder {
    limits: Limits,
    begun: Instant,
    recorded: Mutex<Recorded>,
}

#[derive(Debug, Default)]
struct Recorded {
    /// The earliest arrival time, counted from 1970.
    first: Option<Duration>,
    /// The arrival times after the warm-up, in nanoseconds since 1970.
    arrivals: Vec<u64>,
    is_without_kernel: bool,
    shared: u64,
}

impl Recorder {
    pub(crate) fn new(limits: Limits) -> Recorder {
        Recorder { limits, begun: Instant::now(), recorded: Mutex::default() }
    }

    /// Records a request. Requests may be recorded in any order. `by_kernel` is the arrival time since 1970 according
    /// to the kernel. If it is `None`, the current time is used. `is_shared` is true if an earlier request was read
    /// together with this request.
    pub(crate) fn record(&self, by_kernel: Option<Duration>, is_shared: bool) {
        let (mut recorded, time) = (locked(&self.recorded), by_kernel.unwrap_or_else(now));
        let first = recorded.first.map_or(time, |first| first.min(time));
        recorded.first = Some(first);
        let since = time.saturating_sub(first);
        if since >= self.limits.warmup && !self.is_beyond(since, recorded.arrivals.len()) {
            recorded.arrivals.push(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
            recorded.is_without_kernel |= by_kernel.is_none();
            recorded.shared += u64::from(is_shared);
        }
    }

    fn is_beyond(&self, since: Duration, recorded: usize) -> bool {
        let end = self.limits.duration.map(|duration| self.limits.warmup.saturating_add(duration));
        recorded as u64 >= self.limits.requests || end.is_some_and(|end| since >= end)
    }

    /// Returns whether the measurement has ended. If no request has arrived, it ends as if one had arrived at the
    /// beginning.
    pub(crate) fn has_ended(&self) -> bool {
        let recorded = locked(&self.recorded);
        let since_first = |first| now().saturating_sub(first);
        let since = recorded.first.map_or_else(|| self.begun.elapsed(), since_first);
        self.is_beyond(since, recorded.arrivals.len())
    }

    pub(crate) fn requests(&self) -> usize {
        locked(&self.recorded).arrivals.len()
    }

    /// Returns the arrival times in ascending order, in nanoseconds since 1970.
    pub(crate) fn arrivals(&self) -> Vec<u64> {
        let mut arrivals = locked(&self.recorded).arrivals.clone();
        arrivals.sort_unstable();
        arrivals
    }

    pub(crate) fn is_by_kernel(&self) -> bool {
        !locked(&self.recorded).is_without_kernel
    }

    pub(crate) fn shared(&self) -> u64 {
        locked(&self.recorded).shared
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warm_up_and_requests_after_the_end_are_left_out() {
        let ms = Duration::from_millis;
        for (requests, duration, last) in
            [(u64::MAX, None, 99), (20, None, 29), (u64::MAX, Some(ms(50)), 59)]
        {
            let recorder = Recorder::new(Limits { warmup: ms(10), duration, requests });
            (0..100).for_each(|at| recorder.record(Some(ms(at)), false));
            let found = recorder.arrivals();
            assert_eq!((found[0], found[found.len() - 1]), (10_000_000, last * 1_000_000));
            assert_eq!((found.len() as u64, recorder.has_ended()), (last - 9, last < 99));
            assert!(recorder.is_by_kernel());
        }
    }

    #[test]
    fn one_request_without_a_kernel_timestamp_is_reported() {
        let limits = Limits { warmup: Duration::ZERO, duration: None, requests: u64::MAX };
        let recorder = Recorder::new(limits);
        for by_kernel in [Some(now()), None, Some(now())] {
            recorder.record(by_kernel, false);
        }
        assert!(recorder.requests() == 3 && !recorder.is_by_kernel());
    }

    /// The tasks of connections that waited to be accepted can run in any order.
    #[test]
    fn requests_are_recorded_in_any_order() {
        let limits = Limits { warmup: Duration::ZERO, duration: None, requests: u64::MAX };
        let recorder = Recorder::new(limits);
        for at in [30, 10, 20] {
            recorder.record(Some(Duration::from_nanos(at)), at == 20);
        }
        assert_eq!((recorder.arrivals(), recorder.shared()), (vec![10, 20, 30], 1));
    }

    #[test]
    fn a_measurement_without_requests_ends_after_its_duration() {
        let has_ended = |duration| {
            let limits = Limits { warmup: Duration::ZERO, duration, requests: 1 };
            Recorder::new(limits).has_ended()
        };
        let found = [Some(Duration::ZERO), Some(Duration::MAX), None].map(has_ended);
        assert_eq!(found, [true, false, false]);
    }
}
