//! Tests the configuration in a store.

use crate::common::{ask, servers, store, until};
use nanopace_keyed::{Change, ConfigStore, Keyed, Limit, Limits, Scope};
use nanopace_remote::{RemoteConfig, RemoteError};
use std::thread;
use std::time::Duration;

const NEVER: Duration = Duration::from_secs(86_400);
const SOON: Duration = Duration::from_millis(5);

fn limits_of(config: &impl ConfigStore, key: &str) -> Option<String> {
    config.limits_of(key).map(|limits| limits.to_string())
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn all_processes_see_a_change_and_both_kinds_of_limiters_take_it() {
    for (_, server) in servers() {
        let (here, there) = (store(&server), store(&server));
        let config = RemoteConfig::follow(&here, "limits", NEVER).unwrap();
        let remote = RemoteConfig::follow(&there, "limits", SOON).unwrap();
        let local = RemoteConfig::follow(&there, "limits", SOON).unwrap();
        let remote = there.config(remote).build().unwrap();
        let local = Keyed::<String, _>::builder(local).build().unwrap();
        config.set(Scope::Prefix(""), "2/day".parse().unwrap()).unwrap();
        // The second limiter makes no request until the first has limits. Without this order, the requests that one
        // limiter admits while the other has no limits would count.
        until("one has limits", || remote.try_acquire("a").is_ok());
        until("the other has limits", || local.try_acquire("a").is_ok());
        config.set(Scope::Key("alice"), "5/day burst 7".parse().unwrap()).unwrap();
        until("they change", || remote.try_acquire_costs("alice", 6).is_ok());
        until("they change", || local.try_acquire_costs("alice", 6).is_ok());
        assert!(config.unset(Scope::Prefix("")).unwrap());
        until("they are gone", || {
            remote.try_acquire("bob").is_err() && local.try_acquire("bob").is_err()
        });
        assert!(remote.try_acquire("alice").is_ok());
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_batch_is_one_step_and_says_what_it_has_found() {
    for (_, server) in servers() {
        let config = RemoteConfig::follow(&store(&server), "limits", NEVER).unwrap();
        config.set(Scope::Key("guest"), "1/s".parse().unwrap()).unwrap();
        let found = config.apply(&[
            Change::unset(Scope::Key("guest")),
            Change::set(Scope::Key("alice"), "5/s, 3/day sliding-log".parse().unwrap()),
            Change::set(Scope::Key("alice"), "6/s".parse().unwrap()),
            Change::set(Scope::Prefix("v"), "unlimited".parse().unwrap()),
        ]);
        assert_eq!(found.unwrap(), 2);
        assert_eq!(limits_of(&config, "guest"), None);
        assert_eq!(limits_of(&config, "alice").as_deref(), Some("6/s"));
        assert_eq!(limits_of(&config, "vip").as_deref(), Some("unlimited"));
        let again = RemoteConfig::follow(&store(&server), "limits", NEVER).unwrap();
        assert_eq!(again.snapshot(), config.snapshot());
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn changes_of_several_processes_are_all_kept() {
    for (_, server) in servers() {
        thread::scope(|scope| {
            for process in 0..4 {
                let config = RemoteConfig::follow(&store(&server), "limits", NEVER).unwrap();
                scope.spawn(move || {
                    for key in 0..20 {
                        let key = format!("{process}/{key}");
                        config.set(Scope::Key(&key), "1/s".parse().unwrap()).unwrap();
                    }
                });
            }
        });
        let config = RemoteConfig::follow(&store(&server), "limits", NEVER).unwrap();
        assert_eq!(config.snapshot().keys().len(), 80);
    }
}

/// Without this check, no other process could read the configuration any more.
#[test]
#[ignore = "needs Redis and Valkey"]
fn limits_without_a_valid_string_are_not_stored() {
    for (_, server) in servers() {
        let config = RemoteConfig::follow(&store(&server), "limits", NEVER).unwrap();
        let many = Limits::new(["1/s".parse::<Limit>().unwrap(); 65]);
        assert!(config.set(Scope::Key("many"), many).is_err());
        assert!(RemoteConfig::follow(&store(&server), "limits", NEVER).is_ok());
    }
}

/// If versions could fall, a version could occur twice, and a process that has seen it would miss the change.
#[test]
#[ignore = "needs Redis and Valkey"]
fn versions_rise_whatever_the_stores_clock_says() {
    for (engine, server) in servers() {
        let config = RemoteConfig::follow(&store(&server), "limits", NEVER).unwrap();
        let version = || ask::<u64>(&server, &["HGET", "limits", "v"]);
        let ahead = 1 << 52; // microseconds: the year 2112
        ask::<u64>(&server, &["HSET", "limits", "v", &ahead.to_string()]);
        for change in 1..4 {
            config.set(Scope::Key("alice"), format!("{change}/s").parse().unwrap()).unwrap();
            assert_eq!(version(), ahead + change, "{engine}");
        }
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn the_last_configuration_stays_when_the_store_is_lost_emptied_or_damaged() {
    for (_, mut server) in servers() {
        let config = RemoteConfig::follow(&store(&server), "limits", NEVER).unwrap();
        config.set(Scope::Key("alice"), "5/s".parse().unwrap()).unwrap();
        config.refresh().unwrap();

        ask::<u64>(&server, &["HSET", "limits", "kbob", "much", "v", "7"]);
        let error = config.refresh().unwrap_err();
        assert!(error.to_string().contains("`kbob`"), "{error}");
        ask::<u64>(&server, &["HSET", "limits", "kbob", "", "v", "8"]);
        let error = config.refresh().unwrap_err();
        assert!(error.to_string().contains("`unlimited`"), "{error}");
        ask::<u64>(&server, &["HDEL", "limits", "kbob"]);
        config.refresh().unwrap();

        ask::<String>(&server, &["FLUSHALL"]);
        assert!(matches!(*config.refresh().unwrap_err(), RemoteError::Emptied));
        assert_eq!(limits_of(&config, "alice").as_deref(), Some("5/s"));

        server.restart().unwrap();
        until("the store answers", || {
            config.refresh().is_err_and(|error| matches!(*error, RemoteError::Emptied))
        });
        assert_eq!(limits_of(&config, "alice").as_deref(), Some("5/s"));
        config.set(Scope::Key("alice"), "6/s".parse().unwrap()).unwrap();
        assert!(config.trouble().is_none());
        server.kill();
        assert!(config.set(Scope::Key("alice"), "7/s".parse().unwrap()).is_err());
        assert_eq!(limits_of(&config, "alice").as_deref(), Some("6/s"));
    }
}
