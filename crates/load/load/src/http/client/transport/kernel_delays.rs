//! Records the delays between this process and the kernel, which are computed from kernel timestamps.

use super::stamped_stream::{self, Begun};
use super::stream::Delays;
use crate::console::panics::locked;
use crate::load::own_times::{OwnTimes, Part, no_times, record};
use std::mem;
use std::sync::Mutex;
use std::time::Duration;

/// Two histograms of delays. *Sending* lasts from the beginning of this process's last write of the request until the
/// kernel has sent the last byte. *Reading* lasts from the time when the kernel received the last byte of the response
/// until this process has read it.
#[derive(Debug)]
pub(crate) struct KernelDelays {
    times: Mutex<[OwnTimes; 2]>,
    _begun: Begun,
}

impl KernelDelays {
    pub(crate) fn begin() -> anyhow::Result<KernelDelays> {
        Ok(KernelDelays { times: Mutex::new(nothing()), _begun: stamped_stream::begin()? })
    }

    pub(crate) fn record(&self, delays: Delays, took: Duration) {
        let mut times = locked(&self.times);
        for (own, delay) in times.iter_mut().zip([delays.sending, delays.reading]) {
            add(own, delay, took);
        }
    }

    pub(crate) fn take(&self) -> Vec<OwnTimes> {
        let mut times = locked(&self.times);
        mem::replace(&mut *times, nothing()).into()
    }
}

/// Adds a delay of an exchange that lasted `took`. A delay that is longer than the exchange counts as unknown, because
/// the system clock was set during the exchange.
fn add(own: &mut OwnTimes, delay: Option<Duration>, took: Duration) {
    match delay.filter(|delay| *delay <= took) {
        Some(delay) => record(&mut own.times, delay),
        None => own.untimed += 1,
    }
}

fn nothing() -> [OwnTimes; 2] {
    [Part::Sending, Part::Reading].map(|part| OwnTimes { part, times: no_times(), untimed: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impossible_delay_is_unknown() {
        let [mut own, _] = nothing();
        let of = |ns| Some(Duration::from_nanos(ns));
        for delay in [None, of(0), of(10), of(11), of(u64::MAX)] {
            add(&mut own, delay, Duration::from_nanos(10));
        }
        assert_eq!((own.times.len(), own.times.max(), own.untimed), (2, 10, 3));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn taken_delays_are_not_returned_again() {
        let kernel = KernelDelays::begin().unwrap();
        let delays = Delays { sending: Some(Duration::from_nanos(1)), reading: None };
        kernel.record(delays, Duration::from_nanos(1));
        for all in [[(1, 0), (0, 1)], [(0, 0); 2]] {
            let taken = kernel.take().into_iter().map(|own| (own.times.len(), own.untimed));
            assert_eq!(taken.collect::<Vec<_>>(), all);
        }
    }
}
