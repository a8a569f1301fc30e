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

/// Limits for each of many keys, which any number of processes share through a store. Its clones are handles to the
/// same limiter.
///
/// # Strict
///
/// Each decision is one call of a script in the store, by the store's clock. The decision is the one that [`Limits`]
/// would make on the same arrivals at most a microsecond before or after. Its moments are nanoseconds since 1970 by the
/// store's clock, which counts microseconds. All limits of a subject are checked before any is debited. When limits
/// change, counts stay as described for [`Limits`].
///
/// # Leased
///
/// With [`leased`](crate::RemoteBuilder::leased), a decision that calls the store also takes tokens ahead. While a
/// process has such tokens, its decisions do not call the store.
///
/// * **Never more** is admitted than the limits allow, in any span, if all limiters with one prefix lease with the same
///   time. For that, the burst of each rate is reduced by what the rate brings while tokens are valid: decisions
///   describe limits with the reduced burst. Tokens are valid for the given time, but no longer than a rate takes for
///   half of its burst, and not beyond the window that they were taken in. A rate with a burst of 1 has no tokens to
///   lease, and stays strict.
/// * **Less** may be admitted, by the tokens that other processes have leased and not used: at most [`Stats::leased`]
///   for each process. Tokens that are lost on the way, or cannot be given back, are missing until the limits bring
///   them again: at most [`Stats::lost`]. A block is what the slowest limit brings in the time, but at least one token,
///   and no more than half of this process's part of the remaining tokens.
/// * Unused tokens are given back when they expire, and when the limiter is dropped. Tokens that were given back count
///   as much as a refunded [`reservation`](nanopace_limits::Reservation).
///
/// The clocks of processes and the store are assumed to run equally fast. The clocks need not show the same time.
///
/// # When the store is lost
///
/// A decision takes at most [`Settings::timeout`](crate::Settings::timeout), a tenth of it, and the delay of the
/// system's timers. Then [`OnLoss`](crate::OnLoss) decides, and the decision counts as [`degraded`](Stats::degraded);
/// [`trouble`](Self::trouble) returns the reason. After two failures in a row the store is not called, until a thread
/// that keeps trying to connect gets a response. A call is never repeated: a request whose response is missing may be
/// counted, and is part of [`Stats::lost`].
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
    /// Changes the limits of all keys, in this process. Admissions stay counted.
    ///
    /// # Errors
    /// [`UnsupportedLimit`]. Nothing has changed then.
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

    /// Admits one request of the key, or rejects it.
    ///
    /// # Errors
    /// [`RemoteRejected`].
    pub fn try_acquire(&self, key: &str) -> Result<(), RemoteRejected> {
        self.try_acquire_costs(key, 1)
    }

    /// Admits or rejects a request that costs each limit the same (`5`), or has one cost for each limit (`&[1,
    /// 4_000]`).
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

    /// Admits or rejects one request of the key, and returns what is left.
    ///
    /// # Errors
    /// [`RemoteRejected`] if there is no decision: the key has no limits, or the store is lost and requests are denied
    /// then.
    pub fn decide(&self, key: &str) -> Result<Decision, RemoteRejected> {
        self.decide_costs(key, 1)
    }

    /// Admits or rejects a request with costs, as for [`try_acquire_costs`](Self::try_acquire_costs), and returns what
    /// is left. Use zero costs to read what is left without counting anything.
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

    /// The limits of each key.
    #[must_use]
    pub fn config(&self) -> &C {
        self.core().config()
    }

    /// Statistics of this limiter and its clones.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let core = self.core();
        core.counters.stats(core.leases.as_ref().map_or(0, Leases::leased))
    }

    /// The reason for the store's last failure. `None` if the store has responded since, or has not failed. Limiters of
    /// one [`Remote`] share its connections, so they share this reason.
    #[must_use]
    pub fn trouble(&self) -> Option<StoreError> {
        self.inner.store().pool().trouble()
    }

    /// Gives back the tokens that were taken ahead and not used. That also happens when they expire, and when the
    /// last clone is dropped.
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
