//! The response to come.

use crate::rules::{Fields, Rules};
use crate::{Answer, Decide, Decided, Verdict};
use http::{Request, Response};
use pin_project_lite::pin_project;
use std::fmt;
use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tower_service::Service;

pin_project! {
    /// The response of a [`LimitService`](crate::LimitService), to come: the inner service's, or the
    /// answer to a rejected request.
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
        /// The request and its service wait until it is decided.
        Deciding {
            #[pin]
            decision: D::Later,
            waits: Option<(S, Request<B>)>,
            rules: Arc<Rules<D, C, A>>,
        },
        /// The request is let in; `told` is what its response tells of the limits.
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
        rules: Arc<Rules<D, C, A>>,
        decision: D::Later,
        inner: S,
        request: Request<B>,
    ) -> Self {
        LimitFuture { state: State::Deciding { decision, waits: Some((inner, request)), rules } }
    }

    pub(crate) fn decided(
        rules: &Rules<D, C, A>,
        decided: Decided,
        inner: &mut S,
        request: Request<B>,
    ) -> Self {
        LimitFuture { state: State::decided(rules, decided, inner, request) }
    }
}

impl<S, D, C, A, B, R> State<S, D, C, A, B>
where
    S: Service<Request<B>, Response = Response<R>>,
    D: Decide<B>,
    A: Answer<R>,
{
    fn decided(
        rules: &Rules<D, C, A>,
        decided: Decided,
        inner: &mut S,
        request: Request<B>,
    ) -> Self {
        match decided {
            Ok(verdict) => {
                let told = verdict.filter(|_| rules.fields == Fields::Always);
                State::LetIn { future: inner.call(request), told }
            }
            Err(rejection) => {
                let answer = rules.reject(&rejection, &request.into_parts().0);
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
        if let StateProjection::Deciding { decision, waits, rules } = state.as_mut().project() {
            let decided = ready!(decision.poll(context));
            if let Some((mut inner, request)) = waits.take() {
                let next = State::decided(rules, decided, &mut inner, request);
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
