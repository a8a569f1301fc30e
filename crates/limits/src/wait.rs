//! Waiting until a limit lets a request in.

use crate::{Costs, CostsRejected, Line, Rejected, Ticket};
use nanopace::clock::{Parker, Unparker};
use nanopace::{Clock, Nanos};
use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;
use thiserror::Error;

/// How long after it has looked the first in line looks again at the latest, in case a limit was
/// changed by somebody who does not know that anybody waits.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

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
    costs: Costs<'a>,
    timeout: Option<Duration>,
    jitter: Duration,
}

impl<'a> Wait<'a> {
    /// For a request that costs each limit the same, or something of its own: `1`, or `&[1, 4_000]`.
    ///
    /// ```
    /// use nanopace_limits::{Limiter, Wait};
    ///
    /// let limiter = Limiter::new("100/min, 1M/min".parse()?);
    /// limiter.wait(Wait::new(&[1, 5_000]))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(costs: impl Into<Costs<'a>>) -> Wait<'a> {
        Wait { costs: costs.into(), timeout: None, jitter: Duration::ZERO }
    }

    /// Waits no longer than that.
    ///
    /// ```
    /// use nanopace_limits::{Limiter, Wait, WaitError};
    /// use std::time::Duration;
    ///
    /// let limiter = Limiter::per_day(1).build()?;
    /// assert!(limiter.check().is_ok());
    /// // It is known at once that it would take longer.
    /// let waited = limiter.wait(Wait::new(1).timeout(Duration::from_secs(60)));
    /// assert!(matches!(waited, Err(WaitError::TooLate { .. })));
    /// # Ok::<(), nanopace_limits::LimitsError>(())
    /// ```
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Wait<'a> {
        Wait { timeout: Some(timeout), ..self }
    }

    /// Whoever has to wait looks again up to so much later than it would get in, by chance. So
    /// several processes that wait for the same moment do not come all at once.
    ///
    /// ```
    /// use nanopace_limits::{Limiter, Wait};
    /// use std::time::Duration;
    ///
    /// let limiter = Limiter::per_second(10).build()?;
    /// limiter.wait(Wait::new(1).jitter(Duration::from_millis(1)))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn jitter(self, jitter: Duration) -> Wait<'a> {
        Wait { jitter, ..self }
    }

    /// What the request costs.
    ///
    /// ```
    /// use nanopace_limits::{Costs, Wait};
    ///
    /// assert_eq!(Wait::new(5).costs(), Costs::Same(5));
    /// ```
    #[must_use]
    pub fn costs(&self) -> Costs<'a> {
        self.costs
    }
}

impl Default for Wait<'_> {
    /// For one request, however long it takes.
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
        /// After so long the request might get in. Zero if others wait in front of it: nobody knows.
        retry: Duration,
    },
    /// Waiting does not help: it does not get in, or not before something else changes.
    #[error(transparent)]
    Rejected(#[from] E),
}

/// Why a request was rejected, and whether waiting helps.
pub trait Refusal {
    /// From when on the request gets in, if it ever does.
    ///
    /// ```
    /// use nanopace::Nanos;
    /// use nanopace_limits::{Refusal, Rejected};
    ///
    /// assert_eq!(Rejected::NotUntil(Nanos::ZERO).not_until(), Some(Nanos::ZERO));
    /// assert_eq!(Rejected::ExceedsCapacity { capacity: 5 }.not_until(), None);
    /// ```
    fn not_until(&self) -> Option<Nanos>;
}

impl Refusal for Rejected {
    fn not_until(&self) -> Option<Nanos> {
        match self {
            Rejected::NotUntil(moment) => Some(*moment),
            Rejected::ExceedsCapacity { .. } => None,
        }
    }
}

impl Refusal for CostsRejected {
    fn not_until(&self) -> Option<Nanos> {
        match self {
            CostsRejected::Limit(rejected) => rejected.not_until(),
            CostsRejected::Number { .. } => None,
        }
    }
}

/// What there is to do for one who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// It is over.
    Done(T),
    /// Look again at this moment, or when the waker is woken.
    Until(Nanos),
}

/// One who waits in a [`Line`], asleep or not: what threads and tasks have in common. Dropping it
/// leaves the line.
///
/// ```
/// use nanopace::Nanos;
/// use nanopace_limits::{Line, Rejected, Step, Wait, Waiter};
/// use std::task::Waker;
///
/// let line: Line<String> = Line::new();
/// let mut waiter = Waiter::new(&line, "alice", Wait::default(), Nanos::ZERO);
/// let moment = Nanos::from_nanos(500);
/// let step = waiter.step(Nanos::ZERO, Waker::noop(), || Err(Rejected::NotUntil(moment)));
/// assert_eq!(step, Step::Until(moment));
/// let step = waiter.step(moment, Waker::noop(), || Ok::<_, Rejected>(()));
/// assert_eq!(step, Step::Done(Ok(moment - Nanos::ZERO)));
/// ```
#[derive(Debug)]
pub struct Waiter<'l, K: Hash + Eq + Borrow<Q>, Q: Hash + Eq + ?Sized> {
    line: &'l Line<K>,
    key: &'l Q,
    ticket: Option<Ticket>,
    came: Nanos,
    deadline: Nanos,
    jitter: Duration,
}

