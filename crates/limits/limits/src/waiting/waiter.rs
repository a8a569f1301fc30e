//! A waiting request: the steps that threads and tasks share.

use super::queue::{Forecast, LastTry, Ticket, WaitQueue};
use super::{Wait, WaitError};
use crate::limits::{LimitsState, Receipt};
use crate::{CostsRejected, Limits};
use nanopace_nanos::{Clock, Nanos, Parker, Unparker};
use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

/// The first in the queue asks again after this time at the latest, in case a limit was changed without a wake-up.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// The limits of one key and their queue, as a [`Waiter`] uses them. Implement this trait for a limiter of your own; a
/// reference to a [`Limiter`](crate::Limiter) implements it.
pub trait Waitable {
    /// The owned form of a key.
    type Key: Hash + Eq + Borrow<Self::Asked>;
    /// The borrowed form of a key.
    type Asked: Hash + Eq + ToOwned<Owned = Self::Key> + ?Sized;
    /// The error of a rejected request.
    type Refusal: From<CostsRejected>;

    /// Returns the key whose limits decide.
    fn key(&self) -> &Self::Asked;

    /// Returns the queue of the limiter.
    fn queue(&self) -> &WaitQueue<Self::Key>;

    /// Returns the clock of the limits.
    fn clock(&self) -> &dyn Clock;

    /// Runs a step on the limits and their state, under the lock for decisions on the key. An implementation may run
    /// the step twice if it discards the state that the first run has changed.
    ///
    /// # Errors
    /// Returns the errors of the step, or another reason to reject a request for the key.
    fn step<T>(
        &self,
        step: impl Fn(&Arc<Limits>, &mut LimitsState, Nanos) -> Result<T, CostsRejected>,
    ) -> Result<T, Self::Refusal>;

    /// Returns the moment from which a rejected request is admitted, or `None` if it never is.
    fn not_until(refusal: &Self::Refusal) -> Option<Nanos>;

    /// Refunds a request that was counted, and wakes the first in the queue.
    fn refund(&self, receipt: &Receipt);
}

/// The result of a step of a [`Waiter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// The wait is over, with this result.
    Done(T),
    /// Call [`Waiter::step`] again at this moment, or when the waker is woken.
    Until(Nanos),
}

/// A request that waits. If it is dropped before [`Step::Done`], it leaves the queue, and costs that were counted are
/// refunded.
///
/// [`Limiter::wait`](crate::Limiter::wait) and `AsyncLimiter` drive waiters themselves. Your own event loop drives one
/// by calling [`step`](Waiter::step).
pub struct Waiter<'a, G: Waitable> {
    limiter: G,
    wait: Wait<'a>,
    came: Nanos,
    deadline: Nanos,
    ticket: Option<Ticket>,
    /// The receipt that is refunded on a drop, and the end of the jitter. Both are set during the jitter, after the
    /// request has left the queue.
    admitted: Option<(Receipt, Nanos)>,
}

type End<G> = Result<Duration, WaitError<<G as Waitable>::Refusal>>;

