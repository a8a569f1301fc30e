//! The token pool that a thread refills, and from which callers take tokens at once or after a wait.

use super::TokenPool;
use super::pool_state::{AcquireError, State};
use super::refill_thread::RefillThread;
use crate::sync::{Mutex, MutexGuard, channel, lock};
use crate::{Quota, QuotaError, Rejected, TryAcquire};
use nanopace_nanos::{Clock, Nanos};
use std::sync::Arc;
use std::time::Duration;

/// A [`TokenPool`] that a thread refills at fixed intervals. [`take`](ManagedPool::take) never blocks.
/// [`acquire`](ManagedPool::acquire) blocks until its tokens are available.
///
/// # Law
///
/// At the moments start + i x `interval`, the pool is refilled with the tokens that have accrued since the last refill:
/// by a refill at start + t, a total of floor(t x `count` / `period`) tokens have been refilled. Overdue refills are
/// combined. The pool is empty at first. No request overtakes those that are waiting.
///
/// The *wait time* of a request is the age of its last token, if tokens are taken in the order in which they accrue.
/// For a caller that blocked until its tokens were refilled, it is usually less than one `interval`.
///
/// A request is admitted at its retry time if no caller waits then and no tokens have been taken in between. It might
/// be admitted earlier, because the retry time ignores tokens that are [waiting](TokenPool::waiting) already.
///
/// A request first does the refill that is due, so [`take`](ManagedPool::take) does not depend on thread scheduling.
///
/// The quota, the size and the interval can be [changed](ManagedPool::set_quota) at any time. A change also refills the
/// pool with the tokens that have accrued so far, and serves waiting callers. The fraction of the next token is kept. A
/// change of the interval restarts the intervals. So in any span, no more tokens are taken than if the largest `size`
/// and `ratio` of that span had been in force throughout (see [`TokenPool`]). A retry time holds until the next change.
///
/// # Cost
///
/// A lock, and a thread that sleeps between refills. Each caller that waits has a channel. Each change of the quota is
/// stored in 48 bytes. A later change reuses them if the tokens from before have been taken.
///
/// # Source
///
/// The thread-driven token pool of the rate limiter of nosqlbench. There, a refill wakes all waiting callers; here,
/// only those whose tokens are available.
///
/// ```
/// use nanopace_nanos::TscClock;
/// use nanopace_limits::pools::ManagedPool;
/// use std::time::Duration;
///
/// // 10 000 tokens/s in a pool of 100 that may overflow by a quarter, refilled every millisecond.
/// let tick = Duration::from_millis(1);
/// let pool = ManagedPool::start("10k/s".parse()?, 100, 1.25, tick, TscClock::new())?;
/// let wait_time = pool.acquire(20)?; // blocks for 2 ms: the pool is empty at first
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ManagedPool {
    clock: Arc<dyn Clock>,
    state: Arc<Mutex<State>>,
    thread: Option<RefillThread>,
}

impl ManagedPool {
    /// Creates a pool of `size` tokens with a backfill `ratio` (see [`TokenPool`]), and starts a thread that refills it
    /// at the rate of `quota`, every `interval` of `clock`.
    ///
    /// # Errors
    /// Returns the errors of [`TokenPool::new`], and [`QuotaError::Interval`] for an interval of zero or above a day.
    pub fn start(
        quota: Quota,
        size: u64,
        ratio: f64,
        interval: Duration,
        clock: impl Clock + 'static,
    ) -> Result<ManagedPool, QuotaError> {
        let mut pool = ManagedPool::unattended(quota, size, ratio, interval, clock)?;
        let state = Arc::clone(&pool.state);
        let refill = move |now| {
            let mut state = lock(&state);
            state.refill(now);
            state.next_refill()
        };
        pool.thread = Some(RefillThread::start(Arc::clone(&pool.clock), refill));
        Ok(pool)
    }

