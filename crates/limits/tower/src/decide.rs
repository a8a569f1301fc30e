//! The traits for decisions on requests and for the costs of requests.

use crate::{Rejection, Verdict};
use http::Request;
use nanopace_limits::Limiter;
use std::future::{Future, Ready};

/// The result of a decision. `Ok` means that the request is admitted, with `None` if it was not counted.
pub type Decided = Result<Option<Verdict>, Rejection>;

/// A decision, or a future that returns one.
#[derive(Debug)]
pub enum Deciding<F> {
    /// The decision is made already.
    Now(Decided),
    /// This future makes the decision.
    Later(F),
}

/// Decides on requests. A [`Limiter`] decides on all requests together, and [`ByKey`](crate::ByKey) on the requests of
/// each key separately.
///
/// An implementation that always decides at once needs no future: its [`Later`](Decide::Later) is an unused [`Ready`].
///
/// ```
/// use http::Request;
/// use nanopace_tower::{Decide, Deciding, Limiter};
///
/// let limiter = Limiter::per_second(10).build()?;
/// let Deciding::Now(Ok(Some(verdict))) = limiter.decide_on(&Request::new("body"), 2) else {
///     panic!("limits of this process decide at once");
/// };
/// assert_eq!(verdict.decision().remaining(), 8);
/// # Ok::<(), nanopace_tower::LimitsError>(())
/// ```
pub trait Decide<B> {
    /// The future of a decision that is not made at once.
    type Later: Future<Output = Decided>;

    /// Admits or rejects a request with this cost.
    fn decide_on(&self, request: &Request<B>, cost: u64) -> Deciding<Self::Later>;
}

impl<B> Decide<B> for Limiter {
    type Later = Ready<Decided>;

    fn decide_on(&self, _: &Request<B>, cost: u64) -> Deciding<Self::Later> {
        let decision = self.decide_costs(cost).map_err(|rejected| Rejection::Key(rejected.into()));
        let verdict = |decision| outcome(Verdict::new(decision, Some(self.limits())));
        Deciding::Now(decision.and_then(verdict))
    }
}

pub(crate) fn outcome(verdict: Verdict) -> Decided {
    if verdict.decision().is_allowed() { Ok(Some(verdict)) } else { Err(Rejection::Limit(verdict)) }
}

/// Computes the cost of a request, which is the same for all limits. Every function from `&Request<B>` to `u64`
/// implements this trait.
pub trait Cost<B> {
    /// Returns the cost of this request. The limits admit every request that costs nothing.
    fn cost(&self, request: &Request<B>) -> u64;
}

/// The default cost: each request costs 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct One;

impl<B> Cost<B> for One {
    fn cost(&self, _: &Request<B>) -> u64 {
        1
    }
}

impl<B, F: Fn(&Request<B>) -> u64> Cost<B> for F {
    fn cost(&self, request: &Request<B>) -> u64 {
        self(request)
    }
}
