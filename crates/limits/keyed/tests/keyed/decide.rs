//! Tests decisions by each key's own limits.

use crate::at;
use crate::moments::{AtMoment, NamedMoment, keyed, sweep_at};
use nanopace_keyed::{
    ConfigStore, KeyRejected, Keyed, Limits, LimitsOf, MemoryConfig, Scope, Uniform,
};
use nanopace_limits::Rejected;
use proptest::prelude::*;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

const SECOND: u64 = 1_000_000_000;

fn limits(text: &str) -> Limits {
    text.parse().expect("limits")
}

fn engine(text: &str) -> Keyed<String, MemoryConfig> {
    let config = MemoryConfig::new();
    config.set(Scope::Prefix(""), limits(text)).unwrap();
    keyed(config, 1000)
}

fn change(engine: &Keyed<String, MemoryConfig>, scope: Scope<'_>, text: &str) {
    engine.config().set(scope, limits(text)).unwrap();
}

fn admitted(engine: &Keyed<String, MemoryConfig>, key: &str, now: u64) -> usize {
    (0..1000).take_while(|_| engine.try_acquire_at(key, at(now)).is_ok()).count()
}

fn not_until(nanos: u64) -> Result<(), KeyRejected> {
    Err(KeyRejected::Limit(Rejected::NotUntil(at(nanos))))
}

proptest! {
    #[test]
    fn the_longest_prefix_wins(prefixes in prop::collection::btree_set("[abß]{0,4}", 0..8), key in "[abß]{0,6}") {
        let config = MemoryConfig::new();
        for (number, prefix) in prefixes.iter().enumerate() {
            config.set(Scope::Prefix(prefix), limits(&format!("{}/s", number + 1))).unwrap();
        }
        let longest = prefixes.iter().enumerate().filter(|(_, prefix)| key.starts_with(prefix.as_str()));
        let longest = longest.max_by_key(|(_, prefix)| prefix.len()).map(|(number, _)| format!("{}/s", number + 1));
        prop_assert_eq!(config.limits_of(&key).map(|limits| limits.to_string()), longest);
    }

    #[test]
    fn removal_never_changes_a_decision_by_changing_limits(
        steps in prop::collection::vec((0..4_u8, 0..3_u64, 0..40_u64, 0..6_usize, any::<bool>()), 1..150),
    ) {
        let texts = ["3/100ns", "5/100ns in 4", "2/20ns, 6/300ns in 3", "1/200ns", "4/50ns burst 2", "2/7ns"];
        let build = |lag| {
            let keyed = Keyed::builder(MemoryConfig::new()).max_keys(100).lag(lag);
            keyed.clock(NamedMoment).build().unwrap()
        };
        let (swept, kept) = (build(Duration::ZERO), build(Duration::MAX));
        let mut now = 1000;
        for (key, n, pause, text, per_key) in steps {
            now += pause;
            let key = ["", "a", "ab", "b"][usize::from(key)];
            for engine in [&swept, &kept] {
                let scope = if per_key { Scope::Key(key) } else { Scope::Prefix(key) };
                match n {
                    0 => drop(engine.config().unset(scope)),
                    _ if pause % 4 == 0 => change(engine, scope, texts[text]),
                    _ => (),
                }
            }
            prop_assert_eq!(swept.try_acquire_n_at(key, n, at(now)), kept.try_acquire_n_at(key, n, at(now)));
            sweep_at(&swept, at(now), usize::MAX);
        }
    }
}

#[test]
fn a_key_without_limits_is_an_error() {
    let engine = keyed(MemoryConfig::new(), 10);
    assert_eq!(engine.try_acquire_at("alice", at(0)), Err(KeyRejected::NoLimits));
    change(&engine, Scope::Prefix("al"), "2/s");
    assert_eq!(admitted(&engine, "alice", 0), 2);
    assert_eq!(engine.config().unset(Scope::Prefix("al")).ok(), Some(true));
    assert_eq!(engine.config().unset(Scope::Prefix("al")).ok(), Some(false));
    assert_eq!(engine.standing_at("alice", at(0)), Err(KeyRejected::NoLimits));
    change(&engine, Scope::Key("alice"), "3/s");
    assert_eq!(admitted(&engine, "alice", 0), 1, "the two before still count");
}

#[test]
fn a_key_of_its_own_comes_before_prefixes() {
    let engine = engine("1/s");
    change(&engine, Scope::Prefix("user:"), "2/s");
    change(&engine, Scope::Key("user:alice"), "3/s");
    let counts = ["user:alice", "user:bob", "guest"].map(|key| admitted(&engine, key, 0));
    assert_eq!(counts, [3, 2, 1]);
    engine.config().unset(Scope::Key("user:alice")).unwrap();
    assert_eq!(admitted(&engine, "user:alice", 60 * SECOND), 2);
}

