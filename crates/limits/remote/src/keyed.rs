//! Limits by key in a store, for threads.

use crate::core::{Core, Start, StoreRequest};
use crate::decide::{Answer, Step};
use crate::error::{RemoteError, RemoteRejected, StoreError, UnsupportedLimit};
use crate::lease::Leases;
use crate::lease_keeper::LeaseKeeper;
use crate::plan::Plan;
use crate::remote::Remote;
use crate::stats::Stats;
use nanopace_keyed::{LimitsOf, Uniform};
use nanopace_limits::{Costs, Decision, Limits};
use std::sync::Arc;

/// Limits for each of many keys, which any number of processes share by a store. Its clones are the
/// same limiter.
///
/// ```
/// use nanopace_remote::{OnLoss, Remote};
///
/// let store = Remote::lazy("redis://127.0.0.1:1/")?; // `connect` says if it is not there
/// let users = store.limits("10/s burst 20, 5000/day").on_loss(OnLoss::Allow).build()?;
/// if users.try_acquire("alice").is_ok() {
///     // go
/// }
/// # Ok::<(), nanopace_remote::RemoteError>(())
/// ```
///
/// # Strict
///
/// Each decision is one call of a script in the store, by the store's clock. It is the decision that
/// [`Limits`] make of the same arrivals at most a microsecond before or after. Moments in it are
/// nanoseconds since 1970, by that clock, which counts microseconds. All limits of a subject are checked before
/// any is debited. When limits change, what was let in stays counted, as [`Limits`] say.
///
/// # Leased
///
/// With [`leased`](crate::RemoteBuilder::leased), a decision that asks the store takes tokens for
/// more along. As long as there are any, decisions ask nobody.
///
/// * **Never more** gets in than the limits say, in any span, if all that share a prefix lease with
///   the same time. For that, the burst of each rate is smaller by what it brings while tokens are
///   good: decisions tell of limits with that burst. Tokens are good for the given time, but no
///   longer than a rate takes for half of its burst, and not beyond the window that they were taken
///   in. A rate with a burst of 1 has no tokens to lease, and stays strict.
/// * **Less** gets in by what is leased elsewhere and not used: at most [`Stats::leased`], by
///   each process. What is taken ahead and lost on the way, or can't be given back, is gone until the
///   limits bring it again: at most [`Stats::lost`]. A block is what the slowest limit brings in the
///   time, but at least one token, and no more than half of this process's part of what is left.
/// * What is not used is given back when it expires, and when the limiter is dropped. Then it
///   counts as much as what a [`reservation`](nanopace_limits::Reservation) takes back.
///
/// It is assumed that the clocks of processes and the store run equally fast. They need not show the
/// same time.
///
/// # When the store is lost
///
/// A decision takes at most [`Settings::timeout`](crate::Settings::timeout), a tenth of it, and what
/// the system's timers add. Then
/// [`OnLoss`](crate::OnLoss) decides, and the decision counts as [`degraded`](Stats::degraded);
/// [`trouble`](Self::trouble) says why. After
/// two failures in a row the store is not asked, until a thread that tries to connect, again and
/// again, has an answer. A decision is never asked for twice: a request whose answer is missing
/// may be counted. [`Stats::lost`] has it.
#[derive(Debug)]
pub struct RemoteKeyed<C: LimitsOf<str> + 'static = Uniform> {
    inner: Arc<LeaseKeeper<C>>,
}

impl<C: LimitsOf<str>> Clone for RemoteKeyed<C> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl RemoteKeyed {
    /// Changes the limits of all keys, in this process. What was let in stays counted.
    ///
    /// # Errors
    /// [`UnsupportedLimit`]. Nothing has changed then.
    ///
    /// ```
    /// use nanopace_remote::Remote;
    ///
    /// let users = Remote::lazy("redis://127.0.0.1:1/")?.limits("10/s").build()?;
    /// users.set_limits("20/s".parse()?)?;
    /// assert!(users.set_limits("20/s sliding-log".parse()?).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_limits(&self, limits: Limits) -> Result<(), UnsupportedLimit> {
        Plan::new(Arc::new(limits.clone()))?;
        self.config().set(limits);
        Ok(())
    }
}

