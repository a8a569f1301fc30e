//! The exact rolling count: the number of events in the last span of time.

use crate::rules::last_to_leave;
use alloc::collections::VecDeque;
use core::time::Duration;
use nanopace_nanos::Nanos;

/// The exact rolling count of events: how many happened during the last `interval`. Use it for thresholds such as
/// "never more than N events in any T". It is also the state of [`SlidingLog`](crate::SlidingLog).
///
/// # Law
///
/// At a moment t, the count includes the events that were added from t - `interval` to t, both ends included. A moment
/// before the latest one counts as the latest. Sums saturate at 2^64 - 1.
///
/// # Cost
///
/// 16 bytes for each moment within the interval at which something was added, and a running total. Each event is added
/// once and leaves once, so both operations take constant time on average. Memory grows with the traffic, and is not
/// freed when the traffic falls. If the traffic has no bound, [`RingCount`](crate::RingCount) counts in constant
/// memory.
///
/// # Source
///
/// The exact solution of the problem that M. Datar, A. Gionis, P. Indyk and R. Motwani call basic counting
/// ("Maintaining stream statistics over sliding windows", 2002).
///
/// ```
/// use nanopace_nanos::Nanos;
/// use nanopace_limits::RollingCount;
/// use std::time::Duration;
///
/// let mut count = RollingCount::new(Duration::from_nanos(100));
/// let events = [(1000, 1), (1010, 3), (1050, 1), (1100, 4), (1200, 1), (1300, 1)];
/// let totals = events.map(|(moment, n)| count.add(Nanos::from_nanos(moment), n));
/// assert_eq!(totals, [1, 4, 5, 9, 5, 2]);
/// ```
#[derive(Clone, Debug)]
pub struct RollingCount {
    interval: Duration,
    /// The moments and the numbers of events, the oldest first, each moment once.
    log: VecDeque<(Nanos, u64)>,
    total: u64,
    latest: Nanos,
}

impl RollingCount {
    /// Creates an empty count over an `interval` of any length.
    #[must_use]
    pub fn new(interval: Duration) -> RollingCount {
        RollingCount { interval, log: VecDeque::new(), total: 0, latest: Nanos::ZERO }
    }

    /// Adds `n` events at `now` and returns the number of events within the interval.
    pub fn add(&mut self, now: Nanos, n: u64) -> u64 {
        // Events that would make the total exceed 2^64 - 1 are dropped, so that the total is always the sum of the log.
        let n = n.min(u64::MAX - self.advance(now));
        if n > 0 {
            match self.log.back_mut() {
                Some((moment, count)) if *moment == self.latest => *count += n,
                _ => self.log.push_back((self.latest, n)),
            }
            self.total += n;
        }
        self.total
    }

    /// Drops the events that are older than the interval at `now`, and returns the number of the remaining events.
    pub fn advance(&mut self, now: Nanos) -> u64 {
        self.latest = self.latest.max(now);
        while let Some(&(moment, n)) = self.log.front() {
            if !self.has_left(moment, now) {
                break;
            }
            self.drop_oldest(n);
        }
        self.total
    }

    fn drop_oldest(&mut self, n: u64) {
        self.log.pop_front();
        self.total -= n;
    }

    /// Returns the result of the last call of [`add`](RollingCount::add) or [`advance`](RollingCount::advance).
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn total_at(&self, now: Nanos) -> u64 {
        let left = self.log.iter().take_while(|(moment, _)| self.has_left(*moment, now));
        self.total - left.map(|(_, n)| n).sum::<u64>()
    }

    fn has_left(&self, moment: Nanos, now: Nanos) -> bool {
        self.latest.max(now) - moment > self.interval
    }

    pub(crate) fn falls_to(&self, most: u64) -> Nanos {
        let last = last_to_leave(self.log.iter().copied(), self.total, most);
        last.map_or(self.latest, |moment| self.leaves(moment))
    }

    /// Returns the moment from which the interval is empty, even if more events are added at `now`.
    pub(crate) fn empties(&self, now: Nanos) -> Nanos {
        self.leaves(self.latest.max(now))
    }

    fn leaves(&self, moment: Nanos) -> Nanos {
        moment + self.interval + Duration::from_nanos(1)
    }

    pub(crate) fn keep(&mut self, enough: u64) {
        while let Some(&(_, n)) = self.log.front() {
            if self.total - n < enough {
                break;
            }
            self.drop_oldest(n);
        }
    }

    pub(crate) fn empty_from(&self) -> Nanos {
        self.log.back().map_or(self.latest, |(moment, _)| self.leaves(*moment).max(self.latest))
    }

    pub(crate) fn latest(&self) -> Nanos {
        self.latest
    }

    pub(crate) fn counted(&self) -> impl Iterator<Item = (Nanos, u64)> {
        self.log.iter().copied()
    }

    pub(crate) fn take_back(&mut self, moment: Nanos, n: u64) {
        let Ok(place) = self.log.binary_search_by_key(&moment, |(moment, _)| *moment) else {
            return;
        };
        let back = self.log[place].1.min(n);
        self.log[place].1 -= back;
        self.total -= back;
        if self.log[place].1 == 0 {
            self.log.remove(place);
        }
    }
}