#[test]
fn a_change_keeps_what_was_counted() {
    // Each case has the old limits, the number of requests, the new limits and the remaining requests.
    let cases = [
        ("10/s", 5, "20/s", 15),
        ("10/s", 5, "8/s", 3),
        ("10/s", 5, "4/s", 0),
        ("10/s", 5, "10/s, 1000/h in 60", 5),
        ("10/s", 5, "10/s in 10", 5),
        ("10/s in 10", 5, "10/s", 5),
        ("10/s in 10", 5, "10/s in 20", 5),
        ("10/s in 10", 5, "4/s in 20", 0),
        ("10/h in 60", 5, "8/day in 24", 3),
        ("8/day in 24", 5, "10/h in 60", 5),
        ("100/s, 10/h in 60", 5, "100/s, 8/h in 60", 3),
        ("100/s, 10/h in 60", 5, "8/s", 3),
        ("10/s burst 6", 5, "10/s burst 8", 3),
    ];
    for (before, used, after, left) in cases {
        let engine = engine(before);
        engine.try_acquire_n_at("alice", used, at(SECOND)).unwrap();
        change(&engine, Scope::Key("alice"), after);
        assert_eq!(
            admitted(&engine, "alice", SECOND),
            left,
            "{used} used of {before}, then {after}"
        );
    }
}

#[test]
fn after_a_change_the_wait_is_that_of_the_new_limits() {
    let engine = engine("10/s");
    engine.try_acquire_n_at("alice", 10, at(0)).unwrap();
    change(&engine, Scope::Key("alice"), "2/s");
    assert_eq!(engine.try_acquire_at("alice", at(0)), not_until(SECOND / 2));
    change(&engine, Scope::Key("alice"), "2/s in 2");
    assert_eq!(engine.try_acquire_at("alice", at(0)), not_until(3 * SECOND / 2 - 1));
    // Counts that have left the old window do not come back.
    change(&engine, Scope::Key("alice"), "2/min in 60");
    assert_eq!(admitted(&engine, "alice", 2 * SECOND), 2);
}

#[test]
fn changes_while_threads_decide_neither_lose_nor_invent_a_count() {
    let engine = engine("200/h in 60");
    let (done, total) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            for text in ["500/h in 60", "200/h in 30", "500/h in 10", "200/h in 60"].iter().cycle()
            {
                change(&engine, Scope::Prefix(""), text);
                if done.load(Relaxed) {
                    break;
                }
            }
        });
        let ask =
            || (0..2000).filter(|_| engine.try_acquire_at("alice", at(SECOND)).is_ok()).count();
        let askers = [(); 3].map(|()| scope.spawn(ask));
        for asker in askers {
            total.fetch_add(asker.join().unwrap() as u64, Relaxed);
        }
        done.store(true, Relaxed);
    });
    change(&engine, Scope::Prefix(""), "500/h in 60");
    let rest = admitted(&engine, "alice", SECOND) as u64;
    assert_eq!(total.into_inner() + rest, 500);
}

#[test]
fn excess_cost_counts_for_a_removed_key() {
    for text in ["10/s", "10/s in 10", "10/s sliding-log", "10/s fixed-window"] {
        let clock = nanopace_nanos::ManualClock::new();
        let builder = Keyed::builder(Uniform::new(limits(text))).max_keys(10);
        let keyed: Keyed = builder.clock(clock.clone()).build().unwrap();
        let reservation = keyed.reserve("alice", 1).unwrap();
        clock.set(at(10_000_000_000));
        assert_eq!(keyed.sweep(usize::MAX), 1);
        reservation.commit_costs(500);
        assert_eq!(keyed.standing("alice").unwrap().remaining, 0, "{text}");
        drop(keyed.reserve("bob", 1).unwrap());
        assert_eq!(keyed.standing("bob").unwrap().remaining, 10, "{text}");
    }
}

#[derive(Debug)]
struct Versions(Arc<AtomicU64>);

impl LimitsOf<String> for Versions {
    fn version_for(&self, _: &String) -> u64 {
        self.0.load(Relaxed)
    }

    fn limits_for(&self, key: &String) -> Option<Arc<Limits>> {
        Some(Arc::new(limits(if self.version_for(key) == 0 { "20/h" } else { "10/h" })))
    }
}

#[test]
fn a_key_that_was_removed_has_the_limits_of_now_after_its_reservation_is_settled() {
    let (clock, version) = (nanopace_nanos::ManualClock::new(), Arc::new(AtomicU64::new(1)));
    let builder = Keyed::builder(Versions(Arc::clone(&version))).max_keys(10);
    let keyed: Keyed<String, _> = builder.clock(clock.clone()).build().unwrap();
    let reservation = keyed.reserve(&"alice".to_owned(), 1).unwrap();
    clock.set(at(3 * 3_600 * SECOND));
    assert_eq!(keyed.sweep(usize::MAX), 1);
    version.store(0, Relaxed);
    reservation.commit_costs(5);
    let standing = keyed.standing(&"alice".to_owned()).unwrap();
    assert_eq!((standing.limit, standing.remaining), (20, 16));
}

#[derive(Default)]
struct SameHash;

impl Hasher for SameHash {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, _: &[u8]) {}
}

#[test]
fn excess_cost_of_a_removed_key_replaces_an_idle_key() {
    let (clock, hasher) =
        (nanopace_nanos::ManualClock::new(), BuildHasherDefault::<SameHash>::new());
    let builder = Keyed::builder(Uniform::new(limits("10/s"))).max_keys(1).hasher(hasher);
    let keyed: Keyed<String, _, _> = builder.clock(clock.clone()).build().unwrap();
    let reservation = keyed.reserve("alice", 1).unwrap();
    clock.set(at(10 * SECOND));
    keyed.try_acquire("bob").unwrap(); // makes room by removing alice
    clock.set(at(20 * SECOND));
    reservation.commit_costs(500);
    assert_eq!(keyed.standing("alice").unwrap().remaining, 0);
}