impl<'a, G: Waitable> Waiter<'a, G> {
    /// Creates a request that arrives now. At its first step, it is admitted or enters the queue, or the wait fails.
    #[must_use]
    pub fn new(limiter: G, wait: Wait<'a>) -> Waiter<'a, G> {
        let came = limiter.clock().now();
        let deadline = wait.timeout.map_or(Nanos::MAX, |timeout| came + timeout);
        Waiter { limiter, wait, came, deadline, ticket: None, admitted: None }
    }

    /// Admits the request if its turn has come and the limits allow it. [`Step::Done`] contains the time that the
    /// request has waited, or the error.
    pub fn step(&mut self, waker: &Waker) -> Step<End<G>> {
        let now = self.limiter.clock().now();
        if let Some((_, moment)) = self.admitted {
            return self.finish(now, moment);
        }
        let is_new = self.ticket.is_none();
        if is_new && let Some(end) = self.try_first(now) {
            return Step::Done(end);
        }
        let Wait { costs, .. } = self.wait;
        let (queue, key) = (self.limiter.queue(), self.limiter.key());
        if queue.enter(key, &mut self.ticket, costs, waker) {
            self.try_as_first(now)
        } else {
            self.check_deadline(now, is_new)
        }
    }

    /// Decides before the request enters the queue. Returns `None` if the request has to queue.
    fn try_first(&self, now: Nanos) -> Option<End<G>> {
        let Wait { costs, .. } = self.wait;
        let is_admitted = self.limiter.step(|limits, state, at| {
            let may_pass =
                costs.largest() == 0 || self.limiter.queue().is_empty_for(self.limiter.key());
            match limits.would_admit(state, at, costs) {
                Err(rejected) if may_pass || rejected.not_until().is_none() => Err(rejected),
                Ok(()) if may_pass => {
                    limits.count_each(state, at, costs);
                    Ok(true)
                }
                _ => Ok(false),
            }
        });
        match is_admitted {
            Ok(is_admitted) => is_admitted.then(|| Ok(now - self.came)),
            Err(refusal) => self.hopeless(now, refusal).map(Err),
        }
    }

    fn hopeless(&self, now: Nanos, refusal: G::Refusal) -> Option<WaitError<G::Refusal>> {
        match G::not_until(&refusal) {
            None => Some(WaitError::Rejected(refusal)),
            Some(moment) if moment > self.deadline => {
                Some(WaitError::TooLate { retry: moment - now })
            }
            Some(_) => None,
        }
    }

    fn try_as_first(&mut self, now: Nanos) -> Step<End<G>> {
        match self.ask_limits() {
            Ok(receipt) => {
                self.leave();
                self.start_jitter(now, receipt)
            }
            Err(refusal) => {
                let moment = G::not_until(&refusal).unwrap_or(Nanos::MAX);
                match self.hopeless(now, refusal) {
                    Some(error) => self.leave_with(error),
                    None => Step::Until(next_try(now, moment)),
                }
            }
        }
    }

    /// Asks the limits. Stores the outcome in the queue under the lock for decisions, so that requests that yield and
    /// forecasts see it.
    fn ask_limits(&self) -> Result<Option<Receipt>, G::Refusal> {
        let Wait { costs, jitter, .. } = self.wait;
        let (queue, key) = (self.limiter.queue(), self.limiter.key());
        self.limiter.step(|limits, state, at| {
            let is_admitted = if jitter.is_zero() {
                limits.admit(state, at, costs).map(|()| None)
            } else {
                limits.admit_with_receipt(state, at, costs).map(Some)
            };
            match (&is_admitted, self.ticket) {
                (Ok(_), Some(ticket)) => queue.mark_admitted(key, ticket),
                (Err(rejected), _) => {
                    if let Some(admitted_from) = rejected.not_until() {
                        queue.note_try(
                            key,
                            LastTry { admitted_from, again: next_try(at, admitted_from) },
                        );
                    }
                }
                (Ok(_), None) => (),
            }
            is_admitted
        })
    }

    /// Starts the jitter of an admitted request. Without jitter there is no receipt, and the wait ends.
    fn start_jitter(&mut self, now: Nanos, receipt: Option<Receipt>) -> Step<End<G>> {
        let late = self.wait.jitter.mul_f64(fastrand::f64());
        let moment = (now + late).min(self.deadline);
        self.admitted = receipt.map(|receipt| (receipt, moment));
        self.finish(now, moment)
    }

    fn finish(&mut self, now: Nanos, moment: Nanos) -> Step<End<G>> {
        if now < moment {
            return Step::Until(moment);
        }
        self.admitted = None;
        Step::Done(Ok(now - self.came))
    }

    fn check_deadline(&mut self, now: Nanos, is_new: bool) -> Step<End<G>> {
        let is_over = now >= self.deadline;
        if self.deadline < Nanos::MAX && (is_new || is_over) {
            match self.forecast() {
                Err(refusal) => return self.leave_with(WaitError::Rejected(refusal)),
                Ok(moment) if is_over || moment > self.deadline => {
                    return self.leave_with(WaitError::TooLate { retry: moment - now });
                }
                Ok(_) => (),
            }
        }
        Step::Until(self.deadline)
    }

    fn forecast(&self) -> Result<Nanos, G::Refusal> {
        let (queue, key) = (self.limiter.queue(), self.limiter.key());
        let forecast = self.limiter.step(|limits, state, at| {
            let ahead = self.ticket.map(|ticket| queue.costs_ahead(key, ticket));
            Ok(Forecast::new(limits, state, at, ahead.unwrap_or_default()))
        })?;
        Ok(forecast.admitted_at(self.wait.costs)?)
    }

    fn leave_with(&mut self, error: WaitError<G::Refusal>) -> Step<End<G>> {
        self.leave();
        Step::Done(Err(error))
    }

    fn leave(&mut self) {
        self.limiter.queue().leave(self.limiter.key(), &mut self.ticket);
    }

    /// Waits in this thread until the request is admitted, and returns how long that took.
    ///
    /// # Errors
    /// Returns [`WaitError`] if the request is never admitted, or not before its timeout.
    pub fn block(mut self) -> Result<Duration, WaitError<G::Refusal>> {
        let parker = Parker::new();
        let waker = Waker::from(Arc::new(Unpark(parker.unparker().clone())));
        loop {
            match self.step(&waker) {
                Step::Done(end) => return end,
                Step::Until(moment) => self.limiter.clock().park(&parker, moment),
            }
        }
    }
}

fn next_try(now: Nanos, moment: Nanos) -> Nanos {
    moment.min(now + ASK_AGAIN)
}

impl<G: Waitable> Drop for Waiter<'_, G> {
    fn drop(&mut self) {
        self.leave();
        if let Some((receipt, _)) = self.admitted.take() {
            self.limiter.refund(&receipt);
        }
    }
}

