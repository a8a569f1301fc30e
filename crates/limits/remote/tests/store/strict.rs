//! Tests strict decisions, without leases: their guarantees, and their keys in the store.

use crate::common::{ask, servers, store, until};
use nanopace_keyed::{KeyRejected, Limit, Limits, MemoryConfig};
use nanopace_remote::{
    ConfigStore, Rejected, Remote, RemoteError, RemoteRejected, Scope, StoreError,
};
use nanopace_services::{Product, Server};
use redis::Commands;
use std::thread;
use std::time::Duration;

#[test]
#[ignore = "needs Redis and Valkey"]
fn threads_and_processes_share_a_limit() {
    for (product, server) in servers() {
        let processes = [store(&server), store(&server)];
        let users = processes.map(|store| store.limits("1000/day").build().unwrap());
        let let_in = |limiter: &nanopace_remote::RemoteKeyed| {
            (0..400).filter(|_| limiter.try_acquire("alice").is_ok()).count()
        };
        let total: usize = thread::scope(|scope| {
            let threads: Vec<_> = users
                .iter()
                .flat_map(|users| [users, users])
                .map(|users| scope.spawn(move || let_in(&users.clone())))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        // One interval of the rate is 86 s, so at most one more request is admitted.
        assert!((1000..=1001).contains(&total), "{product}: {total}");
        assert!(users[0].try_acquire("bob").is_ok());
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_key_lives_as_long_as_it_counts_and_its_size_is_bounded() {
    for (_, server) in servers() {
        let users = store(&server).limits("10/s, 60/h fixed-window").build().unwrap();
        for n in 0..60 {
            users.try_acquire(if n % 2 == 0 { "alice" } else { "bob" }).ok();
        }
        let names: Vec<String> = ask(&server, &["KEYS", "*"]);
        assert_eq!(names.len(), 2, "one key for each subject: {names:?}");
        let length: usize = ask(&server, &["STRLEN", "nanopace:{alice}"]);
        assert!(length < 120, "{length}");
        let left: i64 = ask(&server, &["PTTL", "nanopace:{alice}"]);
        assert!((1..=3_600_002).contains(&left), "{left}");

        let fast = store(&server).limits("1000/s").prefix("fast").build().unwrap();
        fast.try_acquire("alice").unwrap();
        until("the key is gone", || ask::<u64>(&server, &["EXISTS", "fast:{alice}"]) == 0);
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn changes_of_limits_cost_no_memory_for_ever() {
    for (_, server) in servers() {
        let users = store(&server).limits("10/day").build().unwrap();
        for count in 1..100 {
            users.set_limits(format!("{count}/{count}h").parse().unwrap()).unwrap();
            users.try_acquire("alice").ok();
        }
        let length: usize = ask(&server, &["STRLEN", "nanopace:{alice}"]);
        assert!(length < 1_000, "{length}");
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn scripts_are_sent_again_after_a_flush() {
    for (_, server) in servers() {
        let users = store(&server).limits("2/day").build().unwrap();
        users.try_acquire("alice").unwrap();
        ask::<String>(&server, &["SCRIPT", "FLUSH"]);
        users.try_acquire("alice").unwrap();
        assert!(users.try_acquire("alice").is_err());
        ask::<String>(&server, &["FLUSHALL"]);
        assert!(users.try_acquire_costs("alice", 2).is_ok());
        assert_eq!(users.stats().degraded, 0);
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_password_works_and_is_never_printed() {
    for product in Product::ALL {
        let server = Server::with(product).password("unspeakable").start().unwrap();
        let store = store(&server);
        let users = store.limits("1/day").build().unwrap();
        users.try_acquire("alice").unwrap();
        let wrong = server.url().replace("unspeakable", "unspeakablewrong");
        let error = Remote::connect(&wrong).unwrap_err();
        assert!(matches!(error, RemoteError::Store(StoreError::Refused(_))), "{error:?}");
        let missing = Remote::connect(&server.url().replace(":unspeakable@", "")).unwrap_err();
        let shown = format!("{store:?} {users:?} {error} {error:?} {missing} {missing:?}");
        assert!(!shown.contains("unspeakable"), "{shown}");
    }
}

/// In a cluster, the key of a subject is in the hash slot of the subject, like all other keys with this hash tag.
#[test]
#[ignore = "needs Redis and Valkey"]
fn a_cluster_finds_a_subject_by_its_tag() {
    for product in Product::ALL {
        let server = Server::with(product).setting("cluster-enabled", "yes").start().unwrap();
        ask::<String>(&server, &["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
        until("the cluster is up", || {
            ask::<String>(&server, &["CLUSTER", "INFO"]).contains("cluster_state:ok")
        });
        let users = store(&server).limits("2/day, 5/day fixed-window").build().unwrap();
        users.try_acquire("alice").unwrap();
        let slot = |key: &str| ask::<u64>(&server, &["CLUSTER", "KEYSLOT", key]);
        assert_eq!(slot("nanopace:{alice}"), slot("alice"));
        for subject in ["a}b", "{a", "{a}", ":{", "a b", "ü"] {
            users.try_acquire(subject).unwrap();
            let names: Vec<String> = ask(&server, &["KEYS", "*"]);
            assert!(names.contains(&format!("nanopace:{{{subject}}}")), "{names:?}");
            assert_eq!(slot(&format!("nanopace:{{{subject}}}")), slot(&format!("{{{subject}}}")));
        }
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn foreign_values_stay_and_harm_no_other_key() {
    for (product, server) in servers() {
        let users = store(&server).limits("2/day").build().unwrap();
        ask::<String>(&server, &["SET", "nanopace:{text}", "something else"]);
        ask::<String>(&server, &["SET", "nanopace:{damaged}", "2/day\nxyz"]);
        ask::<String>(&server, &["SET", "nanopace:{empty}", ""]);
        ask::<String>(&server, &["SET", "nanopace:{plan}", "unlimited"]);
        ask::<u64>(&server, &["RPUSH", "nanopace:{list}", "1"]);
        for key in ["text", "damaged", "empty", "plan", "list"].into_iter().cycle().take(15) {
            let error = users.try_acquire(key).unwrap_err();
            assert_eq!(error, RemoteRejected::Store(StoreError::Foreign), "{product} {key}");
            assert!(users.decide_costs("alice", 0).is_ok(), "{product} {key}");
        }
        assert_eq!(ask::<String>(&server, &["GET", "nanopace:{text}"]), "something else");
        assert_eq!(ask::<String>(&server, &["GET", "nanopace:{plan}"]), "unlimited");
        assert_eq!(
            ask::<Option<String>>(&server, &["GET", "nanopace:{empty}"]).as_deref(),
            Some("")
        );
    }
}

fn damage(state: &str) -> impl Iterator<Item = String> {
    let with = |start: usize, letter: &str, end: usize| {
        Some([state.get(..start)?, letter, state.get(end..)?].concat())
    };
    let at_each = (0..=state.len()).flat_map(move |at| {
        let letters = ["x", " ", "-", "+", ",", "\n", "\0"].into_iter();
        let changed = letters.clone().map(move |letter| with(at, letter, at + 1));
        let inserted = letters.map(move |letter| with(at, letter, at));
        changed.chain(inserted).chain([with(at, "", at + 1)]).flatten()
    });
    at_each.filter(move |damaged| damaged != state)
}

/// A damaged value is either still a valid state, or causes an error and stays unchanged.
#[test]
#[ignore = "needs Redis and Valkey"]
fn a_damaged_state_is_left_alone() {
    for (product, server) in servers() {
        let mut connection = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
        for limits in ["2/day", "3/7s, 2/day", "9/day fixed-window", "1/day, 9/h sliding-counter"] {
            let users = store(&server).limits(limits).prefix(limits).build().unwrap();
            users.try_acquire("alice").unwrap();
            let name = |subject: &str| format!("{limits}:{{{subject}}}");
            let state: String = ask(&server, &["GET", &name("alice")]);
            let mut left_alone = 0;
            for damaged in damage(&state) {
                connection.set::<_, _, ()>(name("bob"), &damaged).unwrap();
                if users.try_acquire("bob") == Err(StoreError::Foreign.into()) {
                    let after: String = connection.get(name("bob")).unwrap();
                    assert_eq!(after, damaged, "{product} {limits}");
                    left_alone += 1;
                }
            }
            assert!(left_alone > 8 * state.len(), "{product} {limits}: {left_alone}");
        }
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn each_key_has_limits_of_its_own_or_none() {
    for (_, server) in servers() {
        let config = MemoryConfig::new();
        config.set(Scope::Key("alice"), "3/day".parse().unwrap()).unwrap();
        config.set(Scope::Prefix("log:"), "3/day sliding-log".parse().unwrap()).unwrap();
        config.set(Scope::Key("free"), "unlimited".parse().unwrap()).unwrap();
        let users = store(&server).config(config).build().unwrap();
        assert!(users.try_acquire_costs("alice", 3).is_ok());
        assert_eq!(users.try_acquire("bob").unwrap_err(), KeyRejected::NoLimits.into());
        assert!(users.try_acquire_costs("free", u64::MAX).is_ok());
        assert!(matches!(users.try_acquire("log:1").unwrap_err(), RemoteRejected::Unsupported(_)));
        users.config().set(Scope::Key("alice"), "5/day".parse().unwrap()).unwrap();
        assert!(users.try_acquire_costs("alice", 2).is_ok());
        assert!(users.try_acquire("alice").is_err());
        let error = users.try_acquire_costs("alice", &[1, 1]).unwrap_err();
        assert_eq!(error, KeyRejected::Costs { limits: 1, costs: 2 }.into());
        let never = users.try_acquire_costs("alice", 6).unwrap_err();
        assert_eq!(never, Rejected::ExceedsCapacity { capacity: 5 }.into());
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn any_subject_and_any_prefix_is_a_key_of_its_own() {
    for (_, server) in servers() {
        let users = store(&server).limits("1/day").prefix("").build().unwrap();
        for subject in ["", "}", "{", "{}", "a b", "a\r\nb", "\0", "ü", &"long".repeat(10_000)] {
            assert!(users.try_acquire(subject).is_ok(), "{subject:?}");
            assert!(users.try_acquire(subject).is_err(), "{subject:?}");
        }
    }
}

/// The state of such limits could not be read again.
#[test]
fn limits_without_a_valid_string_are_not_supported() {
    let store = Remote::lazy("redis://127.0.0.1:1/").unwrap();
    let many = Limits::new(["1/s".parse::<Limit>().unwrap(); 65]);
    let users = store.limits("1/s").build().unwrap();
    let error = users.set_limits(many.clone()).unwrap_err();
    assert!(error.to_string().contains("65 limits"), "{error}");
    let config = MemoryConfig::new();
    config.set(Scope::Key("alice"), many).unwrap();
    let error = store.config(config).build().unwrap().try_acquire("alice").unwrap_err();
    assert!(matches!(error, RemoteRejected::Unsupported(_)), "{error}");
}

#[test]
fn an_address_that_nobody_answers_at_is_an_error_in_time() {
    let settings = nanopace_remote::Settings::default().connect_timeout(Duration::from_millis(50));
    let users = Remote::lazy_with("redis://127.0.0.1:1/", settings).unwrap();
    let users = users.limits("1/s").build().unwrap();
    assert!(matches!(users.try_acquire("alice").unwrap_err(), RemoteRejected::Store(_)));
    let error = Remote::connect("redis://127.0.0.1:1/").unwrap_err();
    assert!(matches!(error, RemoteError::Store(StoreError::Connection(_))), "{error:?}");
}
