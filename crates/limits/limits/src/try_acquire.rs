//! What shared limiters have in common.

use crate::Rejected;
use core::fmt::Debug;
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
    ///
    /// ```
    /// use nanopace_nanos::Nanos;
    /// use nanopace_limits::{Atomic, FixedWindow, TryAcquire, Rejected};
    ///
    /// let limiter = Atomic::new(FixedWindow::new("10/s".parse()?));
    /// assert!(limiter.try_acquire_n_at(7, Nanos::ZERO).is_ok());
    /// let next = Nanos::from_nanos(1_000_000_000);
    /// assert_eq!(limiter.try_acquire_n_at(7, Nanos::ZERO), Err(Rejected::NotUntil(next)));
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
    fn try_acquire_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected>;

    /// Returns what [`try_acquire_n_at`](TryAcquire::try_acquire_n_at) would answer. It counts nothing
    /// and moves nothing on: whatever moment it asks about, later answers are as without it.
    ///
    /// # Errors
    /// [`Rejected`], as for the request itself.
    ///
    /// ```
    /// use nanopace_nanos::Nanos;
    /// use nanopace_limits::{Atomic, FixedWindow, TryAcquire};
    ///
    /// let limiter = Atomic::new(FixedWindow::new("1/s".parse()?));
    /// assert!(limiter.peek_n_at(1, Nanos::ZERO).is_ok());
    /// assert!(limiter.try_acquire_at(Nanos::ZERO).is_ok()); // the check took nothing
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
    fn peek_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected>;

    /// Lets one request in at `now`, or says why not.
    ///
    /// # Errors
    /// [`Rejected`]. Nothing is counted then.
    ///
    /// ```
    /// use nanopace_nanos::Nanos;
    /// use nanopace_limits::{Atomic, FixedWindow, TryAcquire};
    ///
    /// let limiter = Atomic::new(FixedWindow::new("1/s".parse()?));
    /// assert!(limiter.try_acquire_at(Nanos::ZERO).is_ok());
    /// assert!(limiter.try_acquire_at(Nanos::ZERO).is_err());
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
    fn try_acquire_at(&self, now: Nanos) -> Result<(), Rejected> {
        self.try_acquire_n_at(1, now)
    }
}
