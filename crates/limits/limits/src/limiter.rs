//! The main interface: a limiter that owns its clock and is shared by its clones.

#[cfg(feature = "async")]
mod async_limiter;
mod builder;
mod fast_path;
mod meter;
mod reservation;
mod wait;

use crate::limits::{LimitsState, Receipt};
use crate::sync::{Mutex, lock};
use crate::waiting::WaitQueue;
use crate::{Costs, CostsRejected, Decision, Limits, Rejected, Rule, Standing};
#[cfg(feature = "async")]
pub use async_limiter::AsyncLimiter;
pub use builder::LimitsBuilder;
use crossbeam_utils::CachePadded;
use fast_path::FastPath;
pub use meter::Meter;
use nanopace_nanos::{Clock, Nanos};
pub use reservation::Reservation;
use std::convert::Infallible;
use std::sync::Arc;

/// Applies [`Limits`] to the requests of a program. Clones of a limiter share its limits, its counts and its clock.
///
/// [`try_acquire`](Limiter::try_acquire) admits or rejects a request at once. [`decide`](Limiter::decide) also returns
/// the number of remaining requests.
///
/// ```
/// use nanopace_limits::Limiter;
///
/// let limiter = Limiter::per_second(10).burst(20).and("5000/day sliding-log").build()?; // two limits
/// if limiter.try_acquire().is_ok() {
///     // go
/// }
/// let decision = limiter.decide();
/// assert!(decision.is_allowed());
/// assert_eq!(decision.remaining(), 18);
/// # Ok::<(), nanopace_limits::LimitsError>(())
/// ```
///
/// # Time
///
/// A decision reads the clock while it holds the limiter's lock, so decisions are made in the order of their clock
/// readings. A limit therefore holds in every span of time on that clock, however the threads are scheduled.
///
/// There is one exception: if the only limit is a rate, and the limiter began with it,
/// [`try_acquire`](Limiter::try_acquire) usually takes no lock. It does while requests wait, while a replaced limit
/// still counts, at the first call after that, at the limiter's first call, and while another call holds the lock.
/// Without the lock, decisions may be made in another order than their clock readings, but a rate keeps its bound even
/// then.
///
/// # Waiting
///
/// Requests that [wait](Limiter::wait) form a FIFO queue. By default, requests that do not wait are rejected while the
/// queue is not empty (see [`fair`](Limiter::fair)).
#[derive(Clone, Debug)]
pub struct Limiter {
    inner: Arc<Inner>,
    meter: Meter,
    is_fair: bool,
}

#[derive(Debug)]
struct Inner {
    /// The fast path. It is padded, so that writing to it does not invalidate the cache line of the clock.
    fast_path: CachePadded<FastPath>,
    shared: CachePadded<Mutex<Shared>>,
    clock: Box<dyn Clock>,
    queue: WaitQueue<()>,
}

#[derive(Debug)]
struct Shared {
    limits: Arc<Limits>,
    state: LimitsState,
}

impl Limiter {
    /// Creates a limiter that reads a [`TscClock`](nanopace_nanos::TscClock) and has admitted nothing yet.
    #[must_use]
    pub fn new(limits: Limits) -> Limiter {
        Limiter::with_clock(limits, nanopace_nanos::TscClock::new())
    }

    /// Creates a limiter that reads the given clock, such as a [`ManualClock`](nanopace_nanos::ManualClock) in tests.
    ///
    /// ```
    /// use nanopace_nanos::ManualClock;
    /// use nanopace_limits::Limiter;
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let limiter = Limiter::with_clock("1/s".parse()?, clock.clone());
    /// assert!(limiter.try_acquire().is_ok());
    /// assert!(limiter.try_acquire().is_err());
    /// clock.advance(Duration::from_secs(1));
    /// assert!(limiter.try_acquire().is_ok());
    /// # Ok::<(), nanopace_limits::LimitsError>(())
    /// ```
    #[must_use]
    pub fn with_clock(limits: Limits, clock: impl Clock + 'static) -> Limiter {
        Limiter::from_parts(limits, Box::new(clock))
    }

