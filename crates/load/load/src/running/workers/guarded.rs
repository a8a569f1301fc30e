//! Enforces the timeout of calls, and catches their panics.

use super::deadline::Deadline;
use crate::console::panics::caught;
use crate::load::kind::FailureKind;
use crate::load::target::{Failure, short};
use std::any::Any;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Guarded {
    timeout: Duration,
    deadline: Option<Deadline>,
}

impl Guarded {
    /// Creates a guard for calls with this timeout. `keeps_to_it` is true if calls apply the timeout themselves. If it
    /// is false, this function panics outside of a tokio runtime.
    pub(crate) fn new(timeout: Duration, keeps_to_it: bool) -> Guarded {
        Guarded { timeout, deadline: (!keeps_to_it).then(|| Deadline::new(timeout)) }
    }

    pub(crate) async fn run<F, R>(&mut self, call: impl FnOnce() -> F) -> Result<R, Failure>
    where
        F: Future<Output = Result<R, Failure>>,
    {
        let Guarded { timeout, deadline } = self;
        if let Some(deadline) = deadline {
            deadline.set(*timeout);
        }
        let mut call = pin!(async { call().await });
        poll_fn(|cx| {
            // A call that has panicked is not polled again. Its failure is `broken`, so the worker drops the session.
            let polled = caught(|| call.as_mut().poll(cx));
            match (polled, &mut *deadline) {
                (Ok(Poll::Ready(result)), _) => Poll::Ready(result),
                (Err(payload), _) => Poll::Ready(Err(panicked(&*payload))),
                (Ok(Poll::Pending), Some(deadline)) => {
                    deadline.poll_passed(cx).map(|()| Err(timed_out()))
                }
                (Ok(Poll::Pending), None) => Poll::Pending,
            }
        })
        .await
    }
}

pub(crate) fn timed_out() -> Failure {
    Failure::of(FailureKind::of_group("timeout", "timeout")).broken()
}

pub(crate) fn panicked(payload: &(dyn Any + Send)) -> Failure {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let text = format!("panic: {}", text.unwrap_or("no text"));
    Failure::of(FailureKind::external("panic", &short(text))).broken()
}
