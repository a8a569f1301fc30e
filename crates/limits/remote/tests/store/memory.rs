//! Tests a store whose memory is full, with and without a `maxmemory-policy`.

use crate::common::{Micros, ask, servers, store};
use nanopace_remote::{OnLoss, Remote, RemoteKeyed, StoreError};
use nanopace_services::{Product, Server};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Starts a server that has room for a few thousand keys, and evicts the keys that expire soonest.
fn small(product: Product) -> Server {
    let server = Server::with(product).setting("maxmemory-policy", "volatile-ttl").start().unwrap();
    let used: String = ask(&server, &["INFO", "memory"]);
    let used = used.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap();
    let most = used.trim().parse::<u64>().unwrap() + 2_000_000;
    ask::<String>(&server, &["CONFIG", "SET", "maxmemory", &most.to_string()]);
    server
}

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
    for (product, server) in servers() {
        let store = store(&server);
        let [denies, allows] = [OnLoss::Deny, OnLoss::Allow].map(|on_loss| victim(&store, on_loss));
        denies.try_acquire_costs("victim", 2).unwrap();
        // This limit is below the memory use of a server without keys.
        ask::<String>(&server, &["CONFIG", "SET", "maxmemory", "1"]);
        for _ in 0..20 {
            for _ in 0..3 {
                assert_eq!(denies.try_acquire("fresh"), Err(StoreError::Full.into()), "{product}");
            }
            assert_eq!(denies.trouble(), Some(StoreError::Full), "{product}");
            assert!(allows.try_acquire("fresh").is_ok(), "{product}: `OnLoss::Allow` decides");
            // The store itself rejects this request, because the limits of the key are used up.
            assert!(allows.try_acquire("victim").is_err(), "{product}");
        }
        assert_eq!((denies.stats().degraded, allows.stats().degraded), (60, 20), "{product}");
        assert_eq!(denies.stats().lost, 0, "{product}");
        ask::<String>(&server, &["CONFIG", "SET", "maxmemory", "0"]);
        assert!(denies.try_acquire("fresh").is_ok(), "{product}");
        assert_eq!(denies.trouble(), None, "{product}");
    }
}

/// The rejected request finds a replaced limit that has ended, but cannot remove it, because that takes a write.
#[test]
#[ignore = "needs Redis and Valkey"]
fn a_full_store_rejects_after_a_replaced_limit_has_ended() {
    for (product, server) in servers() {
        let micros = Arc::new(AtomicU64::new(1_000_000));
        let users = store(&server).limits("1/s").store_clock(Micros(Arc::clone(&micros)));
        let users = users.on_loss(OnLoss::Allow).build().unwrap();
        users.try_acquire("victim").unwrap();
        users.set_limits("1/h".parse().unwrap()).unwrap();
        assert!(users.try_acquire("victim").is_err(), "{product}");
        micros.store(3_000_000, Ordering::Relaxed);
        ask::<String>(&server, &["CONFIG", "SET", "maxmemory", "1"]);
        assert!(users.try_acquire("victim").is_err(), "{product}");
        assert_eq!(users.stats().degraded, 0, "{product}");
    }
}

/// With `volatile-ttl`, a full store evicts the keys that expire first. The flood's keys expire within an hour, and the
/// victim's key within a day, so the victim's key is kept.
#[test]
#[ignore = "needs Redis and Valkey"]
fn volatile_ttl_keeps_what_counts_for_longest() {
    for product in Product::ALL {
        let server = small(product);
        let store = store(&server);
        let victim = victim(&store, OnLoss::Deny);
        victim.try_acquire_costs("victim", 2).unwrap();
        flood(&store);
        let evicted: String = ask(&server, &["INFO", "stats"]);
        assert!(!evicted.contains("evicted_keys:0\r"), "{product}: it was full");
        assert!(victim.try_acquire("victim").is_err(), "{product}");
    }
}
