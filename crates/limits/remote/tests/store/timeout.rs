//! Tests the timeout of responses, and responses that come too late.

use crate::common::{servers, store, until};
use nanopace_remote::{Remote, Settings, StoreError};
use nanopace_services::Proxy;
use std::time::{Duration, Instant};

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_far_store_works_out_of_the_box() {
    for (_, server) in servers() {
        let proxy = Proxy::start(server.address()).unwrap();
        proxy.delay(Duration::from_millis(30));
        let users = Remote::connect(&proxy.url()).unwrap().limits("1000/day").build().unwrap();
        until("twenty in a row are decided", || {
            (0..20).all(|_| users.try_acquire("alice").is_ok())
        });
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_store_that_becomes_slow_is_found_again() {
    for (_, server) in servers() {
        let proxy = Proxy::start(server.address()).unwrap();
        let users = Remote::connect(&proxy.url()).unwrap().limits("100000/day").build().unwrap();
        until("it is near", || (0..100).all(|_| users.try_acquire("alice").is_ok()));
        proxy.delay(Duration::from_millis(30));
        until("twenty in a row are decided", || {
            (0..20).all(|_| users.try_acquire("alice").is_ok())
        });
    }
}

#[cfg(feature = "async")]
#[tokio::test]
#[ignore = "needs Redis and Valkey"]
async fn a_far_store_works_for_tasks_too() {
    for (engine, server) in servers() {
        let proxy = Proxy::start(server.address()).unwrap();
        proxy.delay(Duration::from_millis(30));
        let users = Remote::lazy(&proxy.url()).unwrap().limits("1000/day").build().unwrap();
        let users = nanopace_remote::AsyncRemoteKeyed::new(users);
        let end = Instant::now() + Duration::from_secs(20);
        let mut in_a_row = 0;
        while in_a_row < 20 {
            in_a_row = if users.try_acquire("alice").await.is_ok() { in_a_row + 1 } else { 0 };
            assert!(Instant::now() < end, "{engine}: never");
        }
    }
}

#[cfg(feature = "async")]
async fn until_it_answers(users: &nanopace_remote::AsyncRemoteKeyed) {
    let end = Instant::now() + Duration::from_secs(20);
    while users.decide_costs("warm", 0).await.is_err() {
        assert!(Instant::now() < end, "the store never answers");
    }
}

/// The timeouts of an earlier call on the connection, here of the call that tests it, were a little shorter.
#[test]
#[ignore = "needs Redis and Valkey"]
fn a_thread_waits_for_a_response_until_the_timeout() {
    for (engine, server) in servers() {
        let proxy = Proxy::start(server.address()).unwrap();
        let timeout = Duration::from_secs(2);
        let settings = Settings::default().timeout(timeout).connect_timeout(timeout * 19 / 20);
        let users = Remote::lazy_with(&proxy.url(), settings).unwrap().limits("2/day");
        let users = users.build().unwrap();
        until("the store answers", || users.decide_costs("warm", 0).is_ok());
        proxy.hold_requests();
        let began = Instant::now();
        assert_eq!(users.try_acquire("held"), Err(StoreError::Timeout.into()), "{engine}");
        assert!(began.elapsed() >= timeout, "{engine}: {:?}", began.elapsed());
    }
}

/// The timeout of a connection attempt does not limit the decisions on that connection.
#[cfg(feature = "async")]
#[tokio::test]
#[ignore = "needs Redis and Valkey"]
async fn a_task_waits_for_a_response_longer_than_for_a_connection() {
    for (engine, server) in servers() {
        let proxy = Proxy::start(server.address()).unwrap();
        let to_connect = Duration::from_millis(300);
        let settings = Settings::default().timeout(Duration::from_secs(60));
        let settings = settings.connect_timeout(to_connect);
        let users = Remote::lazy_with(&proxy.url(), settings).unwrap().limits("2/day");
        let users = nanopace_remote::AsyncRemoteKeyed::new(users.build().unwrap());
        until_it_answers(&users).await;
        proxy.hold_requests();
        let (decision, ()) = tokio::join!(users.try_acquire("held"), async {
            tokio::time::sleep(3 * to_connect).await;
            proxy.release();
        });
        assert_eq!(decision, Ok(()), "{engine}");
    }
}

/// If the connection were kept, the late response would be taken for the response to another call.
#[test]
#[ignore = "needs Redis and Valkey"]
fn a_connection_on_which_an_answer_is_missing_is_given_up() {
    for (engine, server) in servers() {
        let proxy = Proxy::start(server.address()).unwrap();
        let settings = Settings::default().timeout(Duration::from_secs(3)).connections(1);
        let there = Remote::lazy_with(&proxy.url(), settings).unwrap();
        let (far, near) = (there.limits("2/day"), store(&server).limits("2/day"));
        let (far, near) = (far.build().unwrap(), near.build().unwrap());
        near.try_acquire_costs("empty", 2).unwrap();
        until("the store answers", || far.decide_costs("warm", 0).is_ok());
        proxy.hold_requests();
        assert_eq!(far.try_acquire("empty"), Err(StoreError::Timeout.into()), "{engine}");
        assert_eq!(far.decide_costs("full", 0).unwrap().remaining(), 2, "{engine}");
        proxy.release();
        assert_eq!(far.decide_costs("full", 0).unwrap().remaining(), 2, "{engine}");
    }
}

#[cfg(feature = "async")]
#[tokio::test]
#[ignore = "needs Redis and Valkey"]
async fn tasks_give_such_a_connection_up_too() {
    for (engine, server) in servers() {
        let proxy = Proxy::start(server.address()).unwrap();
        let settings = Settings::default().timeout(Duration::from_secs(3));
        let users = Remote::lazy_with(&proxy.url(), settings).unwrap().limits("2/day");
        let users = nanopace_remote::AsyncRemoteKeyed::new(users.build().unwrap());
        until_it_answers(&users).await;
        proxy.hold_requests();
        assert_eq!(users.try_acquire("held").await, Err(StoreError::Timeout.into()), "{engine}");
        assert_eq!(users.decide_costs("full", 0).await.unwrap().remaining(), 2, "{engine}");
    }
}
