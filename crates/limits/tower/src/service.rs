//! The service with limits, and the future of its responses.

use crate::{Answer, Cost, Decide, Decided, Deciding, Rejection, Verdict};
use http::header::RETRY_AFTER;
use http::request::Parts;
use http::{HeaderValue, Request, Response};
use pin_project_lite::pin_project;
use std::fmt;
use std::future::{Future, Ready, ready};
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tower_service::Service;

/// Selects the responses that contain the header fields `RateLimit` and `RateLimit-Policy`
/// (`draft-ietf-httpapi-ratelimit-headers-10`). In the fields, the name of each limit is its string.
/// [`LimitLayer::fields`](crate::LimitLayer::fields) sets this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fields {
    /// All responses to requests that the limits have decided on, so that clients can read how many requests remain.
    /// There are no fields if the limits are `unlimited`.
    #[default]
    Always,
    /// Responses to rejected requests only.
    WhenRejected,
    /// No response. `Retry-After` is still sent.
    Never,
}

#[derive(Clone, Debug)]
pub(crate) struct Settings<D, C, A> {
    pub(crate) decide: D,
    pub(crate) cost: C,
    pub(crate) answer: A,
    pub(crate) fields: Fields,
}

impl<D, C, A> Settings<D, C, A> {
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

/// A service with limits in front of it, made by [`LimitLayer`](crate::LimitLayer). Its clones share the limits.
///
/// The service is ready when the inner service is, and decides on a request when it is called. A rejected request never
/// reaches the inner service. While a store decides, the request waits together with the inner service that was ready,
/// and this service continues with a clone of the inner service.
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
    settings: Arc<Settings<D, C, A>>,
}

impl<S: Clone, D, C, A> Clone for LimitService<S, D, C, A> {
    fn clone(&self) -> Self {
        LimitService { inner: self.inner.clone(), settings: Arc::clone(&self.settings) }
    }
}

impl<S, D, C, A> LimitService<S, D, C, A> {
    pub(crate) fn new(inner: S, settings: Settings<D, C, A>) -> Self {
        LimitService { inner, settings: Arc::new(settings) }
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
        let Settings { decide, cost, .. } = &*self.settings;
        match decide.decide_on(&request, cost.cost(&request)) {
            Deciding::Now(decided) => {
                LimitFuture::decided(&self.settings, decided, &mut self.inner, request)
            }
            Deciding::Later(decision) => {
                // The service that is ready waits with the request for the decision. A clone takes its place.
                let other = self.inner.clone();
                let inner = mem::replace(&mut self.inner, other);
                LimitFuture::deciding(Arc::clone(&self.settings), decision, inner, request)
            }
        }
    }
}

pin_project! {
    /// The future of the inner service's response, or of the response to a rejected request.
    pub struct LimitFuture<S, D, C, A, B>
    where
        S: Service<Request<B>>,
        D: Decide<B>,
    {
        #[pin]
        state: State<S, D, C, A, B>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<S, D, C, A, B>
    where
        S: Service<Request<B>>,
        D: Decide<B>,
    {
        Deciding {
            #[pin]
            decision: D::Later,
            waits: Option<(S, Request<B>)>,
            settings: Arc<Settings<D, C, A>>,
        },
        /// The response of the inner service. `told` is the decision that the header fields of the response describe,
        /// if they are wanted.
        LetIn { #[pin] future: S::Future, told: Option<Verdict> },
        Rejected { answer: Ready<S::Response> },
    }
}

impl<S, D, C, A, B> fmt::Debug for LimitFuture<S, D, C, A, B>
where
    S: Service<Request<B>>,
    D: Decide<B>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::Deciding { .. } => "deciding",
            State::LetIn { .. } => "let in",
            State::Rejected { .. } => "rejected",
        };
        f.debug_tuple("LimitFuture").field(&state).finish()
    }
}

impl<S, D, C, A, B, R> LimitFuture<S, D, C, A, B>
where
    S: Service<Request<B>, Response = Response<R>>,
    D: Decide<B>,
    A: Answer<R>,
{
    pub(crate) fn deciding(
        settings: Arc<Settings<D, C, A>>,
        decision: D::Later,
        inner: S,
        request: Request<B>,
    ) -> Self {
        LimitFuture { state: State::Deciding { decision, waits: Some((inner, request)), settings } }
    }

    pub(crate) fn decided(
        settings: &Settings<D, C, A>,
        decided: Decided,
        inner: &mut S,
        request: Request<B>,
    ) -> Self {
        LimitFuture { state: State::decided(settings, decided, inner, request) }
    }
}

impl<S, D, C, A, B, R> State<S, D, C, A, B>
where
    S: Service<Request<B>, Response = Response<R>>,
    D: Decide<B>,
    A: Answer<R>,
{
    fn decided(
        settings: &Settings<D, C, A>,
        decided: Decided,
        inner: &mut S,
        request: Request<B>,
    ) -> Self {
        match decided {
            Ok(verdict) => {
                let told = verdict.filter(|_| settings.fields == Fields::Always);
                State::LetIn { future: inner.call(request), told }
            }
            Err(rejection) => {
                let answer = settings.reject(&rejection, &request.into_parts().0);
                State::Rejected { answer: ready(answer) }
            }
        }
    }
}

impl<S, D, C, A, B, R> Future for LimitFuture<S, D, C, A, B>
where
    S: Service<Request<B>, Response = Response<R>>,
    D: Decide<B>,
    A: Answer<R>,
{
    type Output = Result<S::Response, S::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        if let StateProjection::Deciding { decision, waits, settings } = state.as_mut().project() {
            let decided = ready!(decision.poll(context));
            if let Some((mut inner, request)) = waits.take() {
                let next = State::decided(settings, decided, &mut inner, request);
                state.set(next);
            }
        }
        match state.project() {
            StateProjection::Deciding { .. } => Poll::Pending,
            StateProjection::LetIn { future, told } => {
                future.poll(context).map_ok(|mut response| {
                    if let Some(verdict) = told {
                        verdict.write(response.headers_mut());
                    }
                    response
                })
            }
            StateProjection::Rejected { answer } => Pin::new(answer).poll(context).map(Ok),
        }
    }
}
