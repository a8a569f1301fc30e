//! One who waits: what threads and tasks have in common.

use crate::foresight::Foresight;
use crate::line::{Looked, Ticket};
use crate::{CostsRejected, Limits, LimitsState, Line, Receipt, Refusal, Wait, WaitError};
use nanopace_nanos::{Clock, Nanos, Parker, Unparker};
use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

/// How long after it has looked the first in line looks again at the latest, in case a limit was
/// changed by somebody who does not know that anybody waits.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The limits of one key, and the line in front of them: what a [`Waiter`] needs of a
/// [`Limiter`](crate::Limiter) or a `Keyed`.
pub trait Gate {
    /// The owned form of a key.
    type Key: Hash + Eq + Borrow<Self::Asked>;
    /// The borrowed form of a key, by which it is asked for.
    type Asked: Hash + Eq + ToOwned<Owned = Self::Key> + ?Sized;
    /// Why a request is not let in.
    type Refusal: Refusal + From<CostsRejected>;

    /// Whom to wait for.
    fn key(&self) -> &Self::Asked;

    /// Where others wait.
    fn line(&self) -> &Line<Self::Key>;

    /// The clock of the limits.
    fn clock(&self) -> &dyn Clock;

    /// A step on the limits and what they have counted, under the lock under which requests for the
    /// key are decided. If it is made twice, nothing is left of the first time.
    ///
    /// # Errors
    /// Those of the step, and whatever else keeps a request for the key out.
    fn step<T>(
        &self,
        step: impl Fn(&Arc<Limits>, &mut LimitsState, Nanos) -> Result<T, CostsRejected>,
    ) -> Result<T, Self::Refusal>;

    /// Takes a request back that was counted, and calls whoever waits.
    fn take_back(&self, receipt: &Receipt);
}

/// What there is to do for one who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// The wait is over.
    Done(T),
    /// Look again at this moment, or when the waker is woken.
    Until(Nanos),
}

/// One who waits, asleep or not. Dropping it leaves the line; what it has taken is given back.
///
/// [`Limiter::wait`](crate::Limiter::wait) and `AsyncLimiter` drive one. Another event loop may drive one
/// itself, by calling [`step`](Waiter::step).
pub struct Waiter<'a, G: Gate> {
    gate: G,
    wait: Wait<'a>,
    came: Nanos,
    deadline: Nanos,
    ticket: Option<Ticket>,
    /// Behind the line: what it has taken, and when it goes on.
    goes_on: Option<(Receipt, Nanos)>,
}

/// How a wait ends.
type End<G> = Result<Duration, WaitError<<G as Gate>::Refusal>>;

