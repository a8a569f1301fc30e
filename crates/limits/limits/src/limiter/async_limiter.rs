//! Lets tasks wait for a limiter, with the timers of `nanopace-async`.

use super::Limiter;
use crate::{CostsRejected, Wait, WaitError};
use nanopace_async::Timer;
use nanopace_async::timer::{self, Alarms};
use std::io;
use std::time::Duration;

/// A [`Limiter`] for tasks: [`until_ready`](AsyncLimiter::until_ready) waits until a request is admitted.
///
/// Waiting tasks and threads form one FIFO queue. Requests that do not wait yield to this queue ([`Limiter::fair`]).
///
/// Cancelling is safe. Nothing is counted for a task in the queue, and a dropped future leaves the queue. If a future
/// is dropped during its [jitter](Wait::jitter), the request is refunded. A future that is in the queue and is no
/// longer polled blocks the requests after it in the queue until it is dropped or they time out. Requests that do not
/// wait yield to this future for two seconds at most.
#[derive(Clone, Debug)]
pub struct AsyncLimiter {
    limiter: Limiter,
    alarms: Alarms,
}

impl AsyncLimiter {
    /// Creates a limiter for tasks, with the best timer for the caller's runtime ([`timer::best`]). If this is a
    /// timer of tokio, the caller's runtime must be driven while tasks wait, even if they wait in another runtime.
    ///
    /// # Errors
    /// Returns an I/O error if the timer's thread cannot be started.
    pub fn new(limiter: Limiter) -> io::Result<AsyncLimiter> {
        Ok(AsyncLimiter::with_timer(limiter, timer::best()?))
    }

    /// Creates a limiter for tasks. Waiting tasks use this timer.
    pub fn with_timer(limiter: Limiter, timer: impl Timer) -> AsyncLimiter {
        AsyncLimiter { limiter, alarms: Alarms::new(timer) }
    }

    /// Waits until one request is admitted, and returns how long that took.
    ///
    /// # Errors
    /// Returns [`WaitError::Rejected`] if the limiter never admits the request.
    pub async fn until_ready(&self) -> Result<Duration, WaitError<CostsRejected>> {
        self.wait(Wait::default()).await
    }

    /// Waits with these options until the request is admitted, and returns how long that took.
    ///
    /// # Errors
    /// Returns [`WaitError`] if the request is never admitted, or not before its timeout.
    pub async fn wait(&self, wait: Wait<'_>) -> Result<Duration, WaitError<CostsRejected>> {
        let end = self.limiter.waiter(wait).wait_in_task(&self.alarms).await;
        self.limiter.meter().waited(&end);
        end
    }

    /// Returns the limiter, for checks without waiting and for changes of the limits.
    #[must_use]
    pub fn limiter(&self) -> &Limiter {
        &self.limiter
    }
}
