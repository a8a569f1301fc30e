//! Tests tokens that are lost with a response. The store has counted these tokens, but no process holds them.

use crate::common::{ask, patient, servers, store, until};
use nanopace_remote::{Remote, RemoteKeyed, RemoteRejected, StoreError};
use nanopace_services::{NewConnections, Proxy};
use std::time::Duration;

const LIMIT: u64 = 100_000;

/// Connects to the store through the proxy, with a single connection, so that no other response is pending.
fn through(proxy: &Proxy) -> Remote {
    Remote::lazy_with(&proxy.url(), patient().connections(1)).unwrap()
}

fn limits() -> String {
    format!("{LIMIT}/day fixed-window")
}

/// Returns limits with blocks of about ten tokens, which no timer gives back during the test.
fn leased(store: &Remote) -> RemoteKeyed {
    store.limits(&limits()).leased(Duration::from_secs(10)).build().unwrap()
}

fn counted(store: &Remote, key: &str) -> u64 {
    LIMIT - store.limits(&limits()).build().unwrap().decide_costs(key, 0).unwrap().remaining()
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn all_counted_tokens_are_in_the_statistics() {
    for (engine, server) in servers() {
        let proxy = Proxy::start(server.address()).unwrap();
        let users = leased(&through(&proxy));
        let mut let_in = 0;
        for turn in 0..200 {
            if turn % 7 == 0 {
                proxy.drop_replies(1);
            }
            let_in += u64::from(users.try_acquire(["alice", "bob", "carol"][turn % 3]).is_ok());
            if turn % 13 == 0 {
                users.give_back();
            }
        }
        let stats = users.stats();
        let store = store(&server);
        let counted: u64 = ["alice", "bob", "carol"].map(|key| counted(&store, key)).iter().sum();
        assert!(let_in > 0 && stats.lost > 0, "{engine}: {stats:?}");
        assert!(counted <= let_in + stats.leased + stats.lost, "{engine}: {counted} {stats:?}");
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_block_whose_answer_is_lost_is_counted_as_lost() {
    for (engine, server) in servers() {
        let proxy = Proxy::start(server.address()).unwrap();
        let users = leased(&through(&proxy));
        // The registration of this process must be over, because its response could be dropped instead.
        until("it is there", || ask::<u64>(&server, &["EXISTS", "nanopace/processes"]) == 1);
        users.try_acquire("alice").unwrap();
        assert!(users.stats().leased > 1);
        assert_eq!(users.stats().lost, 0);
        proxy.drop_replies(1);
        assert!(users.try_acquire("bob").is_err());
        let lost = users.stats().lost;
        assert!(lost > 1 && lost == counted(&store(&server), "bob"), "{engine}: {lost}");
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn tokens_that_cannot_be_given_back_are_lost() {
    for (engine, server) in servers() {
        let proxy = Proxy::start(server.address()).unwrap();
        let settings = patient().timeout(Duration::from_millis(200));
        let users = leased(&Remote::lazy_with(&proxy.url(), settings).unwrap());
        until("some are taken ahead", || {
            users.try_acquire("alice").is_ok() && users.stats().leased > 0
        });
        let before = users.stats();
        proxy.cut(NewConnections::Refused);
        users.give_back();
        let after = users.stats();
        assert_eq!((after.leased, after.lost), (0, before.lost + before.leased), "{engine}");
        assert!(counted(&store(&server), "alice") > before.leased);
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_strict_request_without_an_answer_is_lost() {
    for (_, server) in servers() {
        let proxy = Proxy::start(server.address()).unwrap();
        let users = through(&proxy).limits("10/day fixed-window").build().unwrap();
        users.try_acquire_costs("alice", 2).unwrap();
        assert_eq!(users.stats().lost, 0);
        proxy.drop_replies(1);
        assert!(users.try_acquire_costs("alice", 3).is_err());
        assert_eq!(users.stats().lost, 3);
        until("the store answers", || users.decide_costs("alice", 0).is_ok());
        assert_eq!(users.decide_costs("alice", 0).unwrap().remaining(), 5);
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn requests_that_the_store_has_not_counted_are_not_lost() {
    for (_, server) in servers() {
        ask::<String>(&server, &["SET", "nanopace:{bob}", "something else"]);
        let users = store(&server).limits("10/day").build().unwrap();
        users.try_acquire_costs("alice", 10).unwrap();
        assert!(users.try_acquire("alice").is_err());
        assert!(users.try_acquire_costs("alice", 11).is_err());
        assert_eq!(users.try_acquire("bob"), Err(StoreError::Foreign.into()));
        assert_eq!(users.stats().lost, 0);
    }
    let users = Remote::lazy("redis://127.0.0.1:1/").unwrap().limits("10/day").build().unwrap();
    for _ in 0..10 {
        assert!(matches!(users.try_acquire("alice"), Err(RemoteRejected::Store(_))));
    }
    assert_eq!(users.stats().lost, 0, "nothing was sent");
}

#[cfg(feature = "async")]
#[tokio::test]
#[ignore = "needs Redis and Valkey"]
async fn a_sent_decision_that_is_dropped_is_lost() {
    for (engine, server) in servers() {
        let users = leased(&store(&server));
        let users = nanopace_remote::AsyncRemoteKeyed::new(users);
        let dropped = async |key| {
            tokio::time::timeout(Duration::from_millis(20), users.try_acquire(key))
                .await
                .unwrap_err();
        };
        users.try_acquire("alice").await.unwrap();
        assert_eq!(users.keyed().stats().lost, 0);
        server.stop().unwrap();
        dropped("bob").await;
        let lost = users.keyed().stats().lost;
        server.go_on().unwrap();
        let store = store(&server);
        until("it arrives", || counted(&store, "bob") > 0);
        assert!(lost > 1 && counted(&store, "bob") == lost, "{engine}: {lost}");
    }
}