    pub(crate) fn from_parts(limits: Limits, clock: Box<dyn Clock>) -> Limiter {
        let (state, fast_path) = (limits.fresh(), CachePadded::new(FastPath::of(&limits)));
        let shared = CachePadded::new(Mutex::new(Shared { limits: Arc::new(limits), state }));
        let inner = Arc::new(Inner { fast_path, shared, clock, queue: WaitQueue::new() });
        Limiter { inner, meter: Meter::default(), is_fair: true }
    }

    /// Gives this limiter a name, under which the [`metrics`](https://docs.rs/metrics) facade counts its decisions.
    /// Install the recorder first. Earlier clones keep their names. All clones share the limits and their counts.
    ///
    /// | metric | kind | counts |
    /// |---|---|---|
    /// | `nanopace_limits_admitted_total` | counter | admitted requests, whatever they cost |
    /// | `nanopace_limits_rejected_total` | counter | rejected requests, for any reason |
    /// | `nanopace_limits_waited_seconds` | histogram | how long admitted requests waited, including jitter |
    ///
    /// Each metric has the label `limiter`, whose value is the name. A refunded request stays counted, because counters
    /// never decrease. A request whose future is dropped while it waits is not counted.
    #[cfg(feature = "metrics")]
    #[cfg_attr(docsrs, doc(cfg(feature = "metrics")))]
    #[must_use]
    pub fn named(self, name: &str) -> Limiter {
        self.with_meter(Meter::named(name))
    }

    pub(crate) fn with_meter(self, meter: Meter) -> Limiter {
        Limiter { meter, ..self }
    }

    /// Sets whether requests that do not wait yield to those that wait. The setting applies to the returned handle
    /// only, not to other clones. If `fair` is false, requests that do not wait overtake the queue, and may starve
    /// waiting requests.
    ///
    /// By default, a request that costs something is rejected while others wait. The retry time of the rejected request
    /// is not earlier than that of the first request in the queue. The retry time can be the moment of the rejection
    /// itself, if the first request should have retried already. If the first request stops retrying, other requests
    /// ignore the queue after at most two seconds. Limits that count rejected requests (`sliding-log-all`) count these
    /// rejections too.
    #[must_use]
    pub fn fair(self, fair: bool) -> Limiter {
        Limiter { is_fair: fair, ..self }
    }

    /// Admits one request now, or rejects it.
    ///
    /// # Errors
    /// Returns [`Rejected`] if the request is rejected. In that case, only limits that count rejected requests count
    /// it.
    #[inline]
    pub fn try_acquire(&self) -> Result<(), Rejected> {
        self.try_acquire_same(1)
    }

