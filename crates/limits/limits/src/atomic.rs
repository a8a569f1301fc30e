//! Rules whose state is one word, shared without a lock.

use crate::sync::{AtomicU64, Relaxed};
use crate::{Rejected, Rule, TryAcquire};
use nanopace_nanos::Nanos;

/// A rule whose state is one word, shared between threads without a lock. A decision is one load,
/// the rule's step, and one compare-and-swap.
///
/// ```
/// use nanopace_nanos::Nanos;
/// use nanopace_limits::{Atomic, Gcra, TryAcquire};
///
/// let limiter = Atomic::new(Gcra::new("2/s".parse()?));
/// std::thread::scope(|scope| {
///     for _ in 0..2 {
///         scope.spawn(|| assert!(limiter.try_acquire_at(Nanos::ZERO).is_ok()));
///     }
/// });
/// assert!(limiter.try_acquire_at(Nanos::ZERO).is_err());
/// # Ok::<(), nanopace_limits::QuotaError>(())
/// ```
#[derive(Debug)]
pub struct Atomic<R> {
    rule: R,
    /// Written by `admit` only, from the value that the decision was made on.
    state: AtomicU64,
}

impl<R: Rule<State: From<u64> + Into<u64>>> Atomic<R> {
    /// A limiter that follows `rule` and has let nothing in yet.
    pub fn new(rule: R) -> Atomic<R> {
        let state = AtomicU64::new(rule.fresh().into());
        Atomic { rule, state }
    }

    /// The rule that it follows.
    ///
    /// ```
    /// use nanopace_limits::{Atomic, FixedWindow, Rule};
    ///
    /// let limiter = Atomic::new(FixedWindow::new("10/s".parse()?));
    /// assert_eq!(limiter.rule().most(), 10);
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
    pub fn rule(&self) -> &R {
        &self.rule
    }

    /// The state as it is now, for display.
    ///
    /// ```
    /// use nanopace_nanos::Nanos;
    /// use nanopace_limits::{Atomic, TryAcquire, TokenBucket};
    ///
    /// let bucket = Atomic::new(TokenBucket::new("10/s".parse()?, 20)?);
    /// bucket.try_acquire_n_at(5, Nanos::ZERO).unwrap();
    /// assert_eq!(bucket.rule().tokens(bucket.state(), Nanos::ZERO), 15);
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
    pub fn state(&self) -> R::State {
        R::State::from(self.seen())
    }

    fn seen(&self) -> u64 {
        // Relaxed: the word is all there is; nothing else is published through it. Model:
        // `one_word_admits_no_more`.
        self.state.load(Relaxed)
    }

    /// Lets `n` in at `now`; says what the word was before.
    pub(crate) fn admit(&self, n: u64, now: Nanos) -> Result<u64, Rejected> {
        let mut seen = self.seen();
        loop {
            let mut state = R::State::from(seen);
            self.rule.try_acquire(&mut state, now, n)?;
            // Relaxed: as in `seen`; what counts is that the word is still the one that the
            // decision was made on. Its partner is itself, in another thread. Model:
            // `one_word_admits_no_more`.
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
