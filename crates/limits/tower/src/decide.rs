//! Decisions on requests, and what a request costs.

use crate::{Rejection, Verdict};
use http::Request;
use nanopace_limits::Limiter;
use std::future::{Future, Ready};

/// A request was let in, or it was rejected. None if it was let in without being counted.
pub type Decided = Result<Option<Verdict>, Rejection>;

/// A decision that is made, or one to come.
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
#[derive(Debug)]
pub enum Deciding<F> {
    /// The decision is made.
    Now(Decided),
    /// This future makes the decision.
    Later(F),
}

/// Decides on requests. A [`Limiter`] does for all of them together, [`ByKey`](crate::ByKey) for each
/// key.
///
/// What decides at once needs no future: [`Later`](Decide::Later) is a [`Ready`] then, of which there
/// is never one.
pub trait Decide<B> {
    /// A decision to come.
    type Later: Future<Output = Decided>;

    /// Lets a request in that costs so much, and says how the limits stand.
    ///
    /// ```
    /// use http::Request;
    /// use nanopace_tower::{Decide, Deciding, Limiter, Rejection};
    ///
    /// let limiter = Limiter::per_second(10).build()?;
    /// let rejected = limiter.decide_on(&Request::new("body"), 11);
    /// assert!(matches!(rejected, Deciding::Now(Err(Rejection::Limit(_)))));
    /// # Ok::<(), nanopace_tower::LimitsError>(())
    /// ```
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

/// What becomes of the request.
pub(crate) fn outcome(verdict: Verdict) -> Decided {
    if verdict.decision().is_allowed() { Ok(Some(verdict)) } else { Err(Rejection::Limit(verdict)) }
}

/// What a request costs, of each of the limits. Every function from `&Request<B>` to `u64` is one.
///
/// ```
/// use http::{Method, Request};
/// use nanopace_tower::Cost;
///
/// let cost = |request: &Request<()>| if request.method() == Method::GET { 1 } else { 5 };
/// assert_eq!(cost.cost(&Request::post("/").body(())?), 5);
/// # Ok::<(), http::Error>(())
/// ```
pub trait Cost<B> {
    /// What this one costs. One that costs nothing always gets in.
    fn cost(&self, request: &Request<B>) -> u64;
}

/// Each request costs 1: the default.
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
