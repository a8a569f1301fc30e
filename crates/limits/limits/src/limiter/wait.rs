//! Waits for a limiter, in a thread or from an event loop.

use super::Limiter;
use crate::limits::{LimitsState, Receipt};
use crate::waiting::{WaitQueue, Waitable, Waiter};
use crate::{Costs, CostsRejected, Limits, Wait, WaitError};
use nanopace_nanos::{Clock, Nanos};
use std::sync::Arc;
use std::time::Duration;

impl Limiter {
    /// Waits in this thread until one request is admitted, in FIFO order, and returns how long that took.
    ///
    /// # Errors
    /// Returns [`WaitError::Rejected`] if the limiter never admits the request.
    pub fn until_ready(&self) -> Result<Duration, WaitError<CostsRejected>> {
        self.wait(Wait::default())
    }

    /// Waits in this thread with these options until the request is admitted, and returns how long that took.
    ///
    /// # Errors
    /// Returns [`WaitError`] if the request is never admitted, or not before its timeout.
    pub fn wait(&self, wait: Wait<'_>) -> Result<Duration, WaitError<CostsRejected>> {
        let end = self.waiter(wait).block();
        self.meter().waited(&end);
        end
    }

    /// Returns a waiting request for an event loop, which calls [`Waiter::step`]. The metrics do not count the request.
    #[must_use]
    pub fn waiter<'a>(&self, wait: Wait<'a>) -> Waiter<'a, &Limiter> {
        Waiter::new(self, wait)
    }
}

impl Waitable for &Limiter {
    type Key = ();
    type Asked = ();
    type Refusal = CostsRejected;

    fn key(&self) -> &() {
        &()
    }

    fn queue(&self) -> &WaitQueue<()> {
        Limiter::queue(self)
    }

    fn clock(&self) -> &dyn Clock {
        Limiter::clock(self)
    }

    fn step<T>(
        &self,
        step: impl Fn(&Arc<Limits>, &mut LimitsState, Nanos) -> Result<T, CostsRejected>,
    ) -> Result<T, CostsRejected> {
        self.with(|limits, state, now| step(limits, state, now))
    }

    fn not_until(refusal: &CostsRejected) -> Option<Nanos> {
        refusal.not_until()
    }

    fn refund(&self, receipt: &Receipt) {
        self.settle(receipt, Costs::Same(0));
    }
}