    /// Admits a request with costs now, or rejects it. The request has the same cost for all limits (`5`), or one
    /// cost for each limit, in the order of the limits (`&[1, 4_000]`). An admitted request is counted by all limits.
    ///
    /// # Errors
    /// Returns [`CostsRejected`] if the request is rejected. In that case, only limits that count rejected requests
    /// count it.
    pub fn try_acquire_costs<'a>(&self, costs: impl Into<Costs<'a>>) -> Result<(), CostsRejected> {
        match costs.into() {
            Costs::Same(n) => Ok(self.try_acquire_same(n)?),
            costs @ Costs::Each(_) => {
                self.answer(costs, |limits, state, now| limits.try_acquire_costs(state, now, costs))
            }
        }
    }

    /// Admits or rejects one request. The returned [`Decision`] includes the number of remaining requests.
    #[must_use]
    pub fn decide(&self) -> Decision {
        let Ok(decision) = self.decided(Costs::Same(1), |limits, state, now| {
            Ok::<_, Infallible>(limits.decide(state, now, 1))
        });
        decision
    }

    /// Decides as [`try_acquire_costs`](Limiter::try_acquire_costs) does, and returns the [`Decision`] with the number
    /// of remaining requests.
    ///
    /// # Errors
    /// Returns [`CostsRejected::Number`] unless there is exactly one cost for each limit.
    pub fn decide_costs<'a>(&self, costs: impl Into<Costs<'a>>) -> Result<Decision, CostsRejected> {
        let costs = costs.into();
        self.decided(costs, |limits, state, now| limits.decide_costs(state, now, costs))
    }

    /// Returns the standing of the limit with the fewest remaining requests. This call counts nothing.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.with(|limits, state, now| limits.tightest(state, now).1)
    }

    /// Returns the limits in force.
    #[must_use]
    pub fn limits(&self) -> Arc<Limits> {
        Arc::clone(&lock(&self.inner.shared).limits)
    }

    /// Replaces the limits in one atomic step. Earlier admissions stay counted, as described for [`Limits`].
    pub fn set_limits(&self, limits: Limits) {
        self.with(|old, state, now| {
            old.advance(state, now);
            *state = limits.carry_over(old, state, now);
            *old = Arc::new(limits);
        });
        self.inner.queue.wake_first(&());
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.inner.clock
    }

    pub(crate) fn queue(&self) -> &WaitQueue<()> {
        &self.inner.queue
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    pub(crate) fn settle(&self, receipt: &Receipt, actual: Costs<'_>) {
        self.with(|limits, state, now| limits.settle(state, now, receipt, actual));
        self.inner.queue.wake_first(&());
    }

    #[inline]
    fn try_acquire_same(&self, n: u64) -> Result<(), Rejected> {
        match self.inner.fast_path.try_acquire(n, self.clock()) {
            Some(answer) => {
                self.meter.answered(answer.is_ok());
                answer
            }
            None => self.try_acquire_locked(n),
        }
    }

    /// Decides under the lock. This method is not inlined, because inlining it would make the fast path save registers.
    #[inline(never)]
    fn try_acquire_locked(&self, n: u64) -> Result<(), Rejected> {
        self.answer(Costs::Same(n), |limits, state, now| limits.try_acquire(state, now, n))
    }

    pub(crate) fn answer<T, E: From<Rejected>>(
        &self,
        costs: Costs<'_>,
        step: impl FnOnce(&Arc<Limits>, &mut LimitsState, Nanos) -> Result<T, E>,
    ) -> Result<T, E> {
        let answer = self.with(|limits, state, now| {
            self.yield_to_waiters(limits, state, now, costs)?;
            step(limits, state, now)
        });
        self.meter.answered(answer.is_ok());
        answer
    }

    fn decided<E>(
        &self,
        costs: Costs<'_>,
        step: impl FnOnce(&Arc<Limits>, &mut LimitsState, Nanos) -> Result<Decision, E>,
    ) -> Result<Decision, E> {
        let decision = self.with(|limits, state, now| {
            match self.yield_to_waiters(limits, state, now, costs) {
                Ok(()) => step(limits, state, now),
                Err(rejected) => Ok(limits.decide_queued(state, now, rejected)),
            }
        });
        self.meter.answered(decision.as_ref().is_ok_and(Decision::is_allowed));
        decision
    }

    #[inline]
    fn yield_to_waiters(
        &self,
        limits: &Limits,
        state: &mut LimitsState,
        now: Nanos,
        costs: Costs<'_>,
    ) -> Result<(), Rejected> {
        if !self.is_fair {
            return Ok(());
        }
        self.inner.queue.yield_to_waiters(&(), limits, state, now, costs)
    }

    /// Runs `step` under the lock, with the fast path closed.
    pub(crate) fn with<T>(
        &self,
        step: impl FnOnce(&mut Arc<Limits>, &mut LimitsState, Nanos) -> T,
    ) -> T {
        let Inner { fast_path, shared, clock, queue } = &*self.inner;
        let mut shared = lock(shared);
        let Shared { limits, state } = &mut *shared;
        fast_path.close(state);
        let answer = step(limits, state, clock.now());
        if queue.is_empty() {
            fast_path.open(limits, state);
        }
        answer
    }
}
