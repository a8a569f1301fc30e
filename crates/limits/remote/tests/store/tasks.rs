//! Tests decisions in tasks.
#![cfg(feature = "async")]

use crate::common::{ask, servers, store};
use nanopace_remote::{AsyncRemoteKeyed, OnLoss, Remote, RemoteRejected, Settings, StoreError};
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Redis and Valkey"]
async fn tasks_and_threads_share_a_limit() {
    for (engine, server) in servers() {
        let users = AsyncRemoteKeyed::new(store(&server).limits("100/day").build().unwrap());
        let tasks: Vec<_> = (0..50)
            .map(|_| {
                let users = users.clone();
                tokio::spawn(async move {
                    let mut let_in = 0;
                    for _ in 0..4 {
                        let_in += usize::from(users.try_acquire("alice").await.is_ok());
                    }
                    let_in
                })
            })
            .collect();
        let mut let_in = 0;
        for task in tasks {
            let_in += task.await.unwrap();
        }
        assert_eq!(let_in, 100, "{engine}");
        assert!(users.keyed().try_acquire("alice").is_err());
        ask::<String>(&server, &["SCRIPT", "FLUSH"]);
        assert!(users.decide("bob").await.unwrap().is_allowed());
        users.try_acquire_costs("bob", &[99]).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Redis and Valkey"]
async fn a_stopped_store_delays_no_task_and_is_found_again() {
    for (_, mut server) in servers() {
        let store = Remote::lazy_with(&server.url(), Settings::default()).unwrap();
        let users = store.limits("1000/day").on_loss(OnLoss::Deny).build().unwrap();
        let users = AsyncRemoteKeyed::new(users);
        until("the store answers", &users, true).await;
        server.stop().unwrap();
        let began = Instant::now();
        for _ in 0..10_000 {
            assert!(users.try_acquire("alice").await.is_err());
        }
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
        assert_eq!(users.try_acquire("alice").await, Err(StoreError::Broken.into()));
        server.go_on().unwrap();
        until("it is asked again", &users, true).await;
        server.kill();
        until("it is gone", &users, false).await;
        assert!(matches!(users.try_acquire("alice").await, Err(RemoteRejected::Store(_))));
        server.restart().unwrap();
        until("it is there again", &users, true).await;
        assert!(users.keyed().stats().degraded > 10_000);
    }
}

#[tokio::test]
#[ignore = "needs Redis and Valkey"]
async fn tasks_use_what_was_taken_ahead() {
    for (_, server) in servers() {
        let users = store(&server).limits("1000/s fixed-window").leased(Duration::from_secs(1));
        let users = AsyncRemoteKeyed::new(users.build().unwrap());
        for _ in 0..100 {
            users.try_acquire("alice").await.unwrap();
        }
        assert!(users.keyed().stats().local > 50);
    }
}

async fn until(what: &str, users: &AsyncRemoteKeyed, is_let_in: bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while users.try_acquire("alice").await.is_ok() != is_let_in {
        assert!(Instant::now() < end, "never: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_runtime_that_stops_between_decisions_finds_the_store_again() {
    for (_, mut server) in servers() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let store = Remote::lazy_with(&server.url(), Settings::default()).unwrap();
        let users = AsyncRemoteKeyed::new(store.limits("1M/s").build().unwrap());
        server.kill();
        let is_broken = |rejected| rejected == RemoteRejected::Store(StoreError::Broken);
        while !runtime.block_on(users.try_acquire("alice")).is_err_and(is_broken) {}
        server.restart().unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        while runtime.block_on(users.try_acquire("alice")).is_err() {
            assert!(Instant::now() < end, "the store is never called again");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// The task that tries to connect is in the first runtime, which runs only while decisions are made in it.
#[test]
#[ignore = "needs Redis and Valkey"]
fn a_runtime_that_stands_still_keeps_no_other_from_finding_the_store_again() {
    for (_, mut server) in servers() {
        let build = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (first, second) = (build(), build());
        let store = Remote::lazy_with(&server.url(), Settings::default()).unwrap();
        let users = AsyncRemoteKeyed::new(store.limits("1M/s").build().unwrap());
        server.kill();
        let is_broken = |rejected| rejected == RemoteRejected::Store(StoreError::Broken);
        while !first.block_on(users.try_acquire("alice")).is_err_and(is_broken) {}
        server.restart().unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        while second.block_on(users.try_acquire("alice")).is_err() {
            assert!(Instant::now() < end, "the store is never called again");
            std::thread::sleep(Duration::from_millis(2));
        }
        drop(first);
    }
}
