//! Tests that named limits by key count the decisions for all keys.

use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use nanopace_keyed::{KeyReservation, Keyed, Uniform, Wait, WhenFull};
use nanopace_nanos::ManualClock;
use proptest::prelude::*;
use std::time::Duration;

type Ask = fn(&Keyed<u64>, u64, u64) -> bool;

const ASKS: [Ask; 7] = [
    |keyed, key, n| keyed.try_acquire_costs(&key, n).is_ok(),
    |keyed, key, n| keyed.try_acquire_costs(&key, &[n, 1]).is_ok(),
    |keyed, key, n| keyed.decide_costs(&key, n).is_ok_and(|decision| decision.is_allowed()),
    |keyed, key, _| keyed.decide_costs(&key, &[1]).is_ok(), // one cost is missing
    |keyed, key, n| keyed.reserve(&key, n).is_ok(),         // dropped, which refunds the request
    |keyed, key, n| keyed.reserve(&key, n).map(KeyReservation::commit).is_ok(),
    |keyed, key, n| keyed.wait(&key, Wait::new(n).timeout(Duration::ZERO)).is_ok(),
];

fn counted(recorder: &DebuggingRecorder) -> [u64; 3] {
    let mut counted = [0; 3];
    for (key, _, _, value) in recorder.snapshotter().snapshot().into_vec() {
        assert!(key.key().labels().eq(&[metrics::Label::new("limiter", "users")]));
        match (key.key().name(), value) {
            ("nanopace_limits_admitted_total", DebugValue::Counter(n)) => counted[0] = n,
            ("nanopace_limits_rejected_total", DebugValue::Counter(n)) => counted[1] = n,
            ("nanopace_limits_waited_seconds", DebugValue::Histogram(waits)) => {
                counted[2] = waits.len().try_into().unwrap();
            }
            other => panic!("{other:?}"),
        }
    }
    counted
}

proptest! {
    #[test]
    fn each_answer_for_any_key_is_counted_once(
        steps in prop::collection::vec((0..ASKS.len(), 0..4_u64, 0..6_u64, any::<bool>(), 0..600_u64), 0..60),
    ) {
        let (recorder, clock) = (DebuggingRecorder::new(), ManualClock::new());
        let limits = "5/s, 4/s sliding-log".parse().unwrap();
        let builder = Keyed::builder(Uniform::new(limits)).max_keys(3).when_full(WhenFull::Reject);
        let nameless = builder.clock(clock.clone()).build().unwrap();
        let named = metrics::with_local_recorder(&recorder, || nameless.clone().named("users"));
        let mut expected = [0; 3];
        for (ask, key, n, by_name, pause) in steps {
            clock.advance(Duration::from_millis(pause));
            let let_in = ASKS[ask](if by_name { &named } else { &nameless }, key, n);
            expected[0] += u64::from(by_name && let_in);
            expected[1] += u64::from(by_name && !let_in);
            expected[2] += u64::from(by_name && let_in && ask == 6);
        }
        prop_assert_eq!(counted(&recorder), expected);
    }
}

#[test]
fn a_name_given_to_the_builder_is_that_of_the_limits() {
    let recorder = DebuggingRecorder::new();
    metrics::with_local_recorder(&recorder, || {
        let users: Keyed = Keyed::per_minute(2).named("users").and("1/day").build().unwrap();
        assert!(users.try_acquire("alice").is_ok());
        assert!(users.try_acquire("alice").is_err());
        assert!(users.try_acquire("bob").is_ok());
    });
    assert_eq!(counted(&recorder), [2, 1, 0]);
}

#[cfg(feature = "async")]
#[tokio::test]
async fn a_task_that_waits_is_counted() {
    let recorder = DebuggingRecorder::new();
    let users: Keyed = metrics::with_local_recorder(&recorder, || {
        Keyed::per_minute(1).named("users").build().unwrap()
    });
    let users = nanopace_keyed::AsyncKeyed::new(users).unwrap();
    users.until_ready("alice").await.unwrap();
    users.wait("alice", Wait::new(1).timeout(Duration::ZERO)).await.unwrap_err();
    assert_eq!(counted(&recorder), [1, 1, 1]);
}
