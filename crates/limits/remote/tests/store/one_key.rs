//! Tests that a fault of one key is not a loss of the store. The fault must affect no other key, and admit no request.

use crate::common::{ask, store};
use nanopace_remote::{OnLoss, RemoteKeyed, RemoteRejected, StoreError};
use nanopace_services::{Product, Server};

/// Returns limits that admit requests when the store is lost. The key `victim` has used up its limit.
fn beside_a_victim(server: &Server) -> RemoteKeyed {
    let users = store(server).limits("2/day").on_loss(OnLoss::Allow).build().unwrap();
    users.try_acquire_costs("victim", 2).unwrap();
    users
}

/// Starts a server that closes a connection on which an argument is longer than a megabyte.
fn with_short_arguments(product: Product) -> Server {
    Server::with(product).setting("proto-max-bulk-len", "1mb").start().unwrap()
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_long_key_has_a_short_name_in_the_store() {
    for product in Product::ALL {
        let server = with_short_arguments(product);
        let users = store(&server).limits("2/day").build().unwrap();
        for number in 0..20 {
            let key = format!("{number}{}", "k".repeat(1_200_000));
            assert!(
                users.try_acquire_costs(&key, 2).is_ok(),
                "{product}: each is a key of its own"
            );
            assert!(users.try_acquire(&key).is_err(), "{product}");
        }
        assert_eq!(users.stats().degraded, 0, "{product}");
        let names: Vec<String> = ask(&server, &["KEYS", "*"]);
        assert_eq!(names.len(), 20);
        assert!(names.iter().all(|name| name.len() < 100), "{names:?}");
    }
}

#[cfg(feature = "async")]
#[tokio::test]
#[ignore = "needs Redis and Valkey"]
async fn foreign_values_and_long_keys_are_the_same_for_tasks() {
    for product in Product::ALL {
        let server = with_short_arguments(product);
        let users = nanopace_remote::AsyncRemoteKeyed::new(beside_a_victim(&server));
        ask::<u64>(&server, &["RPUSH", "nanopace:{list}", "1"]);
        let long = "k".repeat(1_200_000);
        for _ in 0..20 {
            users.try_acquire(&long).await.ok();
            assert_eq!(
                users.try_acquire("list").await,
                Err(StoreError::Foreign.into()),
                "{product}"
            );
            assert!(users.try_acquire("victim").await.is_err(), "{product}");
        }
        assert!(matches!(users.try_acquire(&long).await, Err(RemoteRejected::Key(_))), "{product}");
        assert_eq!((users.keyed().stats().degraded, users.trouble()), (0, None), "{product}");
    }
}
