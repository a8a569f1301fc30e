//! Tests the layer in virtual time, and in servers of axum and tonic.

mod answers;
mod forwarded;
mod keys;
mod laws;
mod passing;
mod with_axum;
#[cfg(feature = "remote")]
mod with_store;
mod with_tonic;

use futures_util::FutureExt;
use http::header::HeaderName;
use http::{Request, Response};
use nanopace_keyed::Uniform;
use nanopace_nanos::ManualClock;
use nanopace_tower::{Keyed, LimitLayer, Limits};
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::hash::Hash;
use tower::{Layer, Service, ServiceExt};

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

fn limits(text: &str) -> Limits {
    text.parse().expect("limits")
}

fn keyed<K: Hash + Eq>(text: &str, clock: &ManualClock) -> Keyed<K> {
    let uniform = Uniform::new(limits(text));
    Keyed::builder(uniform).max_keys(100).clock(clock.clone()).build().expect("limits")
}

fn hello(_: Request<String>) -> Ready<Result<Response<String>, Infallible>> {
    ready(Ok(Response::new("hello".to_owned())))
}

fn behind<L, S>(layer: &L) -> S
where
    L: Layer<tower::util::ServiceFn<Hello>, Service = S>,
{
    layer.layer(tower::service_fn(hello as Hello))
}

type Hello = fn(Request<String>) -> Ready<Result<Response<String>, Infallible>>;

fn call<S, B>(service: &S, request: Request<B>) -> Response<String>
where
    S: Service<Request<B>, Response = Response<String>, Error = Infallible> + Clone,
{
    let response = service.clone().oneshot(request).now_or_never().expect("an answer at once");
    response.unwrap_or_else(|never| match never {})
}

fn from(key: &str) -> Request<String> {
    Request::get("/").header(API_KEY, key).body(String::new()).unwrap()
}

fn field<B>(response: &Response<B>, name: &str) -> String {
    let values = response.headers().get_all(name).iter().map(|value| value.to_str().unwrap());
    values.collect::<Vec<_>>().join(", ")
}

fn by_header(
    text: &str,
    clock: &ManualClock,
) -> LimitLayer<nanopace_tower::ByKey<HeaderName, String>> {
    LimitLayer::by_header(API_KEY, keyed(text, clock))
}
