//! Rules at work: shared between threads, with a lock or without, and with a clock.

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

/// Answers "may I, now?" at once, from any thread. The moments that it is asked about may go
/// backwards, as they do when threads read the clock first and ask later: [what all limiters
/// keep](crate#what-all-of-them-keep) says what holds then.
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
    /// Lets `n` in at `now`, or says why not: all of them or none. Zero always gets in and counts
    /// as nothing.
    ///
    /// # Errors
    /// [`Rejected`]. Nothing is counted then.
    fn try_acquire_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected>;

    /// Returns what [`try_acquire_n_at`](TryAcquire::try_acquire_n_at) would answer. It counts nothing
    /// and moves nothing on: whatever moment it asks about, later answers are as without it.
    ///
    /// # Errors
    /// [`Rejected`], as for the request itself.
    fn peek_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected>;

    /// Lets one request in at `now`, or says why not.
    ///
    /// # Errors
    /// [`Rejected`]. Nothing is counted then.
    fn try_acquire_at(&self, now: Nanos) -> Result<(), Rejected> {
        self.try_acquire_n_at(1, now)
    }
}

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

/// Any rule, shared between threads behind a mutex. For a rule whose state is one word,
/// [`Atomic`](crate::Atomic) needs no mutex.
///
/// The order in which threads get the mutex is the order of the decisions. It need not be that of
/// the moments they ask about. A moment before the latest one counts as the latest, and the rule's
/// bound holds for these. For the moments as they were asked about, see [what all limiters
/// keep](crate#what-all-of-them-keep).
///
/// ```
/// use nanopace_nanos::Nanos;
/// use nanopace_limits::{Gcra, TryAcquire, Locked};
///
/// let both = (Gcra::new("5/s".parse()?), Gcra::new("12/min".parse()?));
/// let limiter = Locked::new(both);
/// assert!(limiter.try_acquire_n_at(5, Nanos::ZERO).is_ok());
/// # Ok::<(), nanopace_limits::QuotaError>(())
/// ```
#[cfg(feature = "std")]
#[derive(Debug)]
pub struct Locked<R: Rule> {
    rule: R,
    state: Mutex<R::State>,
}

#[cfg(feature = "std")]
impl<R: Rule> Locked<R> {
    /// A limiter that follows `rule` and has let nothing in yet.
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

/// A limiter together with its clock, on cache lines of its own.
///
/// ```
/// use nanopace_nanos::TscClock;
/// use nanopace_limits::{Atomic, Clocked, Gcra};
///
/// let limiter = Clocked::new(Atomic::new(Gcra::new("1/h".parse()?)), TscClock::new());
/// assert!(limiter.try_acquire().is_ok());
/// assert!(limiter.try_acquire().is_err());
/// # Ok::<(), nanopace_limits::QuotaError>(())
/// ```
#[cfg(feature = "std")]
#[derive(Debug)]
pub struct Clocked<L, C> {
    /// Padded, so that writing to it does not invalidate the cache line of the clock.
    limiter: CachePadded<L>,
    clock: C,
}

#[cfg(feature = "std")]
impl<L: TryAcquire, C: Clock> Clocked<L, C> {
    /// Asks `limiter` at the moments that `clock` shows.
    pub fn new(limiter: L, clock: C) -> Clocked<L, C> {
        Clocked { limiter: CachePadded::new(limiter), clock }
    }

    /// Lets one request in now, or says why not.
    ///
    /// # Errors
    /// [`Rejected`]. Nothing is counted then.
    pub fn try_acquire(&self) -> Result<(), Rejected> {
        self.limiter.try_acquire_n_at(1, self.clock.now())
    }
}
