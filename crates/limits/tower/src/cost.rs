//! What a request costs.

use http::Request;

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
