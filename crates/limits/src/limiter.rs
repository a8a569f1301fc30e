//! The front door: a limiter that owns its clock and is shared by its clones.

use crate::sync::{Mutex, lock};
use crate::{
    Costs, CostsRejected, Decision, Limits, LimitsState, Line, Meter, Receipt, Rejected, Rule,
    Standing, Wait, WaitError, Waiter,
};
use crossbeam_utils::CachePadded;
use nanopace::{Clock, Nanos};
use std::sync::Arc;
use std::time::Duration;

/// Limits for all of a program: it has its own clock, and its clones share what was let in.
///
/// [`check`](Limiter::check) says yes or no at once. [`decide`](Limiter::decide) says more.
///
/// ```
/// use nanopace_limits::Limiter;
///
/// let limiter = Limiter::per_second(100).build()?;
/// if limiter.check().is_ok() {
///     // go
/// }
///
/// // Two limits at once.
/// let limiter = Limiter::per_second(10).burst(20).and("5000/day sliding-log").build()?;
/// let decision = limiter.decide();
/// assert!(decision.is_allowed());
/// assert_eq!(decision.remaining(), 19);
/// # Ok::<(), nanopace_limits::LimitsError>(())
/// ```
///
/// # Time
///
/// The clock is read under the lock under which the decision is made, so decisions are in the
/// order of their moments. Whatever threads do, a limit holds in every span of the clock.
#[derive(Clone, Debug)]
pub struct Limiter {
    inner: Arc<Inner>,
    meter: Meter,
}

#[derive(Debug)]
struct Inner {
    /// Padded, so that writing to it does not invalidate the cache line of the clock.
    shared: CachePadded<Mutex<Shared>>,
    clock: Box<dyn Clock>,
    line: Line<()>,
}

#[derive(Debug)]
struct Shared {
    limits: Arc<Limits>,
    state: LimitsState,
}

impl Limiter {
    /// A limiter that has let nothing in yet. For limits from text, and for several at once.
    ///
    /// ```
    /// use nanopace_limits::Limiter;
    ///
    /// let limiter = Limiter::new("10/s burst 20, 5000/day".parse()?);
    /// assert!(limiter.check().is_ok());
    /// # Ok::<(), nanopace_limits::LimitsError>(())
    /// ```
    #[must_use]
    pub fn new(limits: Limits) -> Limiter {
        Limiter::with_clock(limits, nanopace::TscClock::new())
    }

    /// The same by another clock, such as a [`ManualClock`](nanopace::ManualClock) in tests.
    ///
    /// ```
    /// use nanopace::ManualClock;
    /// use nanopace_limits::Limiter;
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let limiter = Limiter::with_clock("1/s".parse()?, clock.clone());
    /// assert!(limiter.check().is_ok());
    /// assert!(limiter.check().is_err());
    /// clock.advance(Duration::from_secs(1));
    /// assert!(limiter.check().is_ok());
    /// # Ok::<(), nanopace_limits::LimitsError>(())
    /// ```
    #[must_use]
    pub fn with_clock(limits: Limits, clock: impl Clock + 'static) -> Limiter {
        let state = limits.fresh();
        let shared = Mutex::new(Shared { limits: Arc::new(limits), state });
        let (shared, clock) = (CachePadded::new(shared), Box::new(clock));
        let inner = Arc::new(Inner { shared, clock, line: Line::new() });
        Limiter { inner, meter: Meter::default() }
    }

    /// The same limiter, whose answers are counted under that name from now on: [`Meter`] says what
    /// is counted, and by which recorder. Clones that were made before have no name, or another one,
    /// and share what was let in.
    ///
    /// ```
    /// use nanopace_limits::Limiter;
    ///
    /// let limiter = Limiter::new("100/s, 5000/day".parse()?).named("api");
    /// assert!(limiter.check().is_ok());
    /// # Ok::<(), nanopace_limits::LimitsError>(())
    /// ```
    #[cfg(feature = "metrics")]
    #[cfg_attr(docsrs, doc(cfg(feature = "metrics")))]
    #[must_use]
    pub fn named(self, name: &str) -> Limiter {
        self.with_meter(Meter::named(name))
    }