impl<G: Waitable> fmt::Debug for Waiter<'_, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Waiter");
        fields.field("wait", &self.wait).field("came", &self.came);
        fields.field("ticket", &self.ticket).finish_non_exhaustive()
    }
}

struct Unpark(Unparker);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(feature = "async")]
mod in_task {
    use super::{Step, Waitable, Waiter};
    use crate::WaitError;
    use nanopace_async::timer::Alarms;
    use std::cell::Cell;
    use std::future::poll_fn;
    use std::task::Poll;
    use std::time::Duration;

    /// The number of requests that the tasks of a thread make without waiting before one of them yields to other tasks.
    const IN_A_ROW: u32 = 64;

    std::thread_local! {
        static ADMITTED: Cell<u32> = const { Cell::new(0) };
    }

    impl<G: Waitable> Waiter<'_, G> {
        /// Waits in a task until the request is admitted, as [`block`](Waiter::block) does in a thread.
        ///
        /// # Errors
        /// Returns [`WaitError`] if the request is never admitted, or not before its timeout.
        pub async fn wait_in_task(
            mut self,
            alarms: &Alarms,
        ) -> Result<Duration, WaitError<G::Refusal>> {
            let mut alarm = alarms.alarm();
            poll_fn(|context| {
                if ADMITTED.replace(ADMITTED.get() + 1) >= IN_A_ROW {
                    ADMITTED.set(0);
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                match self.step(context.waker()) {
                    Step::Done(done) => Poll::Ready(done),
                    Step::Until(moment) => {
                        ADMITTED.set(0);
                        alarm.set(moment - self.limiter.clock().now(), context.waker());
                        Poll::Pending
                    }
                }
            })
            .await
        }
    }
}
