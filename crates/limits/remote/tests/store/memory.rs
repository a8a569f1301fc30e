//! Tests a store whose memory is full, also with a `maxmemory-policy`.

use crate::common::{ask, servers, store};
use nanopace_remote::{OnLoss, Remote, RemoteKeyed, StoreError};
use nanopace_services::{Engine, Server};

/// A server that has room for some thousands of keys, and evicts the keys that expire next.
fn small(engine: Engine) -> Server {
    let server = Server::with(engine).setting("maxmemory-policy", "volatile-ttl").start().unwrap();
    let used: String = ask(&server, &["INFO", "memory"]);
    let used = used.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap();
    let most = used.trim().parse::<u64>().unwrap() + 2_000_000;
    ask::<String>(&server, &["CONFIG", "SET", "maxmemory", &most.to_string()]);
    server
}

/// Many other keys, which count for an hour.
fn flood(store: &Remote) {
    let others = store.limits("1/h").prefix("others").build().unwrap();
    let long = "k".repeat(400);
    for number in 0..10_000 {
        others.try_acquire(&format!("{number}{long}")).unwrap();
    }
}

fn victim(store: &Remote, on_loss: OnLoss) -> RemoteKeyed {
    store.limits("2/day").on_loss(on_loss).build().unwrap()
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_full_store_says_so_and_goes_on_rejecting() {
    for (engine, server) in servers() {
        let store = store(&server);
        let [denies, allows] = [OnLoss::Deny, OnLoss::Allow].map(|on_loss| victim(&store, on_loss));
        denies.try_acquire_costs("victim", 2).unwrap();
        // Less than a server without any keys has.
        ask::<String>(&server, &["CONFIG", "SET", "maxmemory", "1"]);
        for _ in 0..20 {
            // However many in a row.
            for _ in 0..3 {
                assert_eq!(denies.try_acquire("fresh"), Err(StoreError::Full.into()), "{engine}");
            }
            assert_eq!(denies.trouble(), Some(StoreError::Full), "{engine}");
            assert!(allows.try_acquire("fresh").is_ok(), "{engine}: as was said");
            // The store is asked, and rejects, because the limits of this key are used up.
            assert!(allows.try_acquire("victim").is_err(), "{engine}");
        }
        assert_eq!((denies.stats().degraded, allows.stats().degraded), (60, 20), "{engine}");
        assert_eq!(denies.stats().lost, 0, "{engine}");
        ask::<String>(&server, &["CONFIG", "SET", "maxmemory", "0"]);
        assert!(denies.try_acquire("fresh").is_ok(), "{engine}");
        assert_eq!(denies.trouble(), None, "{engine}");
    }
}

/// The README recommends this policy: keys that count for longest stay.
#[test]
#[ignore = "needs Redis and Valkey"]
fn volatile_ttl_keeps_what_counts_for_longest() {
    for engine in Engine::ALL {
        let server = small(engine);
        let store = store(&server);
        let victim = victim(&store, OnLoss::Deny);
        victim.try_acquire_costs("victim", 2).unwrap();
        flood(&store);
        let evicted: String = ask(&server, &["INFO", "stats"]);
        assert!(!evicted.contains("evicted_keys:0\r"), "{engine}: it was full");
        assert!(victim.try_acquire("victim").is_err(), "{engine}");
    }
}
