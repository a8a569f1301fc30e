//! The token pool with backfill at work: a thread refills it, and callers take or wait.

use crate::refill_thread::{RefillThread, Ticks};
use crate::rejected::room_beside;
use crate::sync::{Mutex, Sender, channel, lock};
use crate::{Quota, QuotaError, Rejected, TokenPool, TryAcquire};
use nanopace::{Clock, Nanos};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// A [`TokenPool`] that a thread refills from the clock. [`take`](ManagedPool::take) answers at
/// once. [`acquire`](ManagedPool::acquire) blocks until its tokens are there.
///
/// # Law
///
/// At the moments start + i x `interval`, the pool is refilled with exactly what the quota has
/// brought since the last refill: after a time t, floor(t x `count` / `period`) tokens have been
/// refilled in all. Several overdue refills are done as one. The pool is empty at first. No request
/// gets in ahead of those that are waiting.
///
/// The *wait time* of a request is how late it starts. It is now minus the moment at which the
/// quota had brought as many tokens as have been taken, including those of the request. A caller
/// that blocked until its tokens came was early, so its wait time is close to nothing. A caller
/// that takes tokens which others left behind is as late as those tokens are old.
///
/// A retry time supposes that nothing else is taken meanwhile, and it does not count on tokens that
/// are waiting already. The request gets in then, and might have got in earlier.
///
/// If a request comes when a refill is due and the thread has not run yet, the request does the
/// refill. So what [`take`](ManagedPool::take) answers depends on the moment, and not on when the
/// thread is scheduled.
///
/// # Cost
///
/// A lock, and a thread that sleeps between refills, with a pacer of its own. Each caller that waits
/// has a channel.
///
/// # Source
///
/// The thread-driven token pool of the rate limiter of nosqlbench. There, each refill wakes all
/// waiting callers. Here it wakes only those whose tokens have come, in the order in which they
/// came.
///
/// ```
/// use nanopace::TscClock;
/// use nanopace_limits::ManagedPool;
/// use std::time::Duration;
///
/// // 10 000 tokens/s in a pool of 100 that may overflow by a quarter, refilled every millisecond.
/// let tick = Duration::from_millis(1);
/// let pool = ManagedPool::start("10k/s".parse()?, 100, 1.25, tick, TscClock::new())?;
/// let wait_time = pool.acquire(20)?; // blocks for 2 ms: the pool is empty at first
/// # let _ = wait_time;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ManagedPool {
    shared: Arc<Shared>,
    thread: Option<RefillThread>,
}

/// Why a request did not wait for its tokens. None were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AcquireError {
    /// The pool has been closed.
    #[error("the pool is closed: no more tokens come in")]
    Closed,
    /// The request is for more tokens than the pool can ever hold.
    #[error(
        "asked for more than the {capacity} tokens that the pool can hold: ask for less, or make it larger"
    )]
    ExceedsCapacity {
        /// The most that the pool can hold.
        capacity: u64,
    },
}

/// The answer to a caller that waits: when its tokens were there, on the quota's schedule.
type Answer = Result<Nanos, AcquireError>;

#[derive(Debug)]
struct Shared {
    quota: Quota,
    ticks: Ticks,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    level: Level,
    /// The callers that wait, in the order in which they came. Their tokens are not there yet.
    queue: VecDeque<Waiter>,
    closed: bool,
}

#[derive(Clone, Debug)]
struct Level {
    pool: TokenPool,
    /// How many tokens have been put into the pool since the start.
    refilled: u128,
    /// At which tick the last of them were.
    refills: u64,
}

#[derive(Debug)]
struct Waiter {
    tokens: u64,
    answer: Sender<Answer>,
}

impl State {
    /// Takes the tokens of the caller that has waited longest, if they are there.
    fn next_served(&mut self) -> Option<Waiter> {
        let served = self.level.pool.take(self.queue.front()?.tokens);
        served.then(|| self.queue.pop_front()).flatten()
    }

