//! What a layer does with decisions: whom it asks, and what it tells.

use crate::{Answer, Rejection};
use http::header::RETRY_AFTER;
use http::request::Parts;
use http::{HeaderValue, Response};

/// Which responses have the fields `RateLimit` and `RateLimit-Policy`
/// (`draft-ietf-httpapi-ratelimit-headers-10`). They name each limit by its text.
///
/// [`LimitLayer::fields`](crate::LimitLayer::fields) sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fields {
    /// All responses: a client sees how much it has left.
    #[default]
    Always,
    /// The answers to rejected requests.
    WhenRejected,
    /// No response has them. `Retry-After` is there all the same.
    Never,
}

/// What a layer and its services share.
#[derive(Clone, Debug)]
pub(crate) struct Rules<D, C, A> {
    pub(crate) decide: D,
    pub(crate) cost: C,
    pub(crate) answer: A,
    pub(crate) fields: Fields,
}

impl<D, C, A> Rules<D, C, A> {
    /// The whole response to a rejected request.
    pub(crate) fn reject<R>(&self, rejection: &Rejection, request: &Parts) -> Response<R>
    where
        A: Answer<R>,
    {
        let mut response = self.answer.answer(rejection, request);
        let headers = response.headers_mut();
        let Some(verdict) = rejection.verdict() else { return response };
        let retry = verdict.decision().retry_after().map(HeaderValue::try_from);
        if let Some(Ok(seconds)) = retry {
            headers.entry(RETRY_AFTER).or_insert(seconds);
        }
        if self.fields != Fields::Never {
            verdict.write(headers);
        }
        response
    }
}
