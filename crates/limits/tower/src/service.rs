//! A service in front of which the limits are.

use crate::rules::Rules;
use crate::{Answer, Cost, Decide, Deciding, LimitFuture};
use http::{Request, Response};
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};
use tower_service::Service;

/// A service in front of which the limits are: what [`LimitLayer`](crate::LimitLayer) makes of a
/// service. Its clones share the limits.
///
/// A request is decided on when it is called with, not before: it is ready when the inner service
/// is. A rejected request never reaches the inner service. One that a store decides on waits for the
/// decision with the inner service that was ready, and leaves a clone of it behind.
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
    S: Service<Request<B>, Response = Response<R>> + Clone,
    D: Decide<B>,
    C: Cost<B>,
    A: Answer<R>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = LimitFuture<S, D, C, A, B>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Rules { decide, cost, .. } = &*self.rules;
        match decide.decide_on(&request, cost.cost(&request)) {
            Deciding::Now(decided) => {
                LimitFuture::decided(&self.rules, decided, &mut self.inner, request)
            }
            Deciding::Later(decision) => {
                // The one that is ready waits for the decision.
                let other = self.inner.clone();
                let inner = mem::replace(&mut self.inner, other);
                LimitFuture::deciding(Arc::clone(&self.rules), decision, inner, request)
            }
        }
    }
}
