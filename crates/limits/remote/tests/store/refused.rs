//! Tests stores that refuse commands. The limiter returns the reason as an error.

use crate::common::{ask, patient, servers, store, until};
use nanopace_remote::{
    ConfigStore, OnLoss, Remote, RemoteConfig, RemoteError, RemoteRejected, Scope, StoreError,
};
use nanopace_services::{Product, Server};
use std::io::ErrorKind;
use std::time::Duration;

/// The commands that a limiter needs according to the README.
const DECIDES: &[&str] = &["ping", "eval", "evalsha", "time", "get", "set"];
const LEASES: &[&str] = &["zadd", "zrem", "zcard", "zremrangebyscore", "pexpire"];
const CONFIGURES: &[&str] = &["hget", "hgetall", "hexists", "hset", "hdel"];

fn with_rights(server: &Server, keys: &str, commands: &[&str]) -> Remote {
    let rights: Vec<String> = commands.iter().map(|command| format!("+{command}")).collect();
    let user = ["ACL", "SETUSER", "bob", "reset", "on", ">unspeakable", keys];
    let words: Vec<&str> = user.into_iter().chain(rights.iter().map(String::as_str)).collect();
    ask::<String>(server, &words);
    // Removes the scripts that earlier users have loaded, so that the user needs `EVAL`.
    ask::<String>(server, &["SCRIPT", "FLUSH"]);
    let url = server.url().replace("redis://", "redis://bob:unspeakable@");
    Remote::lazy_with(&url, patient()).unwrap()
}

