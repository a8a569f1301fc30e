//! What versions that were released have written into a store is read, and counts what it counted.

use crate::common::{ask, store};
use nanopace_keyed::ConfigStore;
use nanopace_remote::RemoteConfig;
use nanopace_services::{Engine, Server};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// Between blank lines: the moment in microseconds and how many requests more are let in then; and behind
/// that line the state.
const STATES: [&str; 1] = [include_str!("../recorded/states-0.1.0.txt")];

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_state_of_every_version_counts_what_it_counted() {
    for engine in Engine::ALL {
        let server = Server::start(engine).unwrap();
        for record in STATES.iter().flat_map(|states| states.split("\n\n")) {
            let (head, state) = record.trim_end().split_once('\n').unwrap();
            let (micros, left) = head.split_once(' ').unwrap();
            let micros = Arc::new(AtomicU64::new(micros.parse().unwrap()));
            let limits = store(&server).limits(state.lines().next().unwrap());
            let limiter = limits.store_micros(micros).build().unwrap();
            ask::<String>(&server, &["SET", "nanopace:{alice}", state]);
            limiter.try_acquire_costs("alice", left.parse::<u64>().unwrap()).unwrap();
            assert!(limiter.try_acquire("alice").is_err(), "{engine}: {record}");
        }
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_configuration_of_every_version_is_read() {
    for engine in Engine::ALL {
        let server = Server::start(engine).unwrap();
        let fields = ["kalice", "5/s burst 10, 1000/h in 60", "p", "1/s", "v", "1764188000000000"];
        ask::<u64>(&server, &[&["HSET", "limits"], &fields[..]].concat());
        let config = RemoteConfig::follow(&store(&server), "limits", Duration::from_secs(86_400));
        let snapshot = config.unwrap().snapshot();
        let texts = |(name, limits): (&str, &_)| format!("{name}: {limits}");
        assert!(snapshot.keys().map(texts).eq(["alice: 5/s burst 10, 1000/h in 60"]), "{engine}");
        assert!(snapshot.prefixes().map(texts).eq([": 1/s"]), "{engine}");
    }
}