    /// Creates the same pool as [`start`](ManagedPool::start), but no thread. Requests refill the pool, and so does
    /// [`refill`](ManagedPool::refill), which an event loop can call at any time.
    ///
    /// # Errors
    /// Returns the same errors as [`start`](ManagedPool::start).
    pub fn unattended(
        quota: Quota,
        size: u64,
        ratio: f64,
        interval: Duration,
        clock: impl Clock + 'static,
    ) -> Result<ManagedPool, QuotaError> {
        let state = State::new(TokenPool::new(size, ratio)?, quota, interval, clock.now())?;
        let state = Arc::new(Mutex::new(state));
        Ok(ManagedPool { clock: Arc::new(clock), state, thread: None })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Does the refill that is due now, and serves the callers that wait.
    pub fn refill(&self) {
        self.state().refill(self.clock.now());
    }

    /// Takes `tokens` now and returns the wait time. Zero tokens are always available.
    ///
    /// # Errors
    /// Returns [`Rejected`] if the tokens are not available. In that case, no token is taken. If the pool is closed and
    /// has too few tokens left, the retry time is [`Nanos::MAX`].
    pub fn take(&self, tokens: u64) -> Result<Duration, Rejected> {
        let now = self.clock.now();
        self.state().take(tokens, now).map(|intended| now - intended)
    }

    /// Blocks until `tokens` can be taken, in FIFO order, and returns the wait time. Zero tokens are always available.
    ///
    /// # Errors
    /// Returns [`AcquireError::Closed`] if the pool is closed before or during the call, and
    /// [`AcquireError::ExceedsCapacity`] if the pool cannot hold `tokens`, or becomes too small for them during the
    /// call. In both cases, no token is taken.
    pub fn acquire(&self, tokens: u64) -> Result<Duration, AcquireError> {
        let intended = self.intended_start(tokens)?;
        Ok(self.clock.now() - intended)
    }

    /// Blocks until the tokens are taken, and returns the moment at which the last of them had accrued.
    fn intended_start(&self, tokens: u64) -> Result<Nanos, AcquireError> {
        let listener = {
            let mut state = self.state();
            if let Some(answer) = state.try_acquire(tokens, self.clock.now()) {
                return answer;
            }
            let (answer, listener) = channel();
            state.queue(tokens, answer);
            listener
        };
        listener.recv().unwrap_or(Err(AcquireError::Closed))
    }

    /// Changes the quota. Tokens that have accrued under the old quota are refilled at once. Setting the quota that is
    /// already in force changes nothing else.
    pub fn set_quota(&self, quota: Quota) {
        self.state().set_quota(quota, self.clock.now());
    }

    /// Returns the quota in force.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.state().quota()
    }

    /// Changes the interval, and refills the pool at once. The thread does not wait for the end of the old interval.
    ///
    /// # Errors
    /// Returns [`QuotaError::Interval`] for an interval of zero or of more than a day. In that case, nothing is
    /// changed.
    pub fn set_interval(&self, interval: Duration) -> Result<(), QuotaError> {
        self.state().set_interval(interval, self.clock.now())?;
        self.thread.iter().for_each(RefillThread::wake);
        Ok(())
    }

    /// Returns the time between refills.
    #[must_use]
    pub fn interval(&self) -> Duration {
        self.state().interval()
    }

    /// Changes the size and the backfill ratio, as [`TokenPool::set_size`] does. Callers that wait for more than the
    /// new capacity are rejected.
    ///
    /// # Errors
    /// Returns the same errors as [`TokenPool::new`]. After an error, nothing has changed.
    pub fn set_size(&self, size: u64, ratio: f64) -> Result<(), QuotaError> {
        self.state().set_size(size, ratio, self.clock.now())
    }

    /// Stops the refills. Rejects the callers that wait now, and every later [`acquire`](ManagedPool::acquire) of one
    /// token or more. The tokens that are left can still be taken with [`take`](ManagedPool::take).
    pub fn close(&self) {
        self.state().close();
        if let Some(thread) = &self.thread {
            thread.stop();
        }
    }

    /// Returns a copy of the current pool.
    #[must_use]
    pub fn snapshot(&self) -> TokenPool {
        self.state().pool().clone()
    }

    /// Returns the number of callers that wait.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.state().queued()
    }
}

impl TryAcquire for ManagedPool {
    fn try_acquire_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected> {
        self.state().take(n, now).map(|_| ())
    }

    fn peek_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected> {
        self.state().peek(n, now)
    }
}

impl Drop for ManagedPool {
    fn drop(&mut self) {
        self.close();
    }
}
