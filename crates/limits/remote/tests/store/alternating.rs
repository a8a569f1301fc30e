//! Processes with different limits for one subject, by the store's time that the test sets.

use crate::common::{Micros, store};
use nanopace_limits::custom::LimitsState;
use nanopace_limits::{Limits, Rule};
use nanopace_remote::{Remote, RemoteKeyed};
use nanopace_services::{Engine, Server};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One that a store keeps.
fn limit() -> impl Strategy<Value = String> {
    (1..6_u64, 1..4_u64, 1..8_u64, 0..4).prop_map(|(count, seconds, burst, kind)| match kind {
        0 => format!("{count}/{seconds}s burst {burst}"),
        1 => format!("{count}/{seconds}s"),
        2 => format!("{count}/{seconds}s fixed-window"),
        _ => format!("{count}/{seconds}s sliding-counter"),
    })
}

fn limits() -> impl Strategy<Value = String> {
    proptest::collection::vec(limit(), 1..4).prop_map(|limits| limits.join(", "))
}

/// How many microseconds after the one before, for how much, and which process is asked.
fn requests() -> impl Strategy<Value = Vec<(u64, u64, usize)>> {
    let pause = prop_oneof![2 => Just(0), 3 => 0..300_000_u64, 1 => 0..3_000_000_u64];
    let n = prop_oneof![4 => Just(1_u64), 1 => 0..6_u64];
    proptest::collection::vec((pause, n, 0..3_usize), 1..60)
}

/// A process, and what its limits alone have counted of what they let in.
struct Process {
    remote: RemoteKeyed,
    limits: Limits,
    alone: LimitsState,
}

impl Process {
    fn new(store: &Remote, prefix: u64, text: &str, micros: &Arc<AtomicU64>) -> Self {
        let builder =
            store.limits(text).prefix(prefix.to_string()).store_clock(Micros(micros.clone()));
        let limits: Limits = text.parse().unwrap();
        Self { remote: builder.build().unwrap(), alone: limits.fresh(), limits }
    }

    /// Whether the limits alone would let everything in that gets in.
    fn keeps_to_its_own(&mut self, n: u64, micros: u64) -> bool {
        let now = nanopace_nanos::Nanos::from_nanos(micros * 1_000);
        let is_let_in = self.remote.try_acquire_costs("subject", n).is_ok();
        !is_let_in || self.limits.try_acquire(&mut self.alone, now, n).is_ok()
    }
}

/// So all of them let in the sum at most, in any span.
#[test]
#[ignore = "needs Redis and Valkey"]
fn each_process_lets_in_no_more_than_its_own_limits_would_alone() {
    for engine in Engine::ALL {
        let server = Server::start(engine).unwrap();
        let (store, prefix) = (store(&server), AtomicU64::new(0));
        let mut runner =
            TestRunner::new(Config { cases: 200, failure_persistence: None, ..Config::default() });
        let all = proptest::collection::vec(limits(), 3);
        let result = runner.run(&(all, requests()), |(all, requests)| {
            let prefix = prefix.fetch_add(1, Ordering::Relaxed);
            let micros = Arc::new(AtomicU64::new(1_700_000_000_000_000));
            let process = |text: &String| Process::new(&store, prefix, text, &micros);
            let mut processes: Vec<Process> = all.iter().map(process).collect();
            for (pause, n, turn) in requests {
                let now = micros.fetch_add(pause, Ordering::Relaxed) + pause;
                prop_assert!(processes[turn].keeps_to_its_own(n, now), "{} at {}", turn, now);
            }
            Ok(())
        });
        result.unwrap_or_else(|error| panic!("{engine}: {error}"));
    }
}
