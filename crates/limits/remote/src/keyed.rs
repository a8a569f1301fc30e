//! Limits by key in a shared store, for threads.

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

/// Limits requests by key, for all processes that share a store. Clones are handles to the same limiter.
///
/// # Strict
///
/// Each decision is one call of a script in the store, or a few calls after the limits have changed or the store has
/// lost the script. The decision is the one that [`Limits`] would make after the same requests, at a moment that
/// differs from the store's by at most a microsecond (for bursts or windows of over a year, by one more for each whole
/// year). Moments are nanoseconds since the Unix epoch by the store's clock, which has a resolution of 1 us. When
/// limits change, counts stay as described for [`Limits`], except that requests under `unlimited` are not counted.
///
/// # Leased
///
/// With [`leased`](crate::RemoteBuilder::leased), a decision that calls the store also takes tokens ahead for its key.
/// As long as these tokens suffice and are valid, the decisions of the process on this key do not call the store.
/// Requests that have one cost for each limit always call the store, and take no tokens ahead.
///
/// * **Never more**: in any span, the limiters with the same prefix together admit no more than the limits allow, if
///   they all use the same lease time. To guarantee this, the burst of each rate is reduced by the requests that the
///   rate allows while tokens are valid. Decisions describe limits with the reduced burst. Tokens are valid for the
///   lease time, but no longer than a rate takes to recover half of its burst, and not beyond the end of the window in
///   which they were taken. A rate with a burst of 1 has no tokens to lease, and stays strict.
/// * **Perhaps less**: tokens that other processes have leased and not used are missing, at most [`Stats::leased`] for
///   each process. Tokens that are lost with a response, or cannot be given back, are missing until the limits recover:
///   at most [`Stats::lost`]. A decision asks for as many tokens ahead as accrue at the slowest limit's rate while
///   tokens are valid, but at least one. It gets at most half of this process's part of the remaining tokens.
/// * Unused tokens are given back when they expire, and when the limiter is dropped. Giving a token back has the effect
///   of a refunded [`reservation`](nanopace_limits::Reservation).
///
/// The clocks of the processes and of the store are assumed to run at the same speed. They need not show the same time.
///
/// # When the store is lost
///
/// A decision takes at most 1.1 times [`Settings::timeout`](crate::Settings::timeout), plus the delay of the system's
/// timers, if each response arrives as a whole. (The timeout starts again with each part of a response.) If the store
/// fails within that time or does not respond, [`OnLoss`](crate::OnLoss) decides, and the decision counts as
/// [`degraded`](Stats::degraded); [`trouble`](Self::trouble) returns the reason. After two failures in a row the store
/// is not called until a background thread, which keeps trying to connect, gets a response. A call whose response is
/// missing is never repeated: its request may be counted in the store, and is then part of [`Stats::lost`].
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
    /// Changes the limits of all keys, in this process. Earlier admissions stay counted.
    ///
    /// # Errors
    /// Returns [`UnsupportedLimit`] if the store does not support one of the limits. In that case, nothing has changed.
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

    /// Admits one request for `key`, or rejects it.
    ///
    /// # Errors
    /// Returns [`RemoteRejected`] if the request is not admitted.
    pub fn try_acquire(&self, key: &str) -> Result<(), RemoteRejected> {
        self.try_acquire_costs(key, 1)
    }

    /// Admits or rejects a request for `key`. The request has the same cost for all limits (`5`), or one cost for each
    /// limit (`&[1, 4_000]`).
    ///
    /// # Errors
    /// Returns [`RemoteRejected`] if the request is not admitted.
    pub fn try_acquire_costs<'a>(
        &self,
        key: &str,
        costs: impl Into<Costs<'a>>,
    ) -> Result<(), RemoteRejected> {
        Ok(self.decide_costs(key, costs)?.answer()?)
    }

    /// Admits or rejects one request for `key`. The returned [`Decision`] includes the number of remaining requests.
    ///
    /// # Errors
    /// Returns [`RemoteRejected`] if there is no decision, for example because the key has no limits, or because the
    /// store is lost and [`OnLoss::Deny`](crate::OnLoss::Deny) is set. A rejection by the limits is not an error, but a
    /// [`Decision`].
    pub fn decide(&self, key: &str) -> Result<Decision, RemoteRejected> {
        self.decide_costs(key, 1)
    }

    /// Admits or rejects a request with costs, as [`try_acquire_costs`](Self::try_acquire_costs) does. The returned
    /// [`Decision`] includes the number of remaining requests. With a cost of zero, nothing is counted.
    ///
    /// # Errors
    /// Returns the same errors as [`decide`](Self::decide).
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

    /// Returns the configuration of each key's limits.
    #[must_use]
    pub fn config(&self) -> &C {
        self.core().config()
    }

    /// Returns the statistics of this limiter and its clones.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let core = self.core();
        core.counters.stats(core.leases.as_ref().map_or(0, Leases::leased))
    }

    /// Returns the reason for the store's last failure. Returns `None` if the store has not failed yet, or if it has
    /// responded without a failure since then. Limiters of one [`Remote`] share its connections, so they share this
    /// reason.
    #[must_use]
    pub fn trouble(&self) -> Option<StoreError> {
        self.inner.store().pool().trouble()
    }

    /// Gives back unused tokens. This also happens when tokens expire, and when the last clone is dropped.
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