impl<'a, G: Gate> Waiter<'a, G> {
    /// Comes now, and is not in line yet.
    #[must_use]
    pub fn new(gate: G, wait: Wait<'a>) -> Waiter<'a, G> {
        let came = gate.clock().now();
        let deadline = wait.timeout.map_or(Nanos::MAX, |timeout| came + timeout);
        Waiter { gate, wait, came, deadline, ticket: None, goes_on: None }
    }

    /// Takes the next step: gets in if it is this one's turn. [`Step::Done`] has how long it waited.
    pub fn step(&mut self, waker: &Waker) -> Step<End<G>> {
        let now = self.gate.clock().now();
        if let Some((_, moment)) = self.goes_on {
            return self.go_on(now, moment);
        }
        let comes = self.ticket.is_none();
        if comes && let Some(end) = self.come(now) {
            return Step::Done(end);
        }
        let Wait { costs, .. } = self.wait;
        let (line, key) = (self.gate.line(), self.gate.key());
        if line.stand(key, &mut self.ticket, costs, waker) {
            self.look(now)
        } else {
            self.stay_behind(now, comes)
        }
    }

    /// Gets in at once if nobody waits or the cost is zero, or learns that it never will or will too late. None if
    /// it has to stand in line.
    fn come(&self, now: Nanos) -> Option<End<G>> {
        let Wait { costs, .. } = self.wait;
        let is_let_in = self.gate.step(|limits, state, at| {
            let may_go_on = costs.largest() == 0 || self.gate.line().is_empty_for(self.gate.key());
            match limits.would_admit(state, at, costs) {
                Err(rejected) if may_go_on || rejected.not_until().is_none() => Err(rejected),
                Ok(()) if may_go_on => {
                    limits.count_each(state, at, costs);
                    Ok(true)
                }
                _ => Ok(false),
            }
        });
        match is_let_in {
            Ok(is_let_in) => is_let_in.then(|| Ok(now - self.came)),
            Err(refusal) => self.hopeless(now, refusal).map(Err),
        }
    }

    /// The error of one who is refused and need not wait, because it never gets in, or too late.
    fn hopeless(&self, now: Nanos, refusal: G::Refusal) -> Option<WaitError<G::Refusal>> {
        match refusal.not_until() {
            None => Some(WaitError::Rejected(refusal)),
            Some(moment) if moment > self.deadline => {
                Some(WaitError::TooLate { retry: moment - now })
            }
            Some(_) => None,
        }
    }

    /// Looks at the limits, as the first in line.
    fn look(&mut self, now: Nanos) -> Step<End<G>> {
        match self.try_to_get_in() {
            Ok(receipt) => {
                self.leave();
                self.has_got_in(now, receipt)
            }
            Err(refusal) => {
                let moment = refusal.not_until().unwrap_or(Nanos::MAX);
                match self.hopeless(now, refusal) {
                    Some(error) => self.leave_with(error),
                    None => Step::Until(next_look(now, moment)),
                }
            }
        }
    }

    /// Tries to get in, and tells the others in line, and those who give way, the result under the same lock.
    fn try_to_get_in(&self) -> Result<Option<Receipt>, G::Refusal> {
        let Wait { costs, jitter, .. } = self.wait;
        let (line, key) = (self.gate.line(), self.gate.key());
        self.gate.step(|limits, state, at| {
            let is_let_in = if jitter.is_zero() {
                limits.admit(state, at, costs).map(|()| None)
            } else {
                limits.admit_for_now(state, at, costs).map(Some)
            };
            match (&is_let_in, self.ticket) {
                (Ok(_), Some(ticket)) => line.gets_nothing_more(key, ticket),
                (Err(rejected), _) => {
                    if let Some(gets_in) = rejected.not_until() {
                        line.stays(key, Looked { gets_in, again: next_look(at, gets_in) });
                    }
                }
                (Ok(_), None) => (),
            }
            is_let_in
        })
    }

    /// Goes on, with a receipt after a random time.
    fn has_got_in(&mut self, now: Nanos, receipt: Option<Receipt>) -> Step<End<G>> {
        let late = self.wait.jitter.mul_f64(fastrand::f64());
        let moment = (now + late).min(self.deadline);
        self.goes_on = receipt.map(|receipt| (receipt, moment));
        self.go_on(now, moment)
    }

    fn go_on(&mut self, now: Nanos, moment: Nanos) -> Step<End<G>> {
        if now < moment {
            return Step::Until(moment);
        }
        self.goes_on = None;
        Step::Done(Ok(now - self.came))
    }

    /// Stays in line. One who `comes` hears at once if it would get in too late; later it hears so when its time
    /// is up.
    fn stay_behind(&mut self, now: Nanos, comes: bool) -> Step<End<G>> {
        let is_over = now >= self.deadline;
        if self.deadline < Nanos::MAX && (comes || is_over) {
            match self.gets_in() {
                Err(refusal) => return self.leave_with(WaitError::Rejected(refusal)),
                Ok(moment) if is_over || moment > self.deadline => {
                    return self.leave_with(WaitError::TooLate { retry: moment - now });
                }
                Ok(_) => (),
            }
        }
        Step::Until(self.deadline)
    }

    /// When it gets in if nothing changes.
    fn gets_in(&self) -> Result<Nanos, G::Refusal> {
        let (line, key) = (self.gate.line(), self.gate.key());
        let foresight = self.gate.step(|limits, state, at| {
            let in_front = self.ticket.map(|ticket| line.in_front(key, ticket));
            Ok(Foresight::new(limits, state, at, in_front.unwrap_or_default()))
        })?;
        Ok(foresight.gets_in(self.wait.costs)?)
    }

    fn leave_with(&mut self, error: WaitError<G::Refusal>) -> Step<End<G>> {
        self.leave();
        Step::Done(Err(error))
    }

    fn leave(&mut self) {
        self.gate.line().leave(self.gate.key(), &mut self.ticket);
    }

    /// The clock by which it waits.
    #[cfg(feature = "async")]
    pub(crate) fn clock(&self) -> &dyn Clock {
        self.gate.clock()
    }

    /// Waits in this thread.
    ///
    /// # Errors
    /// [`WaitError`].
    pub fn block(mut self) -> Result<Duration, WaitError<G::Refusal>> {
        let parker = Parker::new();
        let waker = Waker::from(Arc::new(Unpark(parker.unparker().clone())));
        loop {
            match self.step(&waker) {
                Step::Done(end) => return end,
                Step::Until(moment) => self.gate.clock().park(&parker, moment),
            }
        }
    }
}

/// When the first in line looks again: at its moment, or in between if that is far ahead.
fn next_look(now: Nanos, moment: Nanos) -> Nanos {
    moment.min(now + LOOK_AGAIN)
}

impl<G: Gate> Drop for Waiter<'_, G> {
    fn drop(&mut self) {
        self.leave();
        if let Some((receipt, _)) = self.goes_on.take() {
            self.gate.take_back(&receipt);
        }
    }
}

impl<G: Gate> fmt::Debug for Waiter<'_, G> {
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
