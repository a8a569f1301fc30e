//! Models of the keyed limiter's words: the number of keys, and the version of the configuration.

#![cfg(loom)]

use loom_tests::{explore, spawn};
use nanopace::Nanos;
use nanopace_keyed::internal::{DecisionEngine, RequestStore};
use nanopace_keyed::{Change, ConfigStore, MemoryConfig, Scope, Uniform};
use nanopace_limits::Gcra;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

/// Two new keys in different shards take the last place once; a removal frees it.
///
/// Threads: two that each ask for a key of their own, where there is room for one; one of them
/// cleans up before. Edit: `reserve` loads the count and stores it raised.
#[test]
fn keys_stay_within_their_bound() {
    explore("keys_stay_within_their_bound", || {
        let rule = Gcra::new("1/h".parse().unwrap());
        let store =
            RequestStore::with_hasher(rule, 2, BuildHasherDefault::<DefaultHasher>::default());
        let store = Arc::new(store);
        let later = Nanos::from_nanos(7_200_000_000_000);
        store.try_acquire_n_at(&1_u64, 1, Nanos::ZERO).unwrap();
        store.try_acquire_n_at(&2_u64, 1, later).unwrap();
        let other = spawn({
            let store = Arc::clone(&store);
            move || store.try_acquire_n_at(&3, 1, later).is_ok()
        });
        store.sweep(later, usize::MAX);
        let ours = store.try_acquire_n_at(&4, 1, later).is_ok();
        assert!(ours != other.join().unwrap(), "one place, for one of them");
        assert_eq!(store.keys(), 2);
    });
}

/// A decision after a change of the limits goes by the new ones, whatever the decisions before
/// it have seen.
///
/// Threads: one that changes the limits, one that meanwhile makes the key's first decision. Edits:
/// `refresh` asks for the version after the limits; `make` raises the versions before it locks the
/// tables.
#[test]
fn a_change_is_seen_by_every_later_decision() {
    explore("a_change_is_seen_by_every_later_decision", || {
        let config = MemoryConfig::new();
        config.set(Scope::Prefix(""), "1/h".parse().unwrap()).unwrap();
        let engine = Arc::new(DecisionEngine::new(config, 1));
        let other = spawn({
            let engine = Arc::clone(&engine);
            move || engine.try_acquire_at("key", Nanos::ZERO).is_ok()
        });
        engine.config().set(Scope::Key("key"), "2/h".parse().unwrap()).unwrap();
        assert!(other.join().unwrap(), "the first gets in by the old limits and by the new ones");
        assert_eq!(
            engine.try_acquire_at("key", Nanos::ZERO),
            Ok(()),
            "the second, by the new ones only"
        );
        assert!(engine.try_acquire_at("key", Nanos::ZERO).is_err());
    });
}

/// Who has decided by one of several changes that were made as one step decides by all of them.
///
/// Threads: one that changes the limits of two keys at once, one that meanwhile makes the first
/// decision on one key, and then the second on the other. Edit: `make` raises the versions after it
/// has unlocked the tables.
#[test]
fn a_batch_is_seen_as_a_whole() {
    explore("a_batch_is_seen_as_a_whole", || {
        let config = MemoryConfig::new();
        config.set(Scope::Prefix(""), "1/h".parse().unwrap()).unwrap();
        let engine = Arc::new(DecisionEngine::new(config, 2));
        engine.try_acquire_at("known", Nanos::ZERO).unwrap();
        let other = spawn({
            let engine = Arc::clone(&engine);
            move || {
                let is_new = engine.try_acquire_n_at("unknown", 2, Nanos::ZERO).is_ok();
                (is_new, engine.try_acquire_at("known", Nanos::ZERO).is_ok())
            }
        });
        let limits = || "2/h".parse().unwrap();
        let changes = ["known", "unknown"].map(|key| Change::set(Scope::Key(key), limits()));
        engine.config().apply(&changes).unwrap();
        let (is_new, known_is_new) = other.join().unwrap();
        assert!(!is_new || known_is_new, "one key by the new limits, the other by the old ones");
    });
}

/// The same for limits that all keys have.
///
/// Threads: one that changes the limits, one that meanwhile makes the key's first decision. Edits:
/// `refresh` asks for the version after the limits; `set` raises the version before it locks the
/// limits.
#[test]
fn a_change_for_all_is_seen_by_every_later_decision() {
    explore("a_change_for_all_is_seen_by_every_later_decision", || {
        let uniform = Uniform::new("1/h".parse().unwrap());
        let engine = Arc::new(DecisionEngine::new(uniform, 1));
        let other = spawn({
            let engine = Arc::clone(&engine);
            move || engine.try_acquire_at("key", Nanos::ZERO).is_ok()
        });
        engine.config().set("2/h".parse().unwrap());
        assert!(other.join().unwrap(), "the first gets in by the old limits and by the new ones");
        assert_eq!(
            engine.try_acquire_at("key", Nanos::ZERO),
            Ok(()),
            "the second, by the new ones only"
        );
        assert!(engine.try_acquire_at("key", Nanos::ZERO).is_err());
    });
}
