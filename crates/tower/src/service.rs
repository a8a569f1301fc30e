//! A service in front of which the limits are.

use crate::{Answer, Cost, Decide, LimitFuture, Rejection};
use http::header::RETRY_AFTER;
use http::request::Parts;
use http::{HeaderValue, Request, Response};
use std::sync::Arc;
use std::task::{Context, Poll};
use tower_service::Service;

/// Which responses have the fields `RateLimit` and `RateLimit-Policy`
/// (`draft-ietf-httpapi-ratelimit-headers-10`). They name each limit by its text.
///
/// ```
/// use nanopace_tower::{Fields, Limiter, LimitLayer};
///
/// let layer = LimitLayer::new(Limiter::per_second(10).build()?).fields(Fields::Never);
/// # let _ = layer;
/// # Ok::<(), nanopace_tower::LimitsError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fields {
    /// All responses: a client sees how much it has left.
    #[default]
    Always,
    /// The answers to rejected requests.
    WhenRejected,
    /// None. `Retry-After` is there all the same.
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
    fn reject<R>(&self, rejection: &Rejection, request: &Parts) -> Response<R>
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

/// A service in front of which the limits are: what [`LimitLayer`](crate::LimitLayer) makes of a
/// service. Its clones share the limits.
///
/// A request is decided on when it is called with, not before: it is ready when the inner service
/// is. A rejected request never reaches the inner service.
///
/// ```
/// use http::{Request, Response};
/// use nanopace_tower::{Limiter, LimitLayer};
/// use std::convert::Infallible;
/// use tower::{Layer, ServiceExt, service_fn};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let hello = async |_: Request<String>| {
///     Ok::<_, Infallible>(Response::new("hello".to_owned()))
/// };
/// let limits = LimitLayer::new(Limiter::new("1/h sliding-log".parse()?));
/// let service = limits.layer(service_fn(hello));
/// let response = service.clone().oneshot(Request::default()).await?;
/// assert_eq!(response.headers()["ratelimit"], r#""1/h sliding-log";r=0;t=3600"#);
/// let response = service.oneshot(Request::default()).await?;
/// assert_eq!(response.status(), 429);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct LimitService<S, D, C, A> {
    inner: S,
    rules: Arc<Rules<D, C, A>>,
}

impl<S: Clone, D, C, A> Clone for LimitService<S, D, C, A> {
    fn clone(&self) -> Self {
        LimitService { inner: self.inner.clone(), rules: Arc::clone(&self.rules) }
    }
}

impl<S, D, C, A> LimitService<S, D, C, A> {
    pub(crate) fn new(inner: S, rules: Rules<D, C, A>) -> Self {
        LimitService { inner, rules: Arc::new(rules) }
    }
}

impl<S, D, C, A, B, R> Service<Request<B>> for LimitService<S, D, C, A>
where
    S: Service<Request<B>, Response = Response<R>>,
    D: Decide<B>,
    C: Cost<B>,
    A: Answer<R>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = LimitFuture<S::Future, R>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Rules { decide, cost, fields, .. } = &*self.rules;
        match decide.decide_on(&request, cost.cost(&request)) {
            Ok(verdict) => {
                let told = verdict.filter(|_| *fields == Fields::Always);
                LimitFuture::let_in(self.inner.call(request), told)
            }
            Err(rejection) => {
                LimitFuture::rejected(self.rules.reject(&rejection, &request.into_parts().0))
            }
        }
    }
}