    fn check_size(&self, tokens: u64) -> Result<(), Rejected> {
        room_beside(tokens, self.level.pool.capacity()).map(drop)
    }
}

impl ManagedPool {
    /// A pool of `size` tokens with a backfill `ratio` (see [`TokenPool`]), refilled at `quota`
    /// every `interval`, on `clock`. Starts the refill thread.
    ///
    /// # Errors
    /// As for [`TokenPool::new`], and [`QuotaError::Interval`] for an interval of zero or of more
    /// than a day.
    ///
    /// ```
    /// use nanopace::TscClock;
    /// use nanopace_limits::ManagedPool;
    /// use std::time::Duration;
    ///
    /// let tick = Duration::from_millis(1);
    /// assert!(ManagedPool::start("10k/s".parse()?, 100, 1.25, tick, TscClock::new()).is_ok());
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
    pub fn start(
        quota: Quota,
        size: u64,
        ratio: f64,
        interval: Duration,
        clock: impl Clock + 'static,
    ) -> Result<ManagedPool, QuotaError> {
        let mut pool = ManagedPool::unattended(quota, size, ratio, interval, clock)?;
        let shared = Arc::clone(&pool.shared);
        let chore = move |now| shared.refill(&mut lock(&shared.state), now);
        pool.thread = Some(RefillThread::start(&pool.shared.ticks, chore));
        Ok(pool)
    }

    /// The same as [`start`](ManagedPool::start), without the thread. Requests refill the pool, and
    /// so does [`refill`](ManagedPool::refill), which an event loop can call whenever it likes.
    ///
    /// # Errors
    /// As for [`start`](ManagedPool::start).
    ///
    /// ```
    /// use nanopace::{ManualClock, Nanos};
    /// use nanopace_limits::ManagedPool;
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let tick = Duration::from_millis(1);
    /// let pool = ManagedPool::unattended("10k/s".parse()?, 100, 1.25, tick, clock.clone())?;
    /// clock.set(Nanos::from_nanos(2_000_000));
    /// assert!(pool.take(20).is_ok());
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
    pub fn unattended(
        quota: Quota,
        size: u64,
        ratio: f64,
        interval: Duration,
        clock: impl Clock + 'static,
    ) -> Result<ManagedPool, QuotaError> {
        let pool = TokenPool::new(size, ratio)?;
        let ticks = Ticks::new(interval, clock)?;
        let level = Level { pool, refilled: 0, refills: 0 };
        let state = State { level, queue: VecDeque::new(), closed: false };
        let shared = Arc::new(Shared { quota, ticks, state: Mutex::new(state) });
        Ok(ManagedPool { shared, thread: None })
    }

    /// Does the refill that is due now, and serves the callers that wait.
    ///
    /// ```
    /// use nanopace::{ManualClock, Nanos};
    /// use nanopace_limits::ManagedPool;
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let tick = Duration::from_millis(1);
    /// let pool = ManagedPool::unattended("10k/s".parse()?, 100, 1.25, tick, clock.clone())?;
    /// clock.set(Nanos::from_nanos(2_000_000));
    /// pool.refill();
    /// assert_eq!(pool.snapshot().active(), 20);
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
    pub fn refill(&self) {
        self.shared.refill(&mut lock(&self.shared.state), self.shared.ticks.now());
    }

    /// Takes `tokens` now and returns the wait time, or says when they will be there. Zero tokens
    /// are always there.
    ///
    /// # Errors
    /// [`Rejected`]. No token is taken then. If the pool is closed and has too few tokens left, the
    /// moment is [`Nanos::MAX`].
    ///
    /// ```
    /// use nanopace::{ManualClock, Nanos};
    /// use nanopace_limits::ManagedPool;
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let tick = Duration::from_millis(1);
    /// let pool = ManagedPool::unattended("10k/s".parse()?, 100, 1.25, tick, clock.clone())?;
    /// assert!(pool.take(20).is_err()); // empty at first
    /// clock.set(Nanos::from_nanos(2_000_000));
    /// assert_eq!(pool.take(20), Ok(Duration::ZERO));
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
    pub fn take(&self, tokens: u64) -> Result<Duration, Rejected> {
        let now = self.shared.ticks.now();
        self.shared.take(tokens, now).map(|intended| now - intended)
    }

