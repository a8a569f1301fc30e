//! Helpers that several test files use.

use nanopace_nanos::{Clock, Nanos};
use nanopace_remote::{Remote, Settings};
use nanopace_services::{Product, Server};
use proptest::test_runner::{Config, TestRunner};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(crate) struct Micros(pub(crate) Arc<AtomicU64>);

impl Clock for Micros {
    fn now(&self) -> Nanos {
        Nanos::from_nanos(self.0.load(Ordering::Relaxed) * 1_000)
    }
}

pub(crate) fn servers() -> impl Iterator<Item = (Product, Server)> {
    Product::ALL.into_iter().map(|product| (product, Server::start(product).unwrap()))
}

pub(crate) fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
}

/// Returns settings with long timeouts, for tests that do not test timeouts and may run on a busy machine.
pub(crate) fn patient() -> Settings {
    Settings::default().timeout(Duration::from_secs(20)).connect_timeout(Duration::from_secs(20))
}

pub(crate) fn store(server: &Server) -> Remote {
    Remote::lazy_with(&server.url(), patient()).unwrap()
}

pub(crate) fn ask<T: redis::FromRedisValue>(server: &Server, words: &[&str]) -> T {
    let client = redis::Client::open(server.url()).unwrap();
    let mut connection = client.get_connection().unwrap();
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]).query(&mut connection).unwrap()
}

pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
