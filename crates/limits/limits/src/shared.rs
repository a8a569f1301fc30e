//! Shares a rule between threads, with or without a lock, and with a clock.

use crate::sync::{AtomicU64, Relaxed};
#[cfg(feature = "std")]
use crate::sync::{Mutex, lock};
use crate::{Rejected, Rule};
use core::fmt::Debug;
#[cfg(feature = "std")]
use crossbeam_utils::CachePadded;
#[cfg(feature = "std")]
use nanopace_nanos::Clock;
use nanopace_nanos::Nanos;

/// Admits or rejects requests at once, from any thread. The moments may go backwards, for example if threads read the
/// clock first and ask later: see the crate's [guarantees](crate#guarantees).
///
/// ```
/// use nanopace_nanos::Nanos;
/// use nanopace_limits::{Atomic, Gcra, TryAcquire, Locked, SlidingLog};
///
/// let limiters: [Box<dyn TryAcquire>; 2] = [
///     Box::new(Atomic::new(Gcra::new("1/s".parse()?))),
///     Box::new(Locked::new(SlidingLog::new("1/s".parse()?))),
/// ];
/// for limiter in limiters {
///     assert!(limiter.try_acquire_at(Nanos::ZERO).is_ok());
///     assert!(limiter.try_acquire_at(Nanos::ZERO).is_err());
/// }
/// # Ok::<(), nanopace_limits::QuotaError>(())
/// ```
pub trait TryAcquire: Debug + Send + Sync {
    /// Admits `n` requests at `now`: all of them or none. A request of zero is always admitted, and is not counted.
    ///
    /// # Errors
    /// Returns [`Rejected`] if the request is not admitted. In that case, only a rule that counts rejected requests
    /// counts it.
    fn try_acquire_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected>;

    /// Returns the result of [`try_acquire_n_at`](TryAcquire::try_acquire_n_at) without counting anything. The call
    /// does not affect any later decision, whichever moments are passed to the two calls.
    ///
    /// # Errors
    /// Returns [`Rejected`] if the request would not be admitted.
    fn peek_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected>;

    /// Admits one request at `now`.
    ///
    /// # Errors
    /// Returns [`Rejected`] if the request is not admitted. In that case, only a rule that counts rejected requests
    /// counts it.
    fn try_acquire_at(&self, now: Nanos) -> Result<(), Rejected> {
        self.try_acquire_n_at(1, now)
    }
}

/// A rule whose state is one word, shared by threads without a lock. A decision takes one load and the rule's step. An
/// admission also takes a compare-and-swap, and repeats the step if another thread has changed the word.
#[derive(Debug)]
pub struct Atomic<R> {
    rule: R,
    state: AtomicU64,
}

impl<R: Rule<State: From<u64> + Into<u64>>> Atomic<R> {
    /// Creates a limiter that follows `rule` and has admitted nothing yet.
    pub fn new(rule: R) -> Atomic<R> {
        let state = AtomicU64::new(rule.fresh().into());
        Atomic { rule, state }
    }

    /// Returns the rule that decides on requests.
    pub fn rule(&self) -> &R {
        &self.rule
    }

    /// Returns the current state, which other threads may change at any time.
    pub fn state(&self) -> R::State {
        R::State::from(self.seen())
    }

    fn seen(&self) -> u64 {
        // Relaxed: the word is the whole state; nothing else is published through it. Model: `one_word_admits_no_more`.
        self.state.load(Relaxed)
    }

    /// Admits `n` requests at `now`, and returns the word of the previous state.
    pub(crate) fn admit(&self, n: u64, now: Nanos) -> Result<u64, Rejected> {
        let mut seen = self.seen();
        loop {
            let mut state = R::State::from(seen);
            self.rule.try_acquire(&mut state, now, n)?;
            // Relaxed: as in `seen`. The exchange succeeds only if the word is still the one on which the decision was
            // made. The partner is this exchange in another thread. Model: `one_word_admits_no_more`.
            match self.state.compare_exchange_weak(seen, state.into(), Relaxed, Relaxed) {
                Ok(_) => return Ok(seen),
                Err(newer) => seen = newer,
            }
        }
    }
}

impl<R: Rule<State: From<u64> + Into<u64>>> TryAcquire for Atomic<R> {
    fn try_acquire_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected> {
        self.admit(n, now).map(|_| ())
    }

    fn peek_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected> {
        self.rule.peek(&self.state(), now, n)
    }
}

/// Any rule, shared by threads, with its state in a mutex. A rule whose state is one word does not need the mutex: use
/// [`Atomic`].
///
/// Decisions are made in the order in which threads acquire the mutex. The rule's bound holds for the moments at which
/// requests are counted, which can be later than the moments that callers pass: see the crate's
/// [guarantees](crate#guarantees).
#[cfg(feature = "std")]
#[derive(Debug)]
pub struct Locked<R: Rule> {
    rule: R,
    state: Mutex<R::State>,
}

#[cfg(feature = "std")]
impl<R: Rule> Locked<R> {
    /// Creates a limiter that follows `rule` and has admitted nothing yet.
    pub fn new(rule: R) -> Locked<R> {
        let state = Mutex::new(rule.fresh());
        Locked { rule, state }
    }
}

#[cfg(feature = "std")]
impl<R: Rule> TryAcquire for Locked<R> {
    fn try_acquire_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected> {
        self.rule.try_acquire(&mut lock(&self.state), now, n)
    }

    fn peek_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected> {
        self.rule.peek(&lock(&self.state), now, n)
    }
}

/// A limiter and its clock.
#[cfg(feature = "std")]
#[derive(Debug)]
pub struct Clocked<L, C> {
    /// The limiter. It is padded, so that writing to it does not invalidate the cache line of the clock.
    limiter: CachePadded<L>,
    clock: C,
}

#[cfg(feature = "std")]
impl<L: TryAcquire, C: Clock> Clocked<L, C> {
    /// Creates a limiter that reads the moments of its requests from `clock`.
    pub fn new(limiter: L, clock: C) -> Clocked<L, C> {
        Clocked { limiter: CachePadded::new(limiter), clock }
    }

    /// Admits one request now.
    ///
    /// # Errors
    /// Returns [`Rejected`] if the request is not admitted. In that case, only a rule that counts rejected requests
    /// counts it.
    pub fn try_acquire(&self) -> Result<(), Rejected> {
        self.limiter.try_acquire_n_at(1, self.clock.now())
    }
}