impl<C: LimitsOf<str>> RemoteKeyed<C> {
    pub(crate) fn start(store: Remote, core: Core<C>) -> Result<Self, RemoteError> {
        Ok(Self { inner: LeaseKeeper::start(store, core)? })
    }

    /// Lets one request of the key in, or rejects it.
    ///
    /// # Errors
    /// [`RemoteRejected`].
    pub fn try_acquire(&self, key: &str) -> Result<(), RemoteRejected> {
        self.try_acquire_costs(key, 1)
    }

    /// Lets a request in that costs each limit the same, or something of its own, or rejects it.
    ///
    /// # Errors
    /// [`RemoteRejected`].
    pub fn try_acquire_costs<'a>(
        &self,
        key: &str,
        costs: impl Into<Costs<'a>>,
    ) -> Result<(), RemoteRejected> {
        Ok(self.decide_costs(key, costs)?.answer()?)
    }

    /// Decides on one request of the key, and says how its limits stand.
    ///
    /// # Errors
    /// [`RemoteRejected`] if there is no decision: no limits, or the store is lost and requests are
    /// denied then.
    ///
    /// ```no_run
    /// use nanopace_remote::Remote;
    ///
    /// let users = Remote::connect("redis://127.0.0.1/")?.limits("100/h").build()?;
    /// let decision = users.decide("alice")?;
    /// println!("RateLimit: {}", decision.rate_limit("hourly"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decide(&self, key: &str) -> Result<Decision, RemoteRejected> {
        self.decide_costs(key, 1)
    }

    /// Decides on a request that costs each limit the same or something of its own. A request for
    /// nothing says how the limits stand.
    ///
    /// # Errors
    /// As for [`decide`](Self::decide).
    pub fn decide_costs<'a>(
        &self,
        key: &str,
        costs: impl Into<Costs<'a>>,
    ) -> Result<Decision, RemoteRejected> {
        match self.core().begin(key, costs.into())? {
            Start::Decided(decision) => Ok(decision),
            Start::Ask(request) => {
                let asked = self.ask(&request);
                self.core().conclude(key, &request, asked)
            }
        }
    }

    fn ask(&self, request: &StoreRequest) -> Result<Answer, StoreError> {
        let pool = self.inner.store().pool();
        if pool.is_lost() {
            return Err(StoreError::Broken);
        }
        let deadline = pool.deadline();
        let mut conversation = self.core().conversation(request);
        let mut call = conversation.call();
        loop {
            let answer = pool.call_by(&call, deadline, || conversation.sent());
            let answer = answer.map_err(|error| conversation.failed(error))?;
            match conversation.next(&answer)? {
                Step::Call(next) => call = next,
                Step::Done(answer) => return Ok(answer),
            }
        }
    }

    /// Where the limits of keys are found.
    #[must_use]
    pub fn config(&self) -> &C {
        self.core().config()
    }

    /// What this limiter and its clones have done so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let core = self.core();
        core.counters.stats(core.leases.as_ref().map_or(0, Leases::leased))
    }

    /// Why the store has failed last. None if it has answered since, or has not failed. Limiters of
    /// one [`Remote`] share its connections, so they share this.
    #[must_use]
    pub fn trouble(&self) -> Option<StoreError> {
        self.inner.store().pool().trouble()
    }

    /// Gives back the tokens that were taken ahead and not used. That happens by itself when they expire,
    /// and when the last clone is dropped.
    pub fn give_back(&self) {
        self.inner.give_back_all();
    }

    pub(crate) fn core(&self) -> &Core<C> {
        self.inner.core()
    }

    #[cfg(feature = "async")]
    pub(crate) fn store(&self) -> &Remote {
        self.inner.store()
    }
}
