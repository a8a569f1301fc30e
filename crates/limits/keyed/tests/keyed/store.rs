//! Tests the states of the keys: removal and bounds.

use crate::at;
use crate::moments::{AtMoment, NamedMoment, sweep_at};
use nanopace_keyed::{KeyRejected, Keyed, Limits, Uniform, WhenFull};
use nanopace_limits::Rejected;
use proptest::prelude::*;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::time::Duration;

const SECOND: u64 = 1_000_000_000;

/// Limits by key without a random hash, so that a failure can be reproduced.
type Store = Keyed<u64, Uniform, BuildHasherDefault<DefaultHasher>>;

fn store_when_full(limits: &str, max_keys: usize, lag: Duration, when_full: WhenFull) -> Store {
    let limits: Limits = limits.parse().expect("limits");
    let keyed = Keyed::builder(Uniform::new(limits)).max_keys(max_keys).when_full(when_full);
    keyed.lag(lag).hasher(BuildHasherDefault::default()).clock(NamedMoment).build().expect("limits")
}

fn store(limits: &str, max_keys: usize, lag: Duration) -> Store {
    store_when_full(limits, max_keys, lag, WhenFull::EvictExpired)
}

const LAG: u64 = 50;

#[derive(Clone, Copy, Debug)]
struct Step {
    key: u64,
    n: u64,
    pause: u64,
    /// The time between the reading of the clock and the decision.
    late: u64,
    looks: usize,
}

fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    let pause = prop_oneof![3 => 0..3_u64, 2 => 0..40_u64, 1 => 0..1000_u64];
    let looks = prop_oneof![2 => Just(0_usize), 1 => 1..40_usize, 1 => Just(usize::MAX)];
    let step = (0..6_u64, 0..4_u64, pause, 0..=LAG, looks);
    let step = step.prop_map(|(key, n, pause, late, looks)| Step { key, n, pause, late, looks });
    prop::collection::vec(step, 1..200)
}

/// `kept` removes nothing, because its lag is the maximum.
fn same_decisions_without_removal(limits: &str, steps: &[Step]) -> Result<(), TestCaseError> {
    let swept = store(limits, 100, Duration::from_nanos(LAG));
    let kept = store(limits, 100, Duration::MAX);
    let mut now = 10 * LAG;
    for step in steps {
        now += step.pause;
        let start = at(now - step.late);
        let answer = kept.try_acquire_n_at(&step.key, step.n, start);
        prop_assert_eq!(
            swept.try_acquire_n_at(&step.key, step.n, start),
            answer,
            "{}: {:?} at {}",
            limits,
            step,
            now
        );
        sweep_at(&swept, at(now), step.looks);
        prop_assert!(swept.keys() <= kept.keys());
    }
    Ok(())
}

proptest! {
    #[test]
    fn removal_never_changes_a_decision(
        count in 1..6_u64, more in 0..300_u64, slots in 1..8_u16, steps in any_steps(),
    ) {
        let (quota, period) = (format!("{count}/{}ns", count + more), 5 * (count + more));
        for limits in [
            quota.clone(),
            format!("{quota} burst 7"),
            format!("{quota} in {slots}"),
            format!("{quota} fixed-window"),
            format!("{quota} sliding-counter"),
            format!("{quota} sliding-log"),
            format!("{quota} sliding-log-all"),
            format!("{quota}, {}/{period}ns in {slots}", 2 * count),
            format!("{quota} fixed-window, {quota} sliding-log, {quota} burst 2"),
        ] {
            same_decisions_without_removal(&limits, &steps)?;
        }
    }
}

#[test]
fn a_start_from_before_the_removal_counts_as_at_the_removal() {
    let (swept, lagging) =
        (store("1/10s", 10, Duration::ZERO), store("1/10s", 10, Duration::from_secs(6)));
    for store in [&swept, &lagging] {
        store.try_acquire_n_at(&1, 1, at(SECOND)).unwrap();
        sweep_at(store, at(11 * SECOND), usize::MAX);
    }
    assert_eq!((swept.keys(), lagging.keys()), (0, 1), "the lag keeps what a start at 5 s needs");
    let rejected = KeyRejected::Limit(Rejected::NotUntil(at(11 * SECOND)));
    assert_eq!(lagging.try_acquire_n_at(&1, 1, at(5 * SECOND)), Err(rejected));
    // The key was not idle at 5 s. It has been removed, so a decision or a query at 5 s has the same result as at 11 s.
    assert_eq!(swept.standing_at(&1, at(5 * SECOND)).unwrap().remaining, 1);
    assert_eq!(lagging.standing_at(&1, at(5 * SECOND)).unwrap().remaining, 0);
    assert_eq!(swept.try_acquire_n_at(&1, 1, at(5 * SECOND)), Ok(()));
    let rejected = KeyRejected::Limit(Rejected::NotUntil(at(21 * SECOND)));
    assert_eq!(swept.try_acquire_n_at(&1, 1, at(15 * SECOND)), Err(rejected));
}

