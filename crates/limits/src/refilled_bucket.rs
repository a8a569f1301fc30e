//! The token bucket that is refilled at a fixed interval.

use crate::refill_thread::{RefillThread, Ticks};
use crate::rejected::room_beside;
use crate::sync::{Acquire, AtomicU64, Relaxed, Release};
use crate::{Quota, QuotaError, Rejected, TryAcquire};
use nanopace::{Clock, Nanos};
use std::sync::Arc;

/// A token bucket that a thread refills: with `count` tokens at the end of each `period`, up to
/// `capacity`. Dropping the bucket ends the thread.
///
/// Choose it if tokens are to come in batches, at the same moments for all callers. Otherwise
/// [`TokenBucket`](crate::TokenBucket) needs no thread.
///
/// # Law
///
/// At the moments start + i x `period`, i = 1, 2, ..., the number of tokens becomes min(`capacity`,
/// tokens + `count`). A request for n takes n x `cost` tokens, or none if there are too few. So in
/// a span with k refills, at most (`capacity` + k x `count`) / `cost` requests get in.
///
/// If a request comes when a refill is due and the thread has not run yet, the request does the
/// refill. So a decision depends on the moment that is asked for, and not on when the thread is
/// scheduled. Several overdue refills are done as one. While another thread is in the middle of a
/// refill, a retry time may be one period later than needed.
///
/// # Cost
///
/// Two words, and a thread that sleeps, with a pacer of its own. A decision takes a comparison and one
/// compare-and-swap, and a division if a refill is due or the request is rejected.
///
/// # Source
///
/// The textbook form, as in A. S. Tanenbaum, "Computer Networks": a token is added at regular
/// intervals, and discarded if the bucket is full.
///
/// ```
/// use nanopace::{ManualClock, Nanos};
/// use nanopace_limits::{TryAcquire, RefilledBucket, Rejected};
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
    /// Never above the capacity. Requests take them. The thread that moves `refills` adds them.
    tokens: AtomicU64,
    /// How many refills have been begun: moved forwards only, before its tokens are added.
    refills: AtomicU64,
}

impl RefilledBucket {
    /// A bucket that gets `quota.count()` tokens every `quota.period()`, up to `capacity`. It holds
    /// `initial` tokens at the start, and a request takes `cost` of them. Starts the refill thread,
    /// on `clock`.
    ///
    /// # Errors
    /// [`QuotaError::ZeroCost`] for a cost of zero, [`QuotaError::CapacityTooSmall`] for a capacity
    /// below the cost, [`QuotaError::InitialTooLarge`] for more than the capacity at the start,
    /// [`QuotaError::Interval`] for a period of more than a day.
    ///
    /// ```
    /// use nanopace::TscClock;
    /// use nanopace_limits::RefilledBucket;
    ///
    /// let bucket = RefilledBucket::start("10/100ms".parse()?, 25, 5, 1, TscClock::new())?;
    /// assert!(bucket.is_attended());
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
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

    /// The same as [`start`](RefilledBucket::start), without the thread. Requests refill the
    /// bucket, and so does [`refill`](RefilledBucket::refill).
    ///
    /// # Errors
    /// As for [`start`](RefilledBucket::start).
    ///
    /// ```
    /// use nanopace::{ManualClock, Nanos};
    /// use nanopace_limits::{TryAcquire, RefilledBucket};
    ///
    /// let clock = ManualClock::new();
    /// let bucket = RefilledBucket::unattended("10/100ms".parse()?, 25, 5, 1, clock.clone())?;
    /// assert!(bucket.try_acquire_n_at(15, Nanos::from_nanos(100_000_000)).is_ok());
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
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
    ///
    /// ```
    /// use nanopace::{ManualClock, Nanos};
    /// use nanopace_limits::{TryAcquire, RefilledBucket};
    ///
    /// let clock = ManualClock::new();
    /// let bucket = RefilledBucket::unattended("10/100ms".parse()?, 25, 5, 1, clock.clone())?;
    /// clock.set(Nanos::from_nanos(100_000_000));
    /// bucket.refill();
    /// assert_eq!(bucket.tokens(), 15);
    /// # let _: &dyn TryAcquire = &bucket;
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
    pub fn refill(&self) {
        self.stock.refill(self.stock.ticks.now());
    }

