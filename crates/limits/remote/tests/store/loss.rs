//! Tests a store that is stopped, killed, emptied or disconnected, or whose response is lost.

use crate::common::{ask, patient, servers, store, until};
use nanopace_remote::{OnLoss, Remote, RemoteKeyed, RemoteRejected, Settings, StoreError};
use nanopace_services::{NewConnections, Product, Proxy, Server};
use std::thread;
use std::time::{Duration, Instant};

/// The maximum duration of the decisions in one call of [`in_time`], with a large margin for a busy machine.
const BOUND: Duration = Duration::from_secs(2);

/// Returns a store with the default timeout of decisions, on which these tests depend.
fn impatient(server: &Server) -> Remote {
    let store = Remote::lazy_with(&server.url(), Settings::default()).unwrap();
    ready(&store);
    store
}

fn ready(store: &Remote) {
    let probe = store.limits("1/ns").prefix("probe").build().unwrap();
    until("the store answers", || probe.try_acquire("probe").is_ok());
}

fn in_time<T>(decide: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let decided = decide();
    assert!(began.elapsed() < BOUND, "{:?}", began.elapsed());
    decided
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_stopped_store_delays_nobody_and_is_found_again() {
    for (_, server) in servers() {
        let users = impatient(&server).limits("1000/day").build().unwrap();
        until("the store answers", || users.try_acquire("alice").is_ok());
        let before = users.stats().degraded;
        server.stop().unwrap();
        in_time(|| {
            thread::scope(|scope| {
                for _ in 0..50 {
                    scope.spawn(|| assert!(users.try_acquire("alice").is_err()));
                }
            });
        });
        in_time(|| {
            for _ in 0..10_000 {
                assert!(users.try_acquire("alice").is_err());
            }
        });
        assert_eq!(users.try_acquire("carol"), Err(StoreError::Broken.into()));
        assert_eq!(users.stats().degraded - before, 10_051);
        server.go_on().unwrap();
        until("it is asked again", || users.try_acquire("bob").is_ok());
        assert!(users.try_acquire_costs("bob", 1000).is_err());
        assert_eq!(users.decide_costs("carol", 0).unwrap().remaining(), 1000, "nothing was sent");
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn on_loss_decides_while_the_store_is_lost() {
    for (_, mut server) in servers() {
        let store = impatient(&server);
        let build = |on_loss| store.limits("8/day burst 8").on_loss(on_loss).build().unwrap();
        let [deny, allow, share] = [OnLoss::Deny, OnLoss::Allow, OnLoss::LocalShare(4)].map(build);
        server.kill();
        let let_in =
            |users: &RemoteKeyed| (0..20).filter(|_| users.try_acquire("bob").is_ok()).count();
        assert_eq!([let_in(&deny), let_in(&allow), let_in(&share)], [0, 20, 2]);
        assert!(matches!(deny.try_acquire("bob").unwrap_err(), RemoteRejected::Store(_)));
        assert!(matches!(share.try_acquire("bob").unwrap_err(), RemoteRejected::Key(_)));
        assert!(allow.try_acquire_costs("bob", 9).is_err(), "that is never admitted");
        let degraded = [&deny, &allow, &share].map(|users| users.stats().degraded);
        assert_eq!(degraded, [21; 3]);
    }
}

#[test]
fn a_share_of_zero_processes_is_an_error() {
    let store = Remote::lazy("redis://127.0.0.1:1/").unwrap();
    assert!(store.limits("1/s").on_loss(OnLoss::LocalShare(0)).build().is_err());
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_store_that_was_killed_comes_back_empty_or_with_its_file() {
    for product in Product::ALL {
        for keeps in [false, true] {
            let options = Server::with(product);
            let options = if keeps { options.append_only() } else { options };
            let mut server = options.start().unwrap();
            let users = store(&server).limits("2/day").build().unwrap();
            users.try_acquire_costs("alice", 2).unwrap();
            server.restart().unwrap();
            until("the store answers", || users.decide_costs("alice", 0).is_ok());
            assert_eq!(users.try_acquire("alice").is_err(), keeps, "{product}");
        }
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_request_that_arrives_late_does_no_harm() {
    for (_, server) in servers() {
        let proxy = Proxy::start(server.address()).unwrap();
        let settings = Settings::default().timeout(Duration::from_millis(200));
        let store = Remote::lazy_with(&proxy.url(), settings).unwrap();
        let users = store.limits("10/day").build().unwrap();
        until("the store answers", || users.try_acquire("alice").is_ok());
        proxy.hold_requests();
        until("it is given up", || users.try_acquire("alice").is_err());
        until("another connection answers", || users.decide_costs("alice", 0).is_ok());
        let before = users.decide_costs("alice", 0).unwrap().remaining();
        proxy.release();
        until("it arrives", || {
            users.decide_costs("alice", 0).is_ok_and(|decision| decision.remaining() == before - 1)
        });
        let let_in = (0..20).filter(|_| users.try_acquire("alice").is_ok()).count();
        assert_eq!(u64::try_from(let_in).unwrap(), before - 1);
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_cut_connection_is_an_error_in_time_and_mends() {
    for product in Product::ALL {
        for new in [NewConnections::Refused, NewConnections::Hang] {
            let server = Server::start(product).unwrap();
            let proxy = Proxy::start(server.address()).unwrap();
            let settings = Settings::default().connect_timeout(Duration::from_millis(200));
            let store = Remote::lazy_with(&proxy.url(), settings).unwrap();
            ready(&store);
            let users = store.limits("1000/day").build().unwrap();
            proxy.cut(new);
            in_time(|| (0..100).for_each(|_| assert!(users.try_acquire("alice").is_err())));
            proxy.mend().unwrap();
            until("it is asked again", || users.try_acquire("alice").is_ok());
        }
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn after_a_failover_the_other_server_decides() {
    for product in Product::ALL {
        let first = Server::start(product).unwrap();
        let second = Server::start(product).unwrap();
        let main = first.address().port().to_string();
        ask::<String>(&second, &["REPLICAOF", "127.0.0.1", &main]);
        let proxy = Proxy::start(first.address()).unwrap();
        let store = Remote::lazy_with(&proxy.url(), patient()).unwrap();
        let users = store.limits("2/day").build().unwrap();
        users.try_acquire("alice").unwrap();
        until("the replica has it", || ask::<u64>(&second, &["EXISTS", "nanopace:{alice}"]) == 1);

        // At first the replica is read-only, so it cannot serve as the store.
        proxy.redirect(second.address());
        until("the replica refuses", || {
            users.try_acquire("alice") == Err(StoreError::Refused("READONLY".to_owned()).into())
        });
        ask::<String>(&second, &["REPLICAOF", "NO", "ONE"]);
        until("the other one decides", || users.try_acquire("alice").is_ok());
        assert!(matches!(users.try_acquire("alice").unwrap_err(), RemoteRejected::Key(_)));
    }
}

/// A store that responds is not lost, however often other processes change the limits of a key during a decision.
#[test]
#[ignore = "needs Redis and Valkey"]
fn limits_that_are_changed_all_the_time_let_no_more_in_than_the_highest() {
    for (product, server) in servers() {
        let let_in = thread::scope(|scope| {
            let callers: Vec<_> = (1..=3)
                .map(|limit| {
                    let limits =
                        store(&server).limits(&format!("{limit}/h")).on_loss(OnLoss::Allow);
                    let users = limits.build().unwrap();
                    scope.spawn(move || {
                        (0..500).filter(|_| users.try_acquire("alice").is_ok()).count()
                    })
                })
                .collect();
            callers.into_iter().map(|caller| caller.join().unwrap()).sum::<usize>()
        });
        assert!(let_in <= 3, "{let_in} with {product}");
    }
}