    /// Blocks until `tokens` can be taken, after the callers that came before, and returns the wait
    /// time. Zero tokens are always there.
    ///
    /// # Errors
    /// [`AcquireError::Closed`] if the pool is closed before or meanwhile,
    /// [`AcquireError::ExceedsCapacity`] for more tokens than it can hold. No token is taken then.
    ///
    /// ```
    /// use nanopace::{ManualClock, Nanos};
    /// use nanopace_limits::ManagedPool;
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let tick = Duration::from_millis(1);
    /// let pool = ManagedPool::unattended("10k/s".parse()?, 100, 1.25, tick, clock.clone())?;
    /// clock.set(Nanos::from_nanos(2_000_000));
    /// assert_eq!(pool.acquire(20), Ok(Duration::ZERO));
    /// assert!(pool.acquire(126).is_err());
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
    pub fn acquire(&self, tokens: u64) -> Result<Duration, AcquireError> {
        let intended = self.shared.acquire(tokens)?;
        Ok(self.shared.ticks.now() - intended)
    }

    /// Ends the refills and turns away all callers that wait, now and later. The tokens that are
    /// left can still be taken.
    ///
    /// ```
    /// use nanopace::{ManualClock, Nanos};
    /// use nanopace_limits::ManagedPool;
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let tick = Duration::from_millis(1);
    /// let pool = ManagedPool::unattended("10k/s".parse()?, 100, 1.25, tick, clock.clone())?;
    /// pool.close();
    /// assert!(pool.acquire(1).is_err());
    /// # clock.set(Nanos::ZERO);
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
    pub fn close(&self) {
        self.shared.close();
        if let Some(thread) = &self.thread {
            thread.stop();
        }
    }

    /// A copy of the pool as it is now.
    ///
    /// ```
    /// use nanopace::{ManualClock, Nanos};
    /// use nanopace_limits::ManagedPool;
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let tick = Duration::from_millis(1);
    /// let pool = ManagedPool::unattended("10k/s".parse()?, 100, 1.25, tick, clock.clone())?;
    /// assert_eq!(pool.snapshot().capacity(), 125);
    /// # clock.set(Nanos::ZERO);
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
    #[must_use]
    pub fn snapshot(&self) -> TokenPool {
        lock(&self.shared.state).level.pool.clone()
    }

    /// How many callers are waiting.
    ///
    /// ```
    /// use nanopace::{ManualClock, Nanos};
    /// use nanopace_limits::ManagedPool;
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let tick = Duration::from_millis(1);
    /// let pool = ManagedPool::unattended("10k/s".parse()?, 100, 1.25, tick, clock.clone())?;
    /// assert_eq!(pool.queued(), 0);
    /// # clock.set(Nanos::ZERO);
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
    #[must_use]
    pub fn queued(&self) -> usize {
        lock(&self.shared.state).queue.len()
    }
}

impl Shared {
    /// Does the refill that is due at `now`, and serves the callers that wait.
    fn refill(&self, state: &mut State, now: Nanos) {
        if state.closed || !self.bring(&mut state.level, now) {
            return;
        }
        while let Some(waiter) = state.next_served() {
            // The caller waits, so it listens.
            let _ = waiter.answer.send(Ok(self.intended_start(&state.level)));
        }
    }

    /// Brings the tokens that are due at `now`; false if none are.
    fn bring(&self, level: &mut Level, now: Nanos) -> bool {
        let due = self.ticks.number(now);
        let is_due = due > level.refills;
        if is_due {
            let total = self.brought_by(self.ticks.moment(due));
            let new = u64::try_from(total - level.refilled).expect("at most one per nanosecond");
            (level.refills, level.refilled) = (due, total);
            level.pool.refill(new);
        }
        is_due
    }

