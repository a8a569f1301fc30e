//! Waiting until a limiter admits a request: how long, in which order, and why in vain.

mod queue;
mod waiter;

use crate::Costs;
pub use queue::WaitQueue;
use std::time::Duration;
use thiserror::Error;
pub use waiter::{Step, Waitable, Waiter};

/// What to wait for, and for how long: [`Limiter::wait`](crate::Limiter::wait).
///
/// ```
/// use nanopace_limits::{Limiter, Wait};
/// use std::time::Duration;
///
/// let limiter = Limiter::per_second(1_000).burst(1).build()?;
/// let wait = Wait::new(1).timeout(Duration::from_secs(5)).jitter(Duration::from_micros(10));
/// limiter.wait(wait)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait<'a> {
    pub(crate) costs: Costs<'a>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) jitter: Duration,
}

impl<'a> Wait<'a> {
    /// For a request that costs each limit the same, or something of its own: `1`, or `&[1, 4_000]`.
    #[must_use]
    pub fn new(costs: impl Into<Costs<'a>>) -> Wait<'a> {
        Wait { costs: costs.into(), timeout: None, jitter: Duration::ZERO }
    }

    /// Waits no longer than that. If it is known that it would take longer, that is said at once:
    /// also of a request behind others, as if all of them stayed.
    ///
    /// ```
    /// use nanopace_limits::{Limiter, Wait, WaitError};
    /// use std::time::Duration;
    ///
    /// let limiter = Limiter::new("1/day".parse()?);
    /// assert!(limiter.try_acquire().is_ok());
    /// let waited = limiter.wait(Wait::new(1).timeout(Duration::from_secs(60)));
    /// assert!(matches!(waited, Err(WaitError::TooLate { .. })));
    /// # Ok::<(), nanopace_limits::LimitsError>(())
    /// ```
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Wait<'a> {
        Wait { timeout: Some(timeout), ..self }
    }

    /// A request that has to wait continues at a random time up to `jitter` after it is admitted, but not after its
    /// timeout. So several processes that wait for the same moment do not continue all at once.
    ///
    /// Others are admitted meanwhile, so jitter does not reduce throughput. But requests that were admitted one after
    /// the other may continue together: in any span, as many as the limits admit in the span and the jitter before it.
    #[must_use]
    pub fn jitter(self, jitter: Duration) -> Wait<'a> {
        Wait { jitter, ..self }
    }
}

impl Default for Wait<'_> {
    /// Waits for one request, however long that takes.
    fn default() -> Self {
        Wait::new(1)
    }
}

/// Why a request was not let in although it would have waited. Nothing was counted. `E` says why
/// it never gets in.
///
/// ```
/// use nanopace_limits::{CostsRejected, Limiter, Rejected, Wait, WaitError};
///
/// let limiter = Limiter::per_second(5).build()?;
/// let rejected = CostsRejected::Limit(Rejected::ExceedsCapacity { capacity: 5 });
/// assert_eq!(limiter.wait(Wait::new(6)), Err(WaitError::Rejected(rejected)));
/// # Ok::<(), nanopace_limits::LimitsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum WaitError<E> {
    /// It would get in only after the timeout, or the timeout has passed.
    #[error("not before the timeout: it might get in after another {retry:?}")]
    TooLate {
        /// After so long the request might get in: if nobody comes in front of it, and all who
        /// wait there stay. Behind more than a thousand of them it gets in later.
        retry: Duration,
    },
    /// Waiting does not help: it does not get in, or not before something else changes.
    #[error(transparent)]
    Rejected(#[from] E),
}
