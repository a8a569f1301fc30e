//! Tests that the layer admits exactly the requests that its limits admit, and that the header fields are right.

use crate::{API_KEY, behind, by_header, call, field, from, hello, keyed, limits};
use http::{Request, Response};
use nanopace_nanos::ManualClock;
use nanopace_tower::{KeyRejected, Keyed, LimitLayer, Limiter, WithoutKey};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use tower::{Layer, service_fn};

fn cost(request: &Request<String>) -> u64 {
    request.headers()["x-cost"].to_str().unwrap().parse().unwrap()
}

fn request(key: Option<&str>, cost: u64) -> Request<String> {
    let mut request = key.map_or_else(Request::default, from);
    request.headers_mut().insert("x-cost", cost.into());
    request
}

proptest! {
    #[test]
    fn the_layer_admits_what_its_limits_admit_and_its_fields_describe_them(
        text in prop::sample::select(vec!["5/10s sliding-log", "2/s, 6/10s sliding-log"]),
        requests in prop::collection::vec(
            (0_u64..4_000, prop::sample::select(vec![None, Some("a"), Some("b")]), 0_u64..7),
            0..60,
        ),
    ) {
        let (clock, limits) = (ManualClock::new(), limits(text));
        let same: Keyed<String> = keyed(text, &clock);
        let reached = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&reached);
        let layer = by_header(text, &clock)
            .cost(cost)
            .without_key(WithoutKey::Common("nobody".to_owned()));
        let service = layer.layer(service_fn(move |request| {
            counter.fetch_add(1, Relaxed);
            hello(request)
        }));
        let mut admitted = 0;
        for (gap, key, cost) in requests {
            clock.advance(Duration::from_millis(gap));
            let decision = same.decide_costs(key.unwrap_or("nobody"), cost).unwrap();
            let response = call(&service, request(key, cost));
            admitted += u64::from(decision.is_allowed());
            prop_assert_eq!(reached.load(Relaxed), admitted);
            prop_assert_eq!(response.status(), if decision.is_allowed() { 200 } else { 429 });
            prop_assert_eq!(field(&response, "retry-after"), decision.retry_after().unwrap_or_default());
            let name = limits.each()[decision.which()].to_string();
            prop_assert_eq!(field(&response, "ratelimit"), decision.rate_limit(&name));
            prop_assert_eq!(field(&response, "ratelimit-policy"), limits.policy());
        }
    }

    /// `Retry-After` is a whole number of seconds, even if the retry time of the limits is not.
    #[test]
    fn a_request_at_its_retry_time_is_admitted(
        text in prop::sample::select(vec!["7/s", "3/10s burst 2", "5/s, 11/min in 6", "3/7s fixed-window"]),
        gaps in prop::collection::vec(0_u64..3_000, 1..30),
    ) {
        let clock = ManualClock::new();
        let service = behind(&by_header(text, &clock));
        for gap in gaps {
            clock.advance(Duration::from_millis(gap));
            let response = call(&service, from("a"));
            if response.status() == 429 {
                let seconds = field(&response, "retry-after").parse().unwrap();
                clock.advance(Duration::from_secs(seconds));
                prop_assert_eq!(call(&service, from("a")).status(), 200);
            }
        }
    }
}

#[test]
fn one_limiter_is_for_all_requests() {
    let limiter = Limiter::with_clock(limits("3/s"), ManualClock::new());
    let service = behind(&LimitLayer::new(limiter));
    let statuses = ["a", "b", "c", "d"].map(|key| call(&service, from(key)).status().as_u16());
    assert_eq!(statuses, [200, 200, 200, 429]);
}

#[test]
fn limits_change_while_they_are_in_use() {
    let clock = ManualClock::new();
    let users = keyed("1/h", &clock);
    let service = behind(&LimitLayer::by_header(API_KEY, users.clone()));
    assert_eq!(call(&service, from("a")).status(), 200);
    assert_eq!(call(&service, from("a")).status(), 429);
    users.set_limits(limits("2/h"));
    let response = call(&service, from("a"));
    assert_eq!(response.status(), 200);
    assert_eq!(field(&response, "ratelimit-policy"), r#""2/h";q=2;w=3600"#);
}

#[test]
fn all_services_of_all_threads_share_the_limits() {
    let layer = by_header("150/h", &ManualClock::new());
    let service = behind(&layer);
    let services = [service.clone(), service, behind(&layer), behind(&layer.clone())];
    let let_in = |service: &_| {
        let statuses = (0..100).map(|_| call(service, from("a")).status());
        statuses.filter(|status| *status == 200).count()
    };
    let counts = thread::scope(|scope| {
        let threads = services.each_ref().map(|service| scope.spawn(move || let_in(service)));
        threads.map(|thread| thread.join().unwrap())
    });
    assert_eq!(counts.iter().sum::<usize>(), 150);
}

#[test]
fn there_are_no_more_keys_than_there_may_be() {
    let clock = ManualClock::new();
    let users = keyed::<String>("2/h", &clock);
    let service = behind(&LimitLayer::by_header(API_KEY, users.clone()));
    for key in 0..100 {
        assert_eq!(call(&service, from(&key.to_string())).status(), 200);
    }
    assert_eq!(users.try_acquire("new"), Err(KeyRejected::TooManyKeys { max: 100 }));
    let response: Response<String> = call(&service, from("new"));
    assert_eq!(response.status(), 503);
    assert_eq!(response.body(), "too many clients at the moment: retry later\n");
    assert_eq!(call(&service, from("7")).status(), 200);
}
