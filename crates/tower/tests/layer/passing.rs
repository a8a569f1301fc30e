//! Readiness and errors are those of the inner service.

use crate::{by_header, from};
use futures_util::FutureExt;
use futures_util::task::noop_waker_ref;
use http::{Request, Response};
use nanopace::ManualClock;
use nanopace_tower::{
    ByKey, LimitFuture, LimitLayer, LimitService, Limiter, One, OnlyGrpc, TextOrGrpc,
};
use std::future::{Ready, ready};
use std::task::{Context, Poll};
use tower::{Layer, Service};

type Outcome = Result<Response<String>, &'static str>;

/// Says what it was told to say.
#[derive(Clone)]
struct Scripted {
    readiness: Poll<Result<(), &'static str>>,
    outcome: Result<(), &'static str>,
    calls: u32,
}

impl Service<Request<String>> for Scripted {
    type Response = Response<String>;
    type Error = &'static str;
    type Future = Ready<Outcome>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        self.readiness
    }

    fn call(&mut self, _: Request<String>) -> Ready<Outcome> {
        self.calls += 1;
        ready(self.outcome.map(|()| Response::default()))
    }
}

type Limited = LimitService<Scripted, ByKey<http::HeaderName, String>, One, TextOrGrpc>;

fn limited(
    readiness: Poll<Result<(), &'static str>>,
    outcome: Result<(), &'static str>,
) -> Limited {
    by_header("1/h", &ManualClock::new()).layer(Scripted { readiness, outcome, calls: 0 })
}

fn answer(service: &mut Limited) -> Outcome {
    service.call(from("a")).now_or_never().expect("an answer at once")
}

#[test]
fn it_is_ready_when_the_inner_service_is() {
    let mut context = Context::from_waker(noop_waker_ref());
    for readiness in [Poll::Pending, Poll::Ready(Ok(())), Poll::Ready(Err("broken"))] {
        let mut service = limited(readiness, Ok(()));
        assert_eq!(service.poll_ready(&mut context), readiness);
        // Also when the limit is used up.
        let _ = (answer(&mut service), answer(&mut service));
        assert_eq!(service.poll_ready(&mut context), readiness);
    }
}

#[test]
fn errors_pass_through_and_are_counted() {
    let mut service = limited(Poll::Ready(Ok(())), Err("broken"));
    assert_eq!(answer(&mut service).unwrap_err(), "broken");
    assert_eq!(answer(&mut service).unwrap().status(), 429);
}

/// What is pending stays so until the inner service has answered; then the fields are there.
#[test]
fn a_slow_answer_is_awaited() {
    let (send, answer) = futures_util::future::AbortHandle::new_pair();
    let service = |_: Request<String>| {
        let never = futures_util::future::pending::<()>();
        let aborted = futures_util::future::Abortable::new(never, answer);
        aborted.map(|_| Ok::<_, ()>(Response::new(String::new())))
    };
    let mut service = Some(service);
    let once = tower::service_fn(move |request| (service.take().expect("one call"))(request));
    let mut limited = by_header("1/h", &ManualClock::new()).layer(once);
    let mut response = std::pin::pin!(limited.call(from("a")));
    assert!(response.as_mut().now_or_never().is_none());
    send.abort();
    let response = response.now_or_never().expect("an answer").unwrap();
    assert_eq!(crate::field(&response, "ratelimit"), r#""1/h";r=0;t=3600"#);
}

#[test]
fn all_of_it_can_be_shared_and_sent() {
    fn shared<T: Clone + Send + Sync + 'static>() {}
    fn sent<T: Send + 'static>() {}
    shared::<LimitLayer<Limiter>>();
    shared::<LimitLayer<ByKey<http::HeaderName, String>, One, OnlyGrpc>>();
    shared::<Limited>();
    sent::<LimitFuture<Ready<Outcome>, String>>();
}
