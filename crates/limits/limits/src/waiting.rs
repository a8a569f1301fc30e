//! Waiting until a limiter admits a request: the options, the errors, the queue.

mod queue;
mod waiter;

use crate::Costs;
pub use queue::WaitQueue;
use std::time::Duration;
use thiserror::Error;
pub use waiter::{Step, Waitable, Waiter};

/// The costs, the timeout and the jitter of a [waiting request](crate::Limiter::wait).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait<'a> {
    pub(crate) costs: Costs<'a>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) jitter: Duration,
}

impl<'a> Wait<'a> {
    /// Creates the options of a request without timeout and jitter. The request has the same cost for all limits
    /// (`1`), or one cost for each limit (`&[1, 4_000]`).
    #[must_use]
    pub fn new(costs: impl Into<Costs<'a>>) -> Wait<'a> {
        Wait { costs: costs.into(), timeout: None, jitter: Duration::ZERO }
    }

    /// Sets the maximum time to wait. A wait that is forecast to take longer fails at once. The forecast assumes that
    /// all requests ahead of this one stay in the queue until they are admitted.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Wait<'a> {
        Wait { timeout: Some(timeout), ..self }
    }

    /// Sets the jitter: a request that has to wait continues after an additional random time of up to `jitter`, but not
    /// after its timeout. So several processes that wait for the same moment do not all continue at once.
    ///
    /// Other requests are admitted during the jitter, so it does not reduce throughput. But successive requests may
    /// continue together: in any span of time, no more requests continue than the limits admit in that span plus the
    /// `jitter` before it.
    #[must_use]
    pub fn jitter(self, jitter: Duration) -> Wait<'a> {
        Wait { jitter, ..self }
    }
}

impl Default for Wait<'_> {
    /// Returns the options of a request with cost 1 for all limits, without timeout and jitter.
    fn default() -> Self {
        Wait::new(1)
    }
}

/// The reason why a wait ended without an admission. The request was not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum WaitError<E> {
    /// The request would be admitted only after the timeout, or the timeout has passed.
    #[error("the request cannot be admitted before its timeout: retry after another {retry:?}")]
    TooLate {
        /// The time from this error until the request is forecast to be admitted, if it keeps its position in the
        /// queue. With more than a thousand requests ahead, the forecast is too early.
        retry: Duration,
    },
    /// Waiting does not help: the request is never admitted, or only after a change other than the passage of time.
    #[error(transparent)]
    Rejected(#[from] E),
}