    pub(crate) fn with_meter(self, meter: Meter) -> Limiter {
        Limiter { meter, ..self }
    }

    /// Lets one request in now, or says why not.
    ///
    /// # Errors
    /// [`Rejected`]. Nothing is counted then, except by limits that count rejected requests.
    ///
    /// ```
    /// use nanopace_limits::Limiter;
    ///
    /// let limiter = Limiter::per_day(1).build()?;
    /// assert!(limiter.check().is_ok());
    /// assert!(limiter.check().is_err());
    /// # Ok::<(), nanopace_limits::LimitsError>(())
    /// ```
    pub fn check(&self) -> Result<(), Rejected> {
        self.check_n(1)
    }

    /// Lets `n` in now, or says why not: all of them or none.
    ///
    /// # Errors
    /// As for [`check`](Limiter::check).
    ///
    /// ```
    /// use nanopace_limits::{Limiter, Rejected};
    ///
    /// let limiter = Limiter::per_day(5).build()?;
    /// assert!(limiter.check_n(5).is_ok());
    /// assert_eq!(limiter.check_n(6), Err(Rejected::ExceedsCapacity { capacity: 5 }));
    /// # Ok::<(), nanopace_limits::LimitsError>(())
    /// ```
    pub fn check_n(&self, n: u64) -> Result<(), Rejected> {
        self.answer(|limits, state, now| limits.decide(state, now, n))
    }

