//! The token bucket that is refilled at a fixed interval.

use super::refill_thread::{RefillThread, Ticks};
use crate::rules::room_beside;
use crate::sync::{Mutex, MutexGuard, lock};
use crate::{Quota, QuotaError, Rejected, TryAcquire};
use nanopace_nanos::{Clock, Nanos};
use std::sync::Arc;

/// A token bucket with a thread that adds `count` tokens per `period`, up to `capacity`. Dropping the bucket ends the
/// thread.
///
/// Choose this bucket if tokens have to come in batches, at the same moments for all callers. Otherwise choose
/// [`TokenBucket`](crate::TokenBucket), which needs no thread.
///
/// # Law
///
/// At the moments start + i x `period`, i = 1, 2, ..., the number of tokens becomes min(`capacity`, tokens + `count`).
/// A request for n takes n x `cost` tokens, or none if there are too few. So in a span with k refills, at most
/// (`capacity` + k x `count`) / `cost` requests are admitted.
///
/// A request does the refill that is due, so a decision does not depend on thread scheduling. Overdue refills are
/// combined.
///
/// The quota and the capacity can be [changed](RefilledBucket::set_quota) at any time. Each refill follows the quota
/// that is in force at its moment: it adds the `count` of this quota, and comes at least the `period` of this quota
/// after the previous refill or the start. So in any span, no more is admitted than the highest `capacity`, the highest
/// `count` and the shortest `period` of that span allow. A retry time holds until the next change.
///
/// # Cost
///
/// 64 bytes, a lock, and a thread that sleeps between refills. A decision takes a division.
///
/// # Source
///
/// The textbook form, as in A. S. Tanenbaum, "Computer Networks": a token is added at regular intervals, and discarded
/// if the bucket is full.
///
/// ```
/// use nanopace_nanos::{ManualClock, Nanos};
/// use nanopace_limits::pools::RefilledBucket;
/// use nanopace_limits::{TryAcquire, Rejected};
/// use std::time::Duration;
///
/// // 10 tokens every 100 ms, up to 25, 5 of them at the start, one for each request.
/// let bucket = RefilledBucket::start("10/100ms".parse()?, 25, 5, 1, ManualClock::new())?;
/// assert_eq!(bucket.try_acquire_n_at(5, Nanos::ZERO), Ok(()));
/// let refill = Nanos::ZERO + Duration::from_millis(100);
/// assert_eq!(bucket.try_acquire_at(Nanos::ZERO), Err(Rejected::NotUntil(refill)));
/// assert_eq!(bucket.try_acquire_n_at(10, refill), Ok(()));
/// # Ok::<(), nanopace_limits::QuotaError>(())
/// ```
#[derive(Debug)]
pub struct RefilledBucket {
    clock: Arc<dyn Clock>,
    stock: Arc<Mutex<Stock>>,
    thread: Option<RefillThread>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Stock {
    quota: Quota,
    capacity: u64,
    cost: u64,
    tokens: u64,
    ticks: Ticks,
    /// The number of the tick of the last refill.
    refills: u64,
}

impl RefilledBucket {
    /// Creates a bucket, and starts a thread that adds `quota.count()` tokens every `quota.period()` of `clock`, up to
    /// `capacity`. The bucket holds `initial` tokens at the start, and a request takes `cost` of them.
    ///
    /// # Errors
    /// Returns [`QuotaError::ZeroCost`] for a cost of zero, [`QuotaError::CapacityTooSmall`] for a capacity below the
    /// cost, [`QuotaError::InitialTooLarge`] if `initial` exceeds the capacity, and [`QuotaError::Interval`] for a
    /// period of more than a day.
    pub fn start(
        quota: Quota,
        capacity: u64,
        initial: u64,
        cost: u64,
        clock: impl Clock + 'static,
    ) -> Result<RefilledBucket, QuotaError> {
        let mut bucket = RefilledBucket::unattended(quota, capacity, initial, cost, clock)?;
        let stock = Arc::clone(&bucket.stock);
        let refill = move |now| {
            let mut stock = lock(&stock);
            stock.refill(now);
            stock.next_refill()
        };
        bucket.thread = Some(RefillThread::start(Arc::clone(&bucket.clock), refill));
        Ok(bucket)
    }