    /// How many tokens are in the bucket, as of the last refill and request.
    ///
    /// ```
    /// use nanopace::{ManualClock, Nanos};
    /// use nanopace_limits::{TryAcquire, RefilledBucket};
    ///
    /// let clock = ManualClock::new();
    /// let bucket = RefilledBucket::unattended("10/100ms".parse()?, 25, 5, 1, clock.clone())?;
    /// assert_eq!(bucket.tokens(), 5);
    /// bucket.try_acquire_n_at(2, Nanos::ZERO).unwrap();
    /// assert_eq!(bucket.tokens(), 3);
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
    #[must_use]
    pub fn tokens(&self) -> u64 {
        // Relaxed: for showing. No model.
        self.stock.tokens.load(Relaxed)
    }

    /// Whether a thread refills it.
    ///
    /// ```
    /// use nanopace::{ManualClock, Nanos};
    /// use nanopace_limits::{TryAcquire, RefilledBucket};
    ///
    /// let clock = ManualClock::new();
    /// let bucket = RefilledBucket::unattended("10/100ms".parse()?, 25, 5, 1, clock.clone())?;
    /// assert!(!bucket.is_attended());
    /// # let _ = (Nanos::ZERO, &bucket as &dyn TryAcquire);
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
    #[must_use]
    pub fn is_attended(&self) -> bool {
        self.thread.is_some()
    }
}

impl Stock {
    /// Does the refills that are due at `now` and have not begun.
    fn refill(&self, now: Nanos) {
        if now < self.next_refill() {
            return;
        }
        let due = self.ticks.number(now);
        // Relaxed: it only decides which thread adds the tokens of which refill. The addition sees
        // to it that it comes after this. Model: `a_refill_happens_once`.
        let begun = self.refills.fetch_max(due, Relaxed);
        if due > begun {
            self.add((due - begun).saturating_mul(self.count));
        }
    }

    fn add(&self, more: u64) {
        // Release: pairs with the Acquire in `take`. A request that finds the tokens gone again has
        // then seen their refill, and is not told to come back for it. Model:
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

    /// When the next refill happens.
    fn next_refill(&self) -> Nanos {
        self.ticks.moment(self.refills().saturating_add(1))
    }

    /// How many tokens there are at `now`, and after how many refills, if nothing is taken.
    fn seen_at(&self, now: Nanos) -> (u64, u64) {
        // Acquire: as in `take`.
        let (tokens, begun) = (self.tokens.load(Acquire), self.refills());
        let refills = self.ticks.number(now).max(begun);
        let more = (refills - begun).saturating_mul(self.count);
        (tokens.saturating_add(more).min(self.capacity), refills)
    }

    fn refills(&self) -> u64 {
        // Relaxed: after `take` failed with Acquire, it is at least the refill whose tokens were
        // seen. Model: `nobody_is_told_to_come_back_too_early`.
        self.refills.load(Relaxed)
    }

    /// Why `n` requests' tokens cannot be taken from the `tokens` that there are after so many
    /// refills.
    fn rejection(&self, n: u64, tokens: u64, refills: u64) -> Rejected {
        let missing = (n * self.cost).saturating_sub(tokens);
        let more = missing.div_ceil(self.count);
        Rejected::NotUntil(self.ticks.moment(refills.saturating_add(more)))
    }

    fn check_size(&self, n: u64) -> Result<(), Rejected> {
        room_beside(n, self.capacity / self.cost).map(drop)
    }
}

impl TryAcquire for RefilledBucket {
    fn try_acquire_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected> {
        let stock = &self.stock;
        stock.check_size(n)?;
        if n > 0 {
            stock.refill(now);
        }
        stock.take(n).map_err(|left| stock.rejection(n, left, stock.refills()))
    }

    fn peek_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected> {
        let stock = &self.stock;
        stock.check_size(n)?;
        let (tokens, refills) = stock.seen_at(now);
        if n * stock.cost <= tokens { Ok(()) } else { Err(stock.rejection(n, tokens, refills)) }
    }
}