    /// Lets one request in now that costs each limit something of its own: one cost for each limit,
    /// in the order of the limits. All of them are counted or none.
    ///
    /// # Errors
    /// [`CostsRejected`]. Nothing is counted then, except by limits that count rejected requests.
    ///
    /// ```
    /// use nanopace_limits::Limiter;
    ///
    /// // A hundred requests a minute, and a megabyte.
    /// let limiter = Limiter::new("100/min, 1M/min".parse()?);
    /// assert!(limiter.check_costs(&[1, 900_000]).is_ok());
    /// assert!(limiter.check_costs(&[1, 900_000]).is_err());
    /// assert!(limiter.check_costs(&[99, 0]).is_ok(), "the rejected request was not counted");
    /// # Ok::<(), nanopace_limits::LimitsError>(())
    /// ```
    pub fn check_costs<'a>(&self, costs: impl Into<Costs<'a>>) -> Result<(), CostsRejected> {
        let costs = costs.into();
        self.answer(|limits, state, now| limits.decide_costs(state, now, costs))
    }

    /// Lets one request in now or not, and says how the limits stand.
    ///
    /// ```
    /// use nanopace_limits::Limiter;
    /// use std::time::Duration;
    ///
    /// let limiter = Limiter::new("2/day sliding-log".parse()?);
    /// let decision = limiter.decide();
    /// assert!(decision.is_allowed());
    /// assert_eq!((decision.limit(), decision.remaining()), (2, 1));
    /// assert_eq!(decision.reset(), Duration::from_secs(24 * 3_600));
    /// # Ok::<(), nanopace_limits::LimitsError>(())
    /// ```
    #[must_use]
    pub fn decide(&self) -> Decision {
        self.decide_n(1)
    }

    /// Lets `n` in now or not, all of them or none, and says how the limits stand.
    ///
    /// ```
    /// use nanopace_limits::Limiter;
    ///
    /// let limiter = Limiter::per_day(5).build()?;
    /// assert_eq!(limiter.decide_n(3).remaining(), 2);
    /// # Ok::<(), nanopace_limits::LimitsError>(())
    /// ```
    #[must_use]
    pub fn decide_n(&self, n: u64) -> Decision {
        let decision = self.with(|limits, state, now| limits.decision(state, now, n));
        self.meter.answered(decision.is_allowed());
        decision
    }

    /// The same with costs: one for each limit, in the order of the limits.
    ///
    /// # Errors
    /// [`CostsRejected::Number`] if there is not one cost for each limit.
    ///
    /// ```
    /// use nanopace_limits::Limiter;
    ///
    /// let limiter = Limiter::new("100/min, 1M/min".parse()?);
    /// assert_eq!(limiter.decide_costs(&[1, 400_000])?.which(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decide_costs<'a>(&self, costs: impl Into<Costs<'a>>) -> Result<Decision, CostsRejected> {
        let costs = costs.into();
        let decision = self.with(|limits, state, now| limits.decision_costs(state, now, costs));
        self.meter.answered(decision.as_ref().is_ok_and(Decision::is_allowed));
        decision
    }

    /// Counts a request now, and takes it back when the [`Reservation`] is dropped without a commit.
    /// It costs each limit the same, or something of its own: `1`, or `&[1, 4_000]`.
    ///
    /// # Errors
    /// As for [`check_costs`](Limiter::check_costs).
    ///
    /// ```
    /// use nanopace_limits::Limiter;
    ///
    /// // Requests, and tokens of a language model.
    /// let limiter = Limiter::new("100/min, 10k/min".parse()?);
    /// let reservation = limiter.reserve(&[1, 4_000])?; // at most
    /// // ... the request ...
    /// reservation.commit_costs(&[1, 1_500]);
    /// assert!(limiter.check_costs(&[1, 8_500]).is_ok());
    ///
    /// drop(limiter.reserve(&[1, 0])?); // not made after all
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reserve<'a>(&self, costs: impl Into<Costs<'a>>) -> Result<Reservation, CostsRejected> {
        let costs = costs.into();
        let receipt = self.answer(|limits, state, now| limits.reserve(state, now, costs))?;
        Ok(Reservation::new(self, receipt))
    }

    /// How the limit stands now that has the least left. Counts nothing.
    ///
    /// ```
    /// use nanopace_limits::Limiter;
    ///
    /// let limiter = Limiter::per_day(5).build()?;
    /// assert_eq!(limiter.standing().remaining, 5);
    /// # Ok::<(), nanopace_limits::LimitsError>(())
    /// ```
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.with(|limits, state, now| limits.tightest(state, now).1)
    }

    /// The limits that are in force.
    ///
    /// ```
    /// use nanopace_limits::Limiter;
    ///
    /// let limiter = Limiter::per_second(10).burst(20).build()?;
    /// assert_eq!(limiter.limits().to_string(), "10/s burst 20");
    /// # Ok::<(), nanopace_limits::LimitsError>(())
    /// ```
    #[must_use]
    pub fn limits(&self) -> Arc<Limits> {
        Arc::clone(&lock(&self.inner.shared).limits)
    }

    /// Changes the limits in one step. What was let in stays counted: [`Limits`] say how.
    ///
    /// ```
    /// use nanopace_limits::Limiter;
    ///
    /// let limiter = Limiter::per_day(2).build()?;
    /// assert!(limiter.check_n(2).is_ok());
    /// limiter.set_limits("3/day".parse()?);
    /// assert!(limiter.check().is_ok());
    /// assert!(limiter.check().is_err());
    /// # Ok::<(), nanopace_limits::LimitsError>(())
    /// ```
    pub fn set_limits(&self, limits: Limits) {
        let mut shared = lock(&self.inner.shared);
        let now = self.inner.clock.now();
        let Shared { limits: old, state } = &mut *shared;
        old.advance(state, now);
        *state = limits.carry(old, state, now);
        *old = Arc::new(limits);
        drop(shared);
        self.inner.line.call(&());
    }

    /// Waits in this thread until one request gets in, and returns how long that took. Threads and
    /// tasks get in in the order in which they came; only those who do not wait may come between.
    ///
    /// # Errors
    /// [`WaitError::Rejected`] if nothing ever gets in.
    ///
    /// ```
    /// use nanopace_limits::Limiter;
    /// use std::time::Duration;
    ///
    /// let limiter = Limiter::per_second(1_000).burst(1).build()?;
    /// limiter.until_ready()?;
    /// assert!(limiter.until_ready()? > Duration::ZERO);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn until_ready(&self) -> Result<Duration, WaitError<CostsRejected>> {
        self.wait(Wait::default())
    }

    /// Waits in this thread, as `wait` says, and returns how long that took.
    ///
    /// # Errors
    /// [`WaitError`].
    ///
    /// ```
    /// use nanopace_limits::{Limiter, Wait};
    /// use std::time::Duration;
    ///
    /// let limiter = Limiter::per_second(1_000).build()?;
    /// limiter.wait(Wait::new(10).timeout(Duration::from_secs(1)))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait(&self, wait: Wait<'_>) -> Result<Duration, WaitError<CostsRejected>> {
        let end = self.waiter(wait).block(self.clock(), || self.admit(wait.costs()));
        self.meter.waited(&end);
        end
    }

    pub(crate) fn waiter(&self, wait: Wait<'_>) -> Waiter<'_, (), ()> {
        Waiter::new(&self.inner.line, &(), wait, self.inner.clock.now())
    }

    /// Lets a request in if it fits now, and counts nothing otherwise.
    pub(crate) fn admit(&self, costs: Costs<'_>) -> Result<(), CostsRejected> {
        self.with(|limits, state, now| limits.admit(state, now, costs))
    }

    /// The clock that it decides by.
    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.inner.clock
    }

    /// What counts the answers.
    #[cfg(feature = "async")]
    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    pub(crate) fn settle(&self, receipt: &Receipt, actual: Costs<'_>) {
        self.with(|limits, state, now| limits.settle(state, now, receipt, actual));
        self.inner.line.call(&());
    }

    /// The answer to a request, which is counted when the lock is let go.
    fn answer<T, E>(
        &self,
        step: impl FnOnce(&Arc<Limits>, &mut LimitsState, Nanos) -> Result<T, E>,
    ) -> Result<T, E> {
        let answer = self.with(step);
        self.meter.answered(answer.is_ok());
        answer
    }

    fn with<T>(&self, step: impl FnOnce(&Arc<Limits>, &mut LimitsState, Nanos) -> T) -> T {
        let mut shared = lock(&self.inner.shared);
        let now = self.inner.clock.now();
        let Shared { limits, state } = &mut *shared;
        step(limits, state, now)
    }
}