fn refusal(store: &Remote) -> StoreError {
    match store.limits("10/day").build().unwrap().try_acquire("alice") {
        Err(RemoteRejected::Store(error)) => error,
        answer => panic!("{answer:?}"),
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_missing_database_is_an_error() {
    for product in Product::ALL {
        let one = Server::start(product).unwrap();
        let cluster = Server::with(product).setting("cluster-enabled", "yes").start().unwrap();
        for (server, database) in [(one, "99"), (cluster, "2")] {
            let error = Remote::connect(&format!("{}{database}", server.url())).unwrap_err();
            assert!(matches!(error, RemoteError::Store(StoreError::Database)), "{error:?}");
            assert!(error.to_string().contains("database"), "{error}");
        }
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn each_missing_permission_is_an_error() {
    for (product, server) in servers() {
        for missing in &DECIDES[1..] {
            let rights: Vec<&str> = DECIDES.iter().copied().filter(|one| one != missing).collect();
            let error = refusal(&with_rights(&server, "~nanopace:*", &rights));
            assert_eq!(error, StoreError::Permission, "{product} {missing}");
            assert!(error.to_string().contains(&missing.to_uppercase()), "{error}");
        }
        let error = refusal(&with_rights(&server, "~others:*", DECIDES));
        assert_eq!(error, StoreError::Permission, "{product}");
        with_rights(&server, "~nanopace:*", &DECIDES[1..]);
        let url = server.url().replace("redis://", "redis://bob:unspeakable@");
        for url in [url.clone(), format!("{url}1")] {
            let error = Remote::connect(&url).unwrap_err();
            assert!(matches!(error, RemoteError::Store(StoreError::Permission)), "{error:?}");
            assert!(!format!("{error:?} {error}").contains("unspeakable"));
        }
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn the_documented_permissions_are_enough() {
    for (_, server) in servers() {
        let strict = with_rights(&server, "~nanopace:*", DECIDES).limits("10/day").build().unwrap();
        strict.try_acquire("alice").unwrap();

        let store = with_rights(&server, "~nanopace*", &[DECIDES, LEASES].concat());
        let leased = store.limits("10/day fixed-window").leased(Duration::from_secs(10));
        let leased = leased.build().unwrap();
        leased.try_acquire("bob").unwrap();
        let processes = |command| ask::<i64>(&server, &[command, "nanopace/processes"]);
        until("it is counted", || processes("PTTL") > 0);
        drop(leased);
        until("it is gone", || processes("EXISTS") == 0);

        let rights = ["ping", "eval", "evalsha", "time"];
        let config = with_rights(&server, "~limits", &[&rights, CONFIGURES].concat());
        let config = RemoteConfig::follow(&config, "limits", Duration::from_secs(60)).unwrap();
        config.set(Scope::Key("alice"), "1/s".parse().unwrap()).unwrap();
        assert!(config.unset(Scope::Key("alice")).unwrap());
    }
}

fn useless(server: &Server) -> [(String, StoreError); 4] {
    with_rights(server, "~others:*", DECIDES);
    let [none, wrong] = ["bob:unspeakable@", "bob:unspeakablewrong@"]
        .map(|user| server.url().replace("redis://", &format!("redis://{user}")));
    [
        ("redis://127.0.0.1:1/".to_owned(), StoreError::Connection(ErrorKind::ConnectionRefused)),
        (wrong, StoreError::Refused("WRONGPASS".to_owned())),
        (format!("{}99", server.url()), StoreError::Database),
        (none, StoreError::Permission),
    ]
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_store_that_was_never_there_returns_the_reason() {
    for (product, server) in servers() {
        for (url, reason) in useless(&server) {
            let settings = patient().timeout(Duration::from_millis(500));
            let store = Remote::lazy_with(&url, settings).unwrap();
            let users = store.limits("10/day").on_loss(OnLoss::Allow).build().unwrap();
            users.try_acquire("alice").unwrap();
            until("it is known", || {
                users.try_acquire("alice").unwrap();
                users.trouble().as_ref() == Some(&reason)
            });
            for _ in 0..200 {
                users.try_acquire("alice").unwrap();
                assert_eq!(users.trouble().as_ref(), Some(&reason), "{product}");
            }
            assert!(!format!("{:?} {reason}", users.trouble()).contains("unspeakable"));
            let denies = store.limits("10/day").build().unwrap();
            let error = denies.try_acquire("alice").unwrap_err();
            assert!([reason, StoreError::Broken].map(RemoteRejected::Store).contains(&error));
        }
    }
}

#[test]
fn the_first_request_returns_the_reason_without_a_connection() {
    let settings = patient().timeout(Duration::from_millis(500));
    let store = Remote::lazy_with("redis://127.0.0.1:1/", settings).unwrap();
    assert_eq!(refusal(&store), StoreError::Connection(ErrorKind::ConnectionRefused));
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_store_that_answers_again_is_no_trouble() {
    for (_, mut server) in servers() {
        let users = store(&server).limits("1M/day").build().unwrap();
        users.try_acquire("alice").unwrap();
        assert_eq!(users.trouble(), None);
        server.kill();
        assert!(users.try_acquire("alice").is_err());
        assert!(matches!(users.trouble(), Some(StoreError::Connection(_))));
        server.restart().unwrap();
        until("it answers", || users.try_acquire("alice").is_ok());
        assert_eq!(users.trouble(), None);
    }
}

#[cfg(feature = "async")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Redis and Valkey"]
async fn tasks_get_the_reason_too() {
    for (product, server) in servers() {
        for (url, reason) in useless(&server) {
            let users = Remote::lazy(&url).unwrap();
            let users = users.limits("10/day").on_loss(OnLoss::Allow).build().unwrap();
            let users = nanopace_remote::AsyncRemoteKeyed::new(users);
            let end = std::time::Instant::now() + Duration::from_secs(20);
            while users.trouble().as_ref() != Some(&reason) {
                users.try_acquire("alice").await.unwrap();
                assert!(
                    std::time::Instant::now() < end,
                    "{product}: {:?} and not {reason:?}",
                    users.trouble()
                );
            }
        }
        let users =
            nanopace_remote::AsyncRemoteKeyed::new(store(&server).limits("9/s").build().unwrap());
        users.try_acquire("alice").await.unwrap();
        assert_eq!(users.trouble(), None);
    }
}