impl<'l, K, Q> Waiter<'l, K, Q>
where
    K: Hash + Eq + Borrow<Q>,
    Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
{
    /// Comes `now`, and is not in line yet.
    #[must_use]
    pub fn new(line: &'l Line<K>, key: &'l Q, wait: Wait<'_>, now: Nanos) -> Waiter<'l, K, Q> {
        let deadline = wait.timeout.map_or(Nanos::MAX, |timeout| now + timeout);
        Waiter { line, key, ticket: None, came: now, deadline, jitter: wait.jitter }
    }

    /// Tries to get in where that is its turn. `attempt` lets the request in, or says why not and
    /// counts nothing. What comes out at the end is how long it has waited.
    pub fn step<E: Refusal>(
        &mut self,
        now: Nanos,
        waker: &Waker,
        mut attempt: impl FnMut() -> Result<(), E>,
    ) -> Step<Result<Duration, WaitError<E>>> {
        if self.ticket.is_none()
            && self.line.is_empty(self.key)
            && let Some(done) = self.tried(now, attempt()).err()
        {
            return Step::Done(done);
        }
        if !self.line.stand(self.key, &mut self.ticket, waker) {
            return self.wait_behind(now);
        }
        match self.tried(now, attempt()) {
            Err(done) => {
                self.leave();
                Step::Done(done)
            }
            Ok(moment) => Step::Until(self.look_again(now, moment)),
        }
    }

    /// From when on it might get in, or else how it has ended.
    fn tried<E: Refusal>(
        &self,
        now: Nanos,
        answer: Result<(), E>,
    ) -> Result<Nanos, Result<Duration, WaitError<E>>> {
        let Err(refusal) = answer else { return Err(Ok(now - self.came)) };
        match refusal.not_until() {
            None => Err(Err(WaitError::Rejected(refusal))),
            Some(moment) if moment > self.deadline || now >= self.deadline => {
                Err(Err(WaitError::TooLate { retry: moment - now }))
            }
            Some(moment) => Ok(moment),
        }
    }

    fn wait_behind<E>(&mut self, now: Nanos) -> Step<Result<Duration, WaitError<E>>> {
        if now < self.deadline {
            return Step::Until(self.deadline);
        }
        self.leave();
        Step::Done(Err(WaitError::TooLate { retry: Duration::ZERO }))
    }

    /// Far ahead of its moment it looks again in between, but not while it lets some time pass by
    /// chance.
    fn look_again(&self, now: Nanos, moment: Nanos) -> Nanos {
        let late = self.jitter.mul_f64(fastrand::f64());
        let next = if now + LOOK_AGAIN < moment { now + LOOK_AGAIN } else { moment + late };
        next.min(self.deadline)
    }

    fn leave(&mut self) {
        self.line.leave(self.key, &mut self.ticket);
    }

    /// Waits in this thread.
    ///
    /// # Errors
    /// [`WaitError`].
    ///
    /// ```
    /// use nanopace::{Clock, ManualClock};
    /// use nanopace_limits::{Line, Rejected, Wait, Waiter};
    ///
    /// let (line, clock) = (Line::<String>::new(), ManualClock::new());
    /// let waiter = Waiter::new(&line, "alice", Wait::default(), clock.now());
    /// assert!(waiter.block(&clock, || Ok::<_, Rejected>(())).is_ok());
    /// ```
    pub fn block<E: Refusal>(
        mut self,
        clock: &dyn Clock,
        mut attempt: impl FnMut() -> Result<(), E>,
    ) -> Result<Duration, WaitError<E>> {
        let parker = Parker::new();
        let waker = Waker::from(Arc::new(Unpark(parker.unparker().clone())));
        loop {
            match self.step(clock.now(), &waker, &mut attempt) {
                Step::Done(done) => return done,
                Step::Until(moment) => clock.park(&parker, moment),
            }
        }
    }
}

impl<K: Hash + Eq + Borrow<Q>, Q: Hash + Eq + ?Sized> Drop for Waiter<'_, K, Q> {
    fn drop(&mut self) {
        self.line.leave(self.key, &mut self.ticket);
    }
}

struct Unpark(Unparker);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