    fn take(&self, tokens: u64, now: Nanos) -> Result<Nanos, Rejected> {
        let mut state = lock(&self.state);
        if tokens == 0 {
            return Ok(now);
        }
        state.check_size(tokens)?;
        self.refill(&mut state, now);
        self.check(&state, &state.level, state.queue.is_empty(), tokens)?;
        assert!(state.level.pool.take(tokens), "checked");
        Ok(self.intended_start(&state.level))
    }

    /// What [`take`](Shared::take) would answer.
    fn look(&self, state: &State, tokens: u64, now: Nanos) -> Result<(), Rejected> {
        if tokens == 0 {
            return Ok(());
        }
        state.check_size(tokens)?;
        let mut level = state.level.clone();
        if !state.closed {
            self.bring(&mut level, now);
        }
        let is_free = state.queue.iter().all(|waiter| level.pool.take(waiter.tokens));
        self.check(state, &level, is_free, tokens)
    }

    /// Whether that many can be taken at this level, with nobody waiting for them if it `is_free`.
    fn check(
        &self,
        state: &State,
        level: &Level,
        is_free: bool,
        tokens: u64,
    ) -> Result<(), Rejected> {
        match level.pool.active() {
            active if is_free && tokens <= active => Ok(()),
            _ if state.closed => Err(Rejected::NotUntil(Nanos::MAX)),
            _ => Err(Rejected::NotUntil(self.refill_for(level, tokens))),
        }
    }

    /// The refill by which `tokens` are there, if no other request takes any.
    fn refill_for(&self, level: &Level, tokens: u64) -> Nanos {
        let total = level.refilled + level.pool.enough_for(tokens);
        self.ticks
            .moment_from(self.moment_of(total))
            .max(self.ticks.moment(level.refills.saturating_add(1)))
    }

    fn acquire(&self, tokens: u64) -> Answer {
        let listener = {
            let mut state = lock(&self.state);
            let now = self.ticks.now();
            self.refill(&mut state, now);
            let capacity = state.level.pool.capacity();
            match tokens {
                0 => return Ok(now),
                _ if state.closed => return Err(AcquireError::Closed),
                _ if tokens > capacity => return Err(AcquireError::ExceedsCapacity { capacity }),
                _ if state.queue.is_empty() && state.level.pool.take(tokens) => {
                    return Ok(self.intended_start(&state.level));
                }
                _ => {}
            }
            let (answer, listener) = channel();
            state.queue.push_back(Waiter { tokens, answer });
            listener
        };
        listener.recv().unwrap_or(Err(AcquireError::Closed))
    }

    fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        for waiter in state.queue.drain(..) {
            // The caller waits, so it listens.
            let _ = waiter.answer.send(Err(AcquireError::Closed));
        }
    }

    /// How many tokens the quota has brought by `moment`.
    fn brought_by(&self, moment: Nanos) -> u128 {
        let elapsed_ns = (moment - self.ticks.origin()).as_nanos();
        elapsed_ns * u128::from(self.quota.count()) / u128::from(self.quota.period_ns())
    }

    /// When the quota has brought `total` tokens.
    fn moment_of(&self, total: u128) -> Nanos {
        let elapsed_ns = total
            .saturating_mul(u128::from(self.quota.period_ns()))
            .div_ceil(u128::from(self.quota.count()));
        let elapsed_ns = u64::try_from(elapsed_ns).unwrap_or(u64::MAX);
        Nanos::from_nanos(self.ticks.origin().as_nanos().saturating_add(elapsed_ns))
    }

    /// When as many tokens had been brought as have been taken.
    fn intended_start(&self, level: &Level) -> Nanos {
        let left = level.pool.waiting() + u128::from(level.pool.active());
        self.moment_of(level.refilled - left)
    }
}

impl TryAcquire for ManagedPool {
    fn try_acquire_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected> {
        self.shared.take(n, now).map(|_| ())
    }

    fn peek_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected> {
        self.shared.look(&lock(&self.shared.state), n, now)
    }
}

impl Drop for ManagedPool {
    fn drop(&mut self) {
        self.close();
    }
}
