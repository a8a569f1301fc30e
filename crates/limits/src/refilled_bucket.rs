//! The token bucket that is topped up at a fixed interval.

use crate::refill_thread::{RefillThread, Ticks};
use crate::rejected::room_beside;
use crate::sync::{Acquire, AtomicU64, Relaxed, Release};
use crate::{Limiter, Quota, QuotaError, Rejected};
use nanopace::{Clock, Nanos};
use std::sync::Arc;

/// A token bucket whose tokens a refill thread tops up: `count` at the end of each `period`,
/// up to `capacity`. Dropping it ends the thread.
///
/// Choose it where tokens are to come in batches, at the same moments for everybody; otherwise
/// [`TokenBucket`](crate::TokenBucket) needs no thread.
///
/// # Law
///
/// At the moments start + i x `period`, i = 1, 2, ..., the tokens become min(`capacity`, tokens +
/// `count`). A request for n takes n x `cost` tokens, all or none. So in a span in which k refills
/// happen, no more than (`capacity` + k x `count`) / `cost` get in.
///
/// Who asks when a refill is due and the thread has not run yet, does it in its place: decisions
/// depend on the moment that is asked for, not on when the thread is scheduled. Refills that are
/// overdue together are done as one. While another thread is in the middle of a refill, a retry
/// time may be one period later than needed.
///
/// # Cost
///
/// Two words, a pacer and a thread that sleeps; per decision a comparison and one compare-and-swap,
/// and a division when a refill is due or the request is rejected.
///
/// # Source
///
/// The textbook form (A. Tanenbaum, "Computer Networks"): a token is added every so often, and
/// discarded when the bucket is full.
///
/// ```
/// use nanopace::{ManualClock, Nanos};
/// use nanopace_limits::{Limiter, RefilledBucket, Rejected};
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
    stock: Arc<Stock>,
    thread: Option<RefillThread>,
}

#[derive(Debug)]
struct Stock {
    count: u64,
    capacity: u64,
    cost: u64,
    ticks: Ticks,
    /// Never above the capacity. Taken by requests, added by whoever has moved `refills`.
    tokens: AtomicU64,
    /// How many refills have been begun: moved forwards only, before its tokens are added.
    refills: AtomicU64,
}

impl RefilledBucket {
    /// `quota.count()` tokens come in every `quota.period()`, up to `capacity`; `initial` of them
    /// are there from the start; a request takes `cost`. Starts the refill thread, on
    /// `clock`.
    ///
    /// # Errors
    /// [`QuotaError`] for a cost of zero, a capacity below the cost, more at the start than fits,
    /// and a period of more than a day.
    pub fn start(
        quota: Quota,
        capacity: u64,
        initial: u64,
        cost: u64,
        clock: impl Clock + 'static,
    ) -> Result<RefilledBucket, QuotaError> {
        let mut bucket = RefilledBucket::unattended(quota, capacity, initial, cost, clock)?;
        let stock = Arc::clone(&bucket.stock);
        bucket.thread =
            Some(RefillThread::start(&bucket.stock.ticks, move |now| stock.refill(now)));
        Ok(bucket)
    }

    /// As [`start`](RefilledBucket::start), without the thread: refilled by requests, and by
    /// [`refill`](RefilledBucket::refill).
    ///
    /// # Errors
    /// As [`start`](RefilledBucket::start).
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
        let ticks = Ticks::new(quota.period(), clock)?;
        let (tokens, refills) = (AtomicU64::new(initial), AtomicU64::new(0));
        let stock =
            Arc::new(Stock { count: quota.count(), capacity, cost, ticks, tokens, refills });
        Ok(RefilledBucket { stock, thread: None })
    }

    /// Does the refills that are due now.
    pub fn refill(&self) {
        self.stock.refill(self.stock.ticks.now());
    }

    /// The tokens that are in the bucket, as of the last refill and request.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        // Relaxed: for showing. No model.
        self.stock.tokens.load(Relaxed)
    }

    /// Whether a refill thread refills it.
    #[must_use]
    pub fn is_attended(&self) -> bool {
        self.thread.is_some()
    }
}

impl Stock {
    /// Does the refills that are due at `now` and that nobody has begun.
    fn refill(&self, now: Nanos) {
        if now < self.next_refill(1) {
            return;
        }
        let due = self.ticks.number(now);
        // Relaxed: it decides who adds the tokens of which refill, and nobody else does. Its order
        // before the addition is the addition's business. Model: `a_refill_happens_once`.
        let begun = self.refills.fetch_max(due, Relaxed);
        if due > begun {
            self.add((due - begun).saturating_mul(self.count));
        }
    }

    fn add(&self, more: u64) {
        // Release: pairs with the Acquire in `take`, so that who finds the tokens gone again knows
        // of their refill and is not told to come back for it. Model:
        // `nobody_is_told_to_come_back_too_early`.
        self.update(|tokens| Some(tokens.saturating_add(more).min(self.capacity)))
            .expect("always some");
    }

    /// Takes `n` requests' tokens, or says how many there are.
    fn take(&self, n: u64) -> Result<(), u64> {
        self.update(|tokens| tokens.checked_sub(n * self.cost)).map(|_| ())
    }

    fn update(&self, step: impl FnMut(u64) -> Option<u64>) -> Result<u64, u64> {
        // Release and Acquire: `add` with `take`.
        self.tokens.fetch_update(Release, Acquire, step)
    }

    /// When the `n`-th refill from now happens.
    fn next_refill(&self, n: u64) -> Nanos {
        // Relaxed: after `take` failed with Acquire, it is at least the refill whose tokens were
        // seen. Model: `nobody_is_told_to_come_back_too_early`.
        self.ticks.moment(self.refills.load(Relaxed).saturating_add(n))
    }

    /// Why `n` requests' tokens cannot be taken from `tokens`.
    fn rejection(&self, n: u64, tokens: u64) -> Rejected {
        let missing = (n * self.cost).saturating_sub(tokens);
        Rejected::NotUntil(self.next_refill(missing.div_ceil(self.count)))
    }

    fn check_size(&self, n: u64) -> Result<(), Rejected> {
        room_beside(n, self.capacity / self.cost).map(drop)
    }
}

impl Limiter for RefilledBucket {
    fn try_acquire_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected> {
        let stock = &self.stock;
        stock.refill(now);
        stock.check_size(n)?;
        stock.take(n).map_err(|left| stock.rejection(n, left))
    }

    fn check_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected> {
        let stock = &self.stock;
        stock.refill(now);
        stock.check_size(n)?;
        // Acquire: as in `take`.
        let left = stock.tokens.load(Acquire);
        if left < n * stock.cost { Err(stock.rejection(n, left)) } else { Ok(()) }
    }
}
