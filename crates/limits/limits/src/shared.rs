//! A rule at work: shared between threads, and asked at a moment.

use crate::sync::{Mutex, lock};
use crate::{Rejected, Rule, TryAcquire};
use crossbeam_utils::CachePadded;
use nanopace_nanos::{Clock, Nanos};

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
#[derive(Debug)]
pub struct Locked<R: Rule> {
    rule: R,
    state: Mutex<R::State>,
}

impl<R: Rule> Locked<R> {
    /// A limiter that follows `rule` and has let nothing in yet.
    pub fn new(rule: R) -> Locked<R> {
        let state = Mutex::new(rule.fresh());
        Locked { rule, state }
    }
}

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
#[derive(Debug)]
pub struct Clocked<L, C> {
    /// Padded, so that writing to it does not invalidate the cache line of the clock.
    limiter: CachePadded<L>,
    clock: C,
}

impl<L: TryAcquire, C: Clock> Clocked<L, C> {
    /// Asks `limiter` at the moments that `clock` shows.
    pub fn new(limiter: L, clock: C) -> Clocked<L, C> {
        Clocked { limiter: CachePadded::new(limiter), clock }
    }

    /// Lets one request in now, or says why not.
    ///
    /// # Errors
    /// [`Rejected`]. Nothing is counted then.
    ///
    /// ```
    /// use nanopace_nanos::{ManualClock, Nanos};
    /// use nanopace_limits::{Atomic, Clocked, Gcra};
    ///
    /// let clock = ManualClock::new();
    /// let limiter = Clocked::new(Atomic::new(Gcra::new("1/s".parse()?)), clock.clone());
    /// assert!(limiter.try_acquire().is_ok());
    /// clock.set(Nanos::from_nanos(1_000_000_000));
    /// assert!(limiter.try_acquire().is_ok());
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
    pub fn try_acquire(&self) -> Result<(), Rejected> {
        self.limiter.try_acquire_n_at(1, self.clock.now())
    }
}
