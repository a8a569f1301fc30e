//! Exactly what the limits let in is admitted, and the fields are true.

use crate::{API_KEY, behind, by_header, call, field, from, hello, keyed, limits};
use http::{Request, Response};
use nanopace_nanos::ManualClock;
use nanopace_tower::{KeyRejected, LimitLayer, Limiter, WithoutKey};
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use tower::{Layer, service_fn};

const MILLI: u64 = 1_000_000;
const PERIOD_MS: u64 = 10_000;
const COUNT: u64 = 5;

/// What 5 in any 10 seconds means, by definition: all that was admitted, and when, in milliseconds.
#[derive(Default)]
struct Log(Vec<(u64, u64)>);

impl Log {
    fn used(&self, now: u64) -> u64 {
        self.0.iter().filter(|(at, _)| at + PERIOD_MS > now).map(|(_, cost)| cost).sum()
    }

    /// In so many milliseconds that much is admitted; at once, if that is 0.
    fn wait(&self, now: u64, cost: u64) -> Option<u64> {
        (0..=PERIOD_MS).find(|wait| self.used(now + wait) + cost <= COUNT)
    }

    fn fields(&self, now: u64) -> String {
        let last = self.0.iter().rev().find(|(at, cost)| at + PERIOD_MS > now && *cost > 0);
        let reset = last.map_or(0, |(at, _)| at + PERIOD_MS - now);
        let left = COUNT - self.used(now);
        format!(r#""5/10s sliding-log";r={left};t={}"#, reset.div_ceil(1_000))
    }
}

fn cost(request: &Request<String>) -> u64 {
    request.headers()["x-cost"].to_str().unwrap().parse().unwrap()
}

fn request(key: Option<&str>, cost: u64) -> Request<String> {
    let mut request = Request::new(String::new());
    request.headers_mut().insert("x-cost", cost.into());
    if let Some(key) = key {
        request.headers_mut().insert(API_KEY, key.parse().unwrap());
    }
    request
}

proptest! {
    /// Each key by itself, those without one together, whatever they cost.
    #[test]
    fn what_the_limits_let_in_gets_in(
        requests in prop::collection::vec(
            (0_u64..4_000, prop::sample::select(vec![None, Some("a"), Some("b")]), 0_u64..7),
            0..60,
        ),
    ) {
        let clock = ManualClock::new();
        let reached = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&reached);
        let layer = by_header("5/10s sliding-log", &clock)
            .cost(cost)
            .without_key(WithoutKey::Common("nobody".to_owned()));
        let service = layer.layer(service_fn(move |request| {
            counter.fetch_add(1, Relaxed);
            hello(request)
        }));
        let mut logs: HashMap<Option<&str>, Log> = HashMap::new();
        let (mut now, mut let_in) = (0, 0);
        for (gap, key, cost) in requests {
            now += gap;
            clock.advance(Duration::from_nanos(gap * MILLI));
            let log = logs.entry(key).or_default();
            let wait = log.wait(now, cost);
            let response = call(&service, request(key, cost));
            if wait == Some(0) {
                log.0.push((now, cost));
                let_in += 1;
                prop_assert_eq!(response.status(), 200);
            } else {
                prop_assert_eq!(response.status(), 429);
            }
            let seconds = wait.filter(|wait| *wait > 0).map(|wait| wait.div_ceil(1_000).to_string());
            prop_assert_eq!(field(&response, "retry-after"), seconds.unwrap_or_default());
            prop_assert_eq!(field(&response, "ratelimit"), log.fields(now));
            prop_assert_eq!(field(&response, "ratelimit-policy"), r#""5/10s sliding-log";q=5;w=10"#);
            prop_assert_eq!(reached.load(Relaxed), let_in);
        }
    }

    /// Also of limits whose next moment is no whole second.
    #[test]
    fn who_comes_back_when_told_gets_in(
        text in prop::sample::select(vec!["7/s", "3/10s burst 2", "5/s, 11/min in 6", "3/7s fixed-window"]),
        gaps in prop::collection::vec(0_u64..3_000, 1..30),
    ) {
        let clock = ManualClock::new();
        let service = behind(&by_header(text, &clock));
        for gap in gaps {
            clock.advance(Duration::from_nanos(gap * MILLI));
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
fn of_several_limits_the_fields_name_the_tightest() {
    let clock = ManualClock::new();
    let service = behind(&by_header("2/s, 3/h", &clock));
    let named = || {
        let response = call(&service, from("a"));
        assert_eq!(field(&response, "ratelimit-policy"), r#""2/s";q=2;w=1, "3/h";q=3;w=3600"#);
        field(&response, "ratelimit").split(';').next().unwrap().to_owned()
    };
    assert_eq!(named(), r#""2/s""#);
    clock.advance(Duration::from_secs(1));
    assert_eq!(named(), r#""2/s""#);
    clock.advance(Duration::from_secs(1));
    assert_eq!(named(), r#""3/h""#);
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

/// Of the same layer, of clones of it, and of clones of the services.
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

/// A key that is new is rejected when there are as many as there may be. The others go on.
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
    assert_eq!(response.body(), "too many clients at the moment: come back later\n");
    assert_eq!(call(&service, from("7")).status(), 200);
}
