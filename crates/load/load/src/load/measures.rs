//! Defines the measurements that a target makes itself: named counters and trends.

use super::own_times::{Name, OwnTimes, Part, no_times, record};
use super::slot::Slot;
use crate::console::panics::locked;
use hdrhistogram::Histogram;
use std::mem;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts events that only the target can observe, such as cache hits. A target lists its counters in
/// [`About`](crate::About). Reports show the sum; for a fleet, the sum over all nodes. Events of the warm-up are not
/// counted.
///
/// # Examples
///
/// ```
/// use nanopace_load::{About, Counter, Done, Failure, Load, Slot, Target, Trend};
/// use std::time::{Duration, Instant};
/// use tokio::sync::Mutex;
///
/// struct Cached {
///     hits: Counter,
///     lock_wait: Trend,
///     cache: Mutex<Vec<u64>>,
/// }
///
/// impl Target for Cached {
///     type Session = ();
///
///     async fn connect(&self, _index: usize) -> Result<(), Failure> {
///         Ok(())
///     }
///
///     async fn call(&self, _session: &mut (), slot: Slot) -> Result<Done, Failure> {
///         let begin = Instant::now();
///         let mut cache = self.cache.lock().await;
///         self.lock_wait.record(slot, begin.elapsed());
///         let key = slot.number() % 10;
///         if cache.contains(&key) {
///             self.hits.add(slot, 1);
///         } else {
///             cache.push(key);
///         }
///         Ok(Done::new())
///     }
///
///     fn about(&self) -> About<'_> {
///         About::new().counter(&self.hits).trend(&self.lock_wait)
///     }
/// }
///
/// # fn main() -> Result<(), nanopace_load::LoadError> {
/// let target = Cached {
///     hits: Counter::new("cache hits"),
///     lock_wait: Trend::new("lock wait"),
///     cache: Mutex::default(),
/// };
/// let report = Load::new("1k/s".parse()?).requests(100).run_blocking(target)?;
/// assert_eq!(report.counter("cache hits"), Some(90));
/// assert!(report.trend_time("lock wait", 0.99) < Some(Duration::from_secs(60)));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Counter {
    name: &'static str,
    count: AtomicU64,
}

impl Counter {
    /// Returns a counter with this name. Reports add up counters that have the same name.
    #[must_use]
    pub const fn new(name: &'static str) -> Counter {
        Counter { name, count: AtomicU64::new(0) }
    }

    /// Adds the events that occurred in the call for a slot.
    pub fn add(&self, slot: Slot, events: u64) {
        if slot.is_recorded {
            // Relaxed: no other data is published through the count. No loom model: it is a single atomic.
            self.count.fetch_add(events, Ordering::Relaxed);
        }
    }

    pub(crate) fn take(&self) -> OwnTimes {
        let times = Histogram::new_with_max(2, 1).expect("these bounds are valid");
        // Relaxed: for the reason given in `add`.
        let untimed = self.count.swap(0, Ordering::Relaxed);
        OwnTimes { part: Part::Counter(Name(self.name)), times, untimed }
    }
}

/// Records times that only the target can measure, such as the wait for a lock. Times have three significant digits; a
/// time above one day is recorded as one day. A target lists its trends in [`About`](crate::About). Reports show the
/// percentiles of a trend; for a fleet, these cover the times of all nodes. Times of the warm-up are not recorded. For
/// an example, see [`Counter`].
#[derive(Debug)]
pub struct Trend {
    name: &'static str,
    times: Mutex<Histogram<u64>>,
}

impl Trend {
    /// Returns a trend with this name. Reports merge the times of trends that have the same name.
    #[must_use]
    pub fn new(name: &'static str) -> Trend {
        Trend { name, times: Mutex::new(no_times()) }
    }

    /// Records a time that was measured in the call for a slot.
    pub fn record(&self, slot: Slot, time: Duration) {
        if slot.is_recorded {
            record(&mut locked(&self.times), time);
        }
    }

    pub(crate) fn take(&self) -> OwnTimes {
        let mut times = locked(&self.times);
        let times = mem::replace(&mut *times, no_times());
        OwnTimes { part: Part::Trend(Name(self.name)), times, untimed: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_the_warm_up_are_left_out_and_taking_begins_again() {
        let (counter, trend) = (Counter::new("hits"), Trend::new("lock"));
        let recorded = Slot { is_recorded: true, ..Slot::ALONE };
        for (slot, events, ms) in [(Slot::ALONE, 100, 900), (recorded, 2, 5), (recorded, 3, 7)] {
            counter.add(slot, events);
            trend.record(slot, Duration::from_millis(ms));
        }
        let taken = || (counter.take().counter(), trend.take().times);
        let (count, times) = taken();
        assert_eq!(count, Some(("hits", 5)));
        assert_eq!((times.len(), times.max() / 1_000_000), (2, 7));
        let (count, times) = taken();
        assert_eq!((count, times.len()), (Some(("hits", 0)), 0));
    }
}
