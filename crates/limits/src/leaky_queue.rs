//! The leaky bucket as a bounded queue with evenly spaced departures, in one integer.

use crate::virtual_schedule::{VirtualSchedule, one_word_rule};
use crate::{Atomic, Quota, QuotaError, Rejected};
use nanopace::Nanos;

/// The leaky bucket as a bounded queue: requests go in as they come and depart one interval apart.
/// Nobody waits here: who gets in is told when to depart. The integer is the next free departure.
///
/// # Law
///
/// A request departs at once if none departed within the last interval I = `period` / `count`, else
/// one interval after the one before it. It stays in the bucket for one interval from its departure
/// on. At most `capacity` are in the bucket: when n more would be too many, all n are rejected. A
/// request for n departs n times in a row.
///
/// So departures are never closer than I, and nobody departs later than (`capacity` - 1) x I after
/// arriving. With a capacity of 1 only who can depart at once gets in. Where I is no whole number
/// of nanoseconds, departures are late by less than 4 ns, never early, and do not drift.
///
/// # Cost
///
/// One word ([`Atomic`]); per decision one or two multiplications and one compare-and-swap, and a
/// division where I is not whole.
///
/// # Source
///
/// J. Turner, "New directions in communications", 1986; the form with a queue as in A. Tanenbaum,
/// "Computer Networks".
///
/// ```
/// use nanopace::Nanos;
/// use nanopace_limits::{Atomic, LeakyQueue, Rejected};
/// use std::time::Duration;
///
/// let ms = |n| Nanos::ZERO + Duration::from_millis(n);
/// let queue = Atomic::new(LeakyQueue::new("10/s".parse()?, 3)?);
/// assert_eq!(queue.enqueue_at(ms(5)), Ok(ms(5)));
/// assert_eq!(queue.enqueue_at(ms(5)), Ok(ms(105)));
/// assert_eq!(queue.enqueue_at(ms(5)), Ok(ms(205)));
/// assert_eq!(queue.enqueue_at(ms(5)), Err(Rejected::NotUntil(ms(105)))); // when the first one's interval is over
/// # Ok::<(), nanopace_limits::QuotaError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LeakyQueue {
    schedule: VirtualSchedule,
}

impl LeakyQueue {
    /// A bucket for `capacity` requests that depart at `quota`.
    ///
    /// # Errors
    /// [`QuotaError`] for a capacity of zero, or of more than 292 years' worth.
    pub fn new(quota: Quota, capacity: u64) -> Result<LeakyQueue, QuotaError> {
        Ok(LeakyQueue { schedule: VirtualSchedule::new(quota, capacity)? })
    }

    /// When the next one that gets in at `now` departs, the queue being in `state`.
    #[must_use]
    pub fn departure(&self, state: u64, now: Nanos) -> Nanos {
        self.schedule.turn(state, now)
    }

    /// How many are in the bucket at `now`.
    #[must_use]
    pub fn queued(&self, state: u64, now: Nanos) -> u64 {
        self.schedule.gone(state, now)
    }
}

one_word_rule!(LeakyQueue, |_| 0);

impl Atomic<LeakyQueue> {
    /// Lets one in at `now` and says when it departs, at `now` or later.
    ///
    /// # Errors
    /// [`Rejected`] when the bucket is full; nothing was counted then.
    pub fn enqueue_at(&self, now: Nanos) -> Result<Nanos, Rejected> {
        self.admit(1, now).map(|before| self.rule().departure(before, now))
    }
}