/// A request that a [`Limiter`] has counted before it is known whether it will be made, or what it
/// will cost. Dropping it takes it back.
///
/// What is taken back is what would not be counted now if the request had never been made, or less:
/// what time has paid off since, or what has left its window, can't come back. Limits that have
/// changed since take nothing back.
///
/// ```
/// use nanopace_limits::Limiter;
///
/// let limiter = Limiter::per_day(1).build()?;
/// drop(limiter.reserve(1)?);
/// limiter.reserve(1)?.commit();
/// assert!(limiter.reserve(1).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "dropping it takes the request back"]
pub struct Reservation {
    limiter: Limiter,
    /// None once it is settled.
    receipt: Option<Receipt>,
}

impl Reservation {
    pub(crate) fn new(limiter: &Limiter, receipt: Receipt) -> Reservation {
        Reservation { limiter: limiter.clone(), receipt: Some(receipt) }
    }

    /// Leaves the request counted.
    ///
    /// ```
    /// use nanopace_limits::Limiter;
    ///
    /// let limiter = Limiter::per_day(1).build()?;
    /// limiter.reserve(1)?.commit();
    /// assert!(limiter.check().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit(mut self) {
        self.receipt = None;
    }

    /// Counts what the request has really cost. What was reserved beyond that is taken back. What it
    /// cost beyond what was reserved is counted, even if it does not fit: the limit is then exceeded
    /// by that, and keeps others out for so much longer. Costs that are missing stay as they were
    /// reserved.
    ///
    /// ```
    /// use nanopace_limits::Limiter;
    ///
    /// let limiter = Limiter::new("100/day".parse()?);
    /// limiter.reserve(60)?.commit_costs(10);
    /// limiter.reserve(60)?.commit_costs(80);
    /// assert_eq!(limiter.standing().remaining, 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit_costs<'a>(mut self, actual: impl Into<Costs<'a>>) {
        if let Some(receipt) = self.receipt.take() {
            self.limiter.settle(&receipt, actual.into());
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(receipt) = self.receipt.take() {
            self.limiter.settle(&receipt, Costs::Same(0));
        }
    }
}