#[test]
fn a_first_request_that_is_rejected_takes_no_memory() {
    let store = store("3/s", 10, Duration::ZERO);
    let rejected = KeyRejected::Limit(Rejected::ExceedsCapacity { capacity: 3 });
    assert_eq!(store.try_acquire_n_at(&1, 4, at(0)), Err(rejected));
    assert_eq!(store.try_acquire_n_at(&1, 0, at(0)), Ok(()));
    assert_eq!(store.keys(), 0);
}

#[test]
fn a_full_store_admits_requests_without_a_state() {
    let store = store_when_full("unlimited", 0, Duration::ZERO, WhenFull::Reject);
    assert_eq!(store.try_acquire_n_at(&1, 1, at(0)), Ok(()));
}

#[test]
fn a_full_store_rejects_new_keys_and_serves_old_ones() {
    let store = store_when_full("3/s", 2, Duration::ZERO, WhenFull::Reject);
    assert_eq!(store.try_acquire_n_at(&1, 1, at(0)), Ok(()));
    assert_eq!(store.try_acquire_n_at(&2, 1, at(0)), Ok(()));
    let later = at(60 * SECOND);
    assert_eq!(store.try_acquire_n_at(&3, 1, at(0)), Err(KeyRejected::TooManyKeys { max: 2 }));
    assert_eq!(store.try_acquire_n_at(&3, 0, at(0)), Ok(()));
    assert_eq!(store.try_acquire_n_at(&1, 2, at(0)), Ok(()));
    assert_eq!(sweep_at(&store, later, usize::MAX), 2);
    assert_eq!(store.try_acquire_n_at(&3, 1, later), Ok(()));
}

#[test]
fn a_full_store_evicts_only_idle_keys() {
    let store = store("1/s", 3, Duration::ZERO);
    for (key, start) in [(1, 0), (2, 500), (3, 500)] {
        store.try_acquire_n_at(&key, 1, at(start)).unwrap();
    }
    let full = Err(KeyRejected::TooManyKeys { max: 3 });
    assert_eq!(store.try_acquire_n_at(&4, 1, at(SECOND - 1)), full, "all three are in use");
    assert_eq!(store.try_acquire_n_at(&4, 1, at(SECOND)), Ok(()), "key 1 is idle");
    assert_eq!(store.try_acquire_n_at(&5, 1, at(SECOND)), full);
    let rejected = KeyRejected::Limit(Rejected::NotUntil(at(SECOND + 500)));
    assert_eq!(store.try_acquire_n_at(&2, 1, at(SECOND)), Err(rejected), "key 2 was kept");
    assert_eq!(store.keys(), 3);
}

#[test]
fn a_store_without_room_keeps_no_key() {
    let store = store("1/s", 0, Duration::ZERO);
    assert_eq!(store.try_acquire_n_at(&1, 1, at(0)), Err(KeyRejected::TooManyKeys { max: 0 }));
}

#[test]
fn a_sweep_checks_at_most_its_cells_and_sweeps_add_up() {
    let store = store("1/s", 10_000, Duration::ZERO);
    for key in 0..5000 {
        store.try_acquire_n_at(&key, 1, at(0)).unwrap();
    }
    assert_eq!(sweep_at(&store, at(SECOND - 1), usize::MAX), 0, "all are in use");
    let mut sweeps = 0;
    while store.keys() > 0 {
        assert!(sweep_at(&store, at(SECOND), 100) <= 100);
        sweeps += 1;
        assert!(sweeps < 5000, "{} keys left", store.keys());
    }
    assert!(sweeps >= 50);
}

#[test]
fn memory_follows_the_active_keys_without_any_sweep() {
    let store = store("1/s", 1_000_000, Duration::ZERO);
    let most = (0..500_000_u64)
        .map(|request| {
            // The test uses ten thousand new keys per second, and each key once.
            store.try_acquire_n_at(&request, 1, at(request * SECOND / 10_000)).unwrap();
            store.keys()
        })
        .max();
    assert!(
        (10_000..20_000).contains(&most.unwrap()),
        "{most:?} keys for ten thousand active ones"
    );
}