    /// Creates the same bucket as [`start`](RefilledBucket::start), but no thread. Requests refill the bucket, and so
    /// does [`refill`](RefilledBucket::refill).
    ///
    /// # Errors
    /// Returns the same errors as [`start`](RefilledBucket::start).
    pub fn unattended(
        quota: Quota,
        capacity: u64,
        initial: u64,
        cost: u64,
        clock: impl Clock + 'static,
    ) -> Result<RefilledBucket, QuotaError> {
        match cost {
            0 => return Err(QuotaError::ZeroCost),
            _ if capacity < cost => return Err(QuotaError::CapacityTooSmall { least: cost }),
            _ if capacity < initial => return Err(QuotaError::InitialTooLarge { capacity }),
            _ => {}
        }
        let ticks = Ticks::new(clock.now(), quota.period())?;
        let stock = Stock { quota, capacity, cost, tokens: initial, ticks, refills: 0 };
        let stock = Arc::new(Mutex::new(stock));
        Ok(RefilledBucket { clock: Arc::new(clock), stock, thread: None })
    }

    fn stock(&self) -> MutexGuard<'_, Stock> {
        lock(&self.stock)
    }

    /// Does the refills that are due now.
    pub fn refill(&self) {
        self.stock().refill(self.clock.now());
    }

    /// Returns the number of tokens in the bucket, without the refills that are due and not done yet.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.stock().tokens
    }

    /// Changes the quota. The next refill comes one new period after the previous refill, or at once if that moment has
    /// passed. Tokens in the bucket stay.
    ///
    /// # Errors
    /// Returns [`QuotaError::Interval`] for a period of more than a day. In that case, nothing is changed.
    pub fn set_quota(&self, quota: Quota) -> Result<(), QuotaError> {
        self.stock().set_quota(quota, self.clock.now())?;
        self.thread.iter().for_each(RefillThread::wake);
        Ok(())
    }

    /// Returns the quota in force.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.stock().quota
    }

    /// Changes the capacity. Tokens that do not fit are discarded.
    ///
    /// # Errors
    /// Returns [`QuotaError::CapacityTooSmall`] for a capacity below the cost. In that case, nothing is changed.
    pub fn set_capacity(&self, capacity: u64) -> Result<(), QuotaError> {
        self.stock().set_capacity(capacity, self.clock.now())
    }

    /// Returns the maximum number of tokens that the bucket can hold.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.stock().capacity
    }
}

impl Stock {
    fn refill(&mut self, now: Nanos) {
        let due = self.ticks.number(now).max(self.refills);
        let more = (due - self.refills).saturating_mul(self.quota.count());
        self.tokens = self.tokens.saturating_add(more).min(self.capacity);
        self.refills = due;
    }

    fn next_refill(&self) -> Nanos {
        self.ticks.moment(self.refills.saturating_add(1))
    }

    fn take(&mut self, n: u64, now: Nanos) -> Result<(), Rejected> {
        room_beside(n, self.capacity / self.cost)?;
        if n > 0 {
            self.refill(now);
        }
        let left = self.tokens.checked_sub(n * self.cost);
        self.tokens = left.ok_or_else(|| self.rejection(n))?;
        Ok(())
    }

    fn rejection(&self, n: u64) -> Rejected {
        let more = (n * self.cost - self.tokens).div_ceil(self.quota.count());
        Rejected::NotUntil(self.ticks.moment(self.refills.saturating_add(more)))
    }

    fn set_quota(&mut self, quota: Quota, now: Nanos) -> Result<(), QuotaError> {
        self.refill(now);
        let last = self.ticks.moment(self.refills);
        self.ticks = Ticks::new(last.max(now - quota.period()), quota.period())?;
        self.quota = quota;
        self.refills = 0;
        self.refill(now);
        Ok(())
    }

    fn set_capacity(&mut self, capacity: u64, now: Nanos) -> Result<(), QuotaError> {
        if capacity < self.cost {
            return Err(QuotaError::CapacityTooSmall { least: self.cost });
        }
        self.refill(now);
        self.capacity = capacity;
        self.tokens = self.tokens.min(capacity);
        Ok(())
    }
}

impl TryAcquire for RefilledBucket {
    fn try_acquire_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected> {
        self.stock().take(n, now)
    }

    fn peek_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected> {
        let mut copy = *self.stock();
        copy.take(n, now)
    }
}
