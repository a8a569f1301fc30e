//! The leaky bucket as a bounded queue with evenly spaced departures, in one integer.

use super::virtual_schedule::{VirtualSchedule, one_word_rule};
use crate::{Atomic, Quota, QuotaError, Rejected};
use nanopace_nanos::Nanos;

/// The leaky bucket as a bounded queue. Requests arrive at any time and depart at least one interval apart. The caller
/// of an admitted request waits until its departure time. The state is the next free departure time.
///
/// # Law
///
/// With the interval I = `period` / `count`, a request departs at once if no other departed within the last interval.
/// Otherwise it departs one interval after the previous departure. A request stays in the bucket until one interval
/// after its departure. The bucket holds at most `capacity` requests. A request for n departs n times, and is rejected
/// unless all n fit.
///
/// So departures are never closer than I, and no request departs later than (`capacity` - 1) x I after it arrived. With
/// a capacity of 1, a request is admitted only if it can depart at once. If I is not a whole number of nanoseconds,
/// departures are late by less than 4 ns, never early, and do not drift. Two departures can then be closer than I by
/// less than 4 ns.
///
/// # Cost
///
/// One word ([`Atomic`]): up to two multiplications, one compare-and-swap, and a division if I is fractional.
///
/// # Source
///
/// J. S. Turner, "New directions in communications (or which way to the information age?)", IEEE Communications
/// Magazine, 1986; the form with a queue is in A. S. Tanenbaum, "Computer Networks".
///
/// ```
/// use nanopace_nanos::Nanos;
/// use nanopace_limits::{Atomic, LeakyQueue, Rejected};
/// use std::time::Duration;
///
/// let ms = |n| Nanos::ZERO + Duration::from_millis(n);
/// let queue = Atomic::new(LeakyQueue::new("10/s".parse()?, 3)?);
/// let departures = [5, 5, 5].map(|moment| queue.enqueue_at(ms(moment)));
/// assert_eq!(departures, [5, 105, 205].map(|moment| Ok(ms(moment))));
/// // Full until one interval after the first departure.
/// assert_eq!(queue.enqueue_at(ms(5)), Err(Rejected::NotUntil(ms(105))));
/// # Ok::<(), nanopace_limits::QuotaError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LeakyQueue {
    schedule: VirtualSchedule,
}

impl LeakyQueue {
    /// Creates a bucket that holds `capacity` requests, which depart at the rate of `quota`.
    ///
    /// # Errors
    /// Returns [`QuotaError::CapacityTooSmall`] for a capacity of zero, and [`QuotaError::CapacityTooLarge`] if
    /// draining a full bucket takes more than 292 years.
    pub fn new(quota: Quota, capacity: u64) -> Result<LeakyQueue, QuotaError> {
        Ok(LeakyQueue { schedule: VirtualSchedule::new(quota, capacity)? })
    }

    /// Returns the departure time of the next request, if it is admitted at `now` in this state.
    #[must_use]
    pub fn departure(&self, state: u64, now: Nanos) -> Nanos {
        self.schedule.turn(state, now)
    }

    /// Returns the number of requests in the bucket at `now` in this state.
    #[must_use]
    pub fn queued(&self, state: u64, now: Nanos) -> u64 {
        self.schedule.gone(state, now)
    }
}

one_word_rule!(LeakyQueue, |_| 0);

impl Atomic<LeakyQueue> {
    /// Admits one request at `now` and returns its departure time, which is `now` or later.
    ///
    /// # Errors
    /// Returns [`Rejected::NotUntil`] if the bucket is full. In that case, nothing is counted.
    pub fn enqueue_at(&self, now: Nanos) -> Result<Nanos, Rejected> {
        self.admit(1, now).map(|before| self.rule().departure(before, now))
    }
}
