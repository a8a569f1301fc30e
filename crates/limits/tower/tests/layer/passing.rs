//! Tests that readiness, errors and delays of the inner service and of decisions pass through the layer.

use crate::{by_header, from};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::task::noop_waker_ref;
use http::{Request, Response};
use nanopace_nanos::ManualClock;
use nanopace_tower::{
    ByKey, Decide, Decided, Deciding, LimitLayer, LimitService, Limiter, One, OnlyGrpc, TextOrGrpc,
};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use tokio::sync::oneshot;
use tower::{Layer, Service};

type Outcome = Result<Response<String>, &'static str>;

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
        // A limit that is used up does not change the readiness.
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

#[test]
fn a_slow_answer_is_awaited() {
    let (send, answer) = futures_util::future::AbortHandle::new_pair();
    let never = futures_util::future::pending::<()>();
    let answered = futures_util::future::Abortable::new(never, answer).shared();
    let service = tower::service_fn(move |_: Request<String>| {
        answered.clone().map(|_| Ok::<_, ()>(Response::new(String::new())))
    });
    let mut limited = by_header("1/h", &ManualClock::new()).layer(service);
    let mut response = std::pin::pin!(limited.call(from("a")));
    assert!(response.as_mut().now_or_never().is_none());
    send.abort();
    let response = response.now_or_never().expect("an answer").unwrap();
    assert_eq!(crate::field(&response, "ratelimit"), r#""1/h";r=0;t=3600"#);
}

/// Decides as a limiter does, but each result waits for a message on a channel.
#[derive(Clone)]
struct Later(Limiter, Arc<Mutex<VecDeque<oneshot::Receiver<()>>>>);

impl<B> Decide<B> for Later {
    type Later = BoxFuture<'static, Decided>;

    fn decide_on(&self, request: &Request<B>, cost: u64) -> Deciding<Self::Later> {
        let told = self.1.lock().unwrap().pop_front().unwrap();
        let Deciding::Now(decided) = self.0.decide_on(request, cost) else { unreachable!() };
        Deciding::Later(told.map(|_| decided).boxed())
    }
}

#[test]
fn a_decision_to_come_is_awaited() {
    let (tell, told): (Vec<_>, VecDeque<_>) = (0..2).map(|_| oneshot::channel()).unzip();
    let limiter = Limiter::with_clock("1/h".parse().unwrap(), ManualClock::new());
    let layer = LimitLayer::new(Later(limiter, Arc::new(Mutex::new(told))));
    let calls = Arc::new(AtomicU32::new(0));
    let counts = Arc::clone(&calls);
    let mut service = layer.layer(tower::service_fn(move |_: Request<String>| {
        counts.fetch_add(1, Ordering::Relaxed);
        ready(Ok::<_, Infallible>(Response::new("hello".to_owned())))
    }));
    let expected = [(200, r#""1/h";r=0;t=3600"#, "hello"), (429, r#""1/h";r=0;t=3600"#, "")];
    for (tell, (status, fields, body)) in tell.into_iter().zip(expected) {
        let mut response = std::pin::pin!(service.call(from("a")));
        assert!(response.as_mut().now_or_never().is_none());
        tell.send(()).unwrap();
        let response = response.now_or_never().expect("an answer").unwrap();
        assert_eq!(response.status(), status);
        assert_eq!(crate::field(&response, "ratelimit"), fields);
        assert!(response.body().starts_with(body));
        assert_eq!(response.headers().contains_key("retry-after"), status == 429);
    }
    assert_eq!(calls.load(Ordering::Relaxed), 1, "rejected requests do not reach the service");
}

#[derive(Debug, Default)]
struct Numbered {
    clones: Arc<AtomicU32>,
    number: u32,
}

impl Clone for Numbered {
    fn clone(&self) -> Self {
        let number = self.clones.fetch_add(1, Ordering::Relaxed) + 1;
        Numbered { clones: Arc::clone(&self.clones), number }
    }
}

impl Service<Request<String>> for Numbered {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = Ready<Result<Response<String>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<String>) -> Self::Future {
        ready(Ok(Response::new(self.number.to_string())))
    }
}

#[test]
fn the_service_that_was_ready_gets_the_request() {
    let (tell, told) = oneshot::channel();
    tell.send(()).unwrap();
    let limiter = Limiter::with_clock("9/h".parse().unwrap(), ManualClock::new());
    let later = Later(limiter.clone(), Arc::new(Mutex::new(VecDeque::from([told]))));
    let body = |response: Option<Result<Response<String>, Infallible>>| {
        response.expect("an answer at once").unwrap().into_body()
    };
    let mut service = LimitLayer::new(later).layer(Numbered::default());
    assert_eq!(body(service.call(from("a")).now_or_never()), "0");

    // A decision that is made at once needs no clones.
    let mut service = LimitLayer::new(limiter).layer(Numbered::default());
    for _ in 0..3 {
        assert_eq!(body(service.call(from("a")).now_or_never()), "0");
    }
}

#[test]
fn all_of_it_can_be_shared_and_sent() {
    fn shared<T: Clone + Send + Sync + 'static>() {}
    fn sent<T: Send + 'static>() {}
    shared::<LimitLayer<Limiter>>();
    shared::<LimitLayer<ByKey<http::HeaderName, String>, One, OnlyGrpc>>();
    shared::<Limited>();
    sent::<<Limited as Service<Request<String>>>::Future>();
}
