//! The response to come.

use crate::Verdict;
use http::Response;
use pin_project_lite::pin_project;
use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::task::{Context, Poll};

pin_project! {
    /// The response of a [`LimitService`](crate::LimitService), to come: the inner service's, or the
    /// answer to a rejected request.
    ///
    /// ```
    /// use nanopace_tower::LimitFuture;
    /// use std::future::Ready;
    ///
    /// fn is_unpin<F: Unpin>() {}
    /// is_unpin::<LimitFuture<Ready<()>, String>>();
    /// ```
    #[derive(Debug)]
    pub struct LimitFuture<F, R> {
        #[pin]
        state: State<F, R>,
    }
}

pin_project! {
    #[derive(Debug)]
    #[project = StateProjection]
    enum State<F, R> {
        /// With what is told of the limits, if anything is.
        LetIn { #[pin] future: F, told: Option<Verdict> },
        Rejected { answer: Ready<Response<R>> },
    }
}

impl<F, R> LimitFuture<F, R> {
    pub(crate) fn let_in(future: F, told: Option<Verdict>) -> Self {
        LimitFuture { state: State::LetIn { future, told } }
    }

    pub(crate) fn rejected(answer: Response<R>) -> Self {
        LimitFuture { state: State::Rejected { answer: ready(answer) } }
    }
}

impl<F, R, E> Future for LimitFuture<F, R>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = Result<Response<R>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
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
