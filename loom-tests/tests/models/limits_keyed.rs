//! Models of the keyed limiter's words: the number of keys, and the version of the configuration.

use loom_tests::{explore, spawn_with};
use nanopace::{Clock, Nanos};
use nanopace_keyed::{Change, ConfigStore, Keyed, MemoryConfig, Scope, Uniform};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A clock that moves only between the steps of the threads. Its accesses are not part of a model.
#[derive(Clone, Debug, Default)]
struct SetClock(Arc<AtomicU64>);

impl Clock for SetClock {
    fn now(&self) -> Nanos {
        Nanos::from_nanos(self.0.load(Relaxed))
    }
}

type Hasher = BuildHasherDefault<DefaultHasher>;

fn keyed<C>(config: C, max_keys: usize, clock: &SetClock) -> Arc<Keyed<String, C, Hasher>> {
    let keyed = Keyed::builder(config).max_keys(max_keys).hasher(Hasher::default());
    Arc::new(keyed.clock(clock.clone()).build().unwrap())
}

/// Threads: two that each make a request for a new key, with room for one; one of them first removes idle keys. Edit:
/// `reserve` loads the count and stores the increased count.
#[test]
fn keys_stay_within_their_bound() {
    explore("keys_stay_within_their_bound", || {
        let clock = SetClock::default();
        let keyed = keyed(Uniform::new("1/h".parse().unwrap()), 2, &clock);
        keyed.try_acquire("1").unwrap();
        clock.0.store(7_200_000_000_000, Relaxed);
        keyed.try_acquire("2").unwrap();
        let other = spawn_with(&keyed, |keyed| keyed.try_acquire("3").is_ok());
        keyed.sweep(usize::MAX);
        let ours = keyed.try_acquire("4").is_ok();
        assert!(ours != other.join().unwrap(), "one place, for one of them");
        assert_eq!(keyed.keys(), 2);
    });
}

/// Threads: one that changes the limits, one that makes the key's first decision at the same time. Edits: `refresh`
/// loads the version after the limits; `make` increments the versions before it locks the tables.
#[test]
fn a_change_is_seen_by_every_later_decision() {
    explore("a_change_is_seen_by_every_later_decision", || {
        let config = MemoryConfig::new();
        config.set(Scope::Prefix(""), "1/h".parse().unwrap()).unwrap();
        let keyed = keyed(config, 1, &SetClock::default());
        let other = spawn_with(&keyed, |keyed| keyed.try_acquire("key").is_ok());
        keyed.config().set(Scope::Key("key"), "2/h".parse().unwrap()).unwrap();
        assert!(other.join().unwrap(), "the first gets in by the old limits and by the new ones");
        assert_eq!(keyed.try_acquire("key"), Ok(()), "the second, by the new ones only");
        assert!(keyed.try_acquire("key").is_err());
    });
}

/// Threads: one that changes the limits of two keys at once; one that makes a decision on one key at the same time, and
/// then a decision on the other key. Edit: `make` increments the versions after it has unlocked the tables.
#[test]
fn a_batch_is_seen_as_a_whole() {
    explore("a_batch_is_seen_as_a_whole", || {
        let config = MemoryConfig::new();
        config.set(Scope::Prefix(""), "1/h".parse().unwrap()).unwrap();
        let keyed = keyed(config, 2, &SetClock::default());
        keyed.try_acquire("known").unwrap();
        let other = spawn_with(&keyed, |keyed| {
            let is_new = keyed.try_acquire_costs("unknown", 2).is_ok();
            (is_new, keyed.try_acquire("known").is_ok())
        });
        let limits = || "2/h".parse().unwrap();
        let changes = ["known", "unknown"].map(|key| Change::set(Scope::Key(key), limits()));
        keyed.config().apply(&changes).unwrap();
        let (is_new, known_is_new) = other.join().unwrap();
        assert!(!is_new || known_is_new, "one key by the new limits, the other by the old ones");
    });
}

/// Threads: one that changes the limits, one that makes the key's first decision at the same time. Edits: `refresh`
/// loads the version after the limits; `set` increments the version before it locks the limits.
#[test]
fn a_change_for_all_is_seen_by_every_later_decision() {
    explore("a_change_for_all_is_seen_by_every_later_decision", || {
        let uniform = Uniform::new("1/h".parse().unwrap());
        let keyed = keyed(uniform, 1, &SetClock::default());
        let other = spawn_with(&keyed, |keyed| keyed.try_acquire("key").is_ok());
        keyed.config().set("2/h".parse().unwrap());
        assert!(other.join().unwrap(), "the first gets in by the old limits and by the new ones");
        assert_eq!(keyed.try_acquire("key"), Ok(()), "the second, by the new ones only");
        assert!(keyed.try_acquire("key").is_err());
    });
}
