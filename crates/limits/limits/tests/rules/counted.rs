//! Tests that a limiter with a name counts its decisions, and that a limiter without a name counts nothing.

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
#[cfg(feature = "async")]
use nanopace_limits::AsyncLimiter;
use nanopace_limits::{Limiter, Reservation, Wait};
use nanopace_nanos::ManualClock;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

type Ask = fn(&Limiter, u64) -> bool;

const ASKS: [Ask; 7] = [
    |limiter, n| limiter.try_acquire_costs(n).is_ok(),
    |limiter, n| limiter.try_acquire_costs(&[n, 1]).is_ok(),
    |limiter, n| limiter.decide_costs(n).unwrap().is_allowed(),
    |limiter, n| limiter.decide_costs(&[1, n]).unwrap().is_allowed(),
    |limiter, _| limiter.decide_costs(&[1]).is_ok(), // one cost is missing
    |limiter, n| limiter.reserve(n).is_ok(),         // dropped, which refunds the request
    |limiter, n| limiter.reserve(n).map(Reservation::commit).is_ok(),
];

fn counted(snapshotter: &Snapshotter) -> (BTreeMap<String, u64>, Vec<f64>) {
    let (mut counts, mut waits) = (BTreeMap::new(), Vec::new());
    for (key, _, _, value) in snapshotter.snapshot().into_vec() {
        let labels: Vec<String> =
            key.key().labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        let name = format!("{} {}", key.key().name(), labels.join(","));
        match value {
            DebugValue::Counter(count) => drop(counts.insert(name, count)),
            DebugValue::Histogram(values) => {
                assert_eq!(name, "nanopace_limits_waited_seconds limiter=api");
                waits.extend(values.into_iter().map(f64::from));
            }
            DebugValue::Gauge(_) => panic!("{name}"),
        }
    }
    (counts, waits)
}

fn counts(admitted: u64, rejected: u64) -> BTreeMap<String, u64> {
    let name = |metric: &str| format!("nanopace_limits_{metric}_total limiter=api");
    BTreeMap::from([(name("admitted"), admitted), (name("rejected"), rejected)])
}

proptest! {
    #[test]
    fn each_decision_is_counted_once_under_the_limiters_name(
        steps in prop::collection::vec((0..ASKS.len(), 0..6_u64, any::<bool>(), 0..600_u64), 0..60),
    ) {
        let (recorder, clock) = (DebuggingRecorder::new(), ManualClock::new());
        let nameless = Limiter::with_clock("5/s, 4/s sliding-log".parse().unwrap(), clock.clone());
        let named = metrics::with_local_recorder(&recorder, || nameless.clone().named("api"));
        let (mut admitted, mut rejected) = (0, 0);
        for (ask, n, by_name, pause) in steps {
            clock.advance(Duration::from_millis(pause));
            let let_in = ASKS[ask](if by_name { &named } else { &nameless }, n);
            admitted += u64::from(by_name && let_in);
            rejected += u64::from(by_name && !let_in);
        }
        let (seen, waits) = counted(&recorder.snapshotter());
        prop_assert_eq!(seen, counts(admitted, rejected));
        prop_assert!(waits.is_empty(), "nobody waited");
    }
}

#[test]
fn a_waiting_request_is_counted_once_with_its_waiting_time() {
    let recorder = DebuggingRecorder::new();
    let limiter = metrics::with_local_recorder(&recorder, || {
        let limits = "2/s burst 1".parse().unwrap();
        Limiter::with_clock(limits, ManualClock::jumping()).named("api")
    });
    for _ in 0..3 {
        limiter.until_ready().unwrap();
    }
    assert!(limiter.wait(Wait::new(1).timeout(Duration::from_millis(100))).is_err());
    assert!(limiter.wait(Wait::new(2)).is_err(), "never");
    assert_eq!(counted(&recorder.snapshotter()), (counts(3, 2), vec![0.0, 0.5, 0.5]));
}

#[cfg(feature = "async")]
#[tokio::test]
async fn a_task_that_waits_is_counted_like_a_thread() {
    let recorder = DebuggingRecorder::new();
    let limiter = metrics::with_local_recorder(&recorder, || {
        Limiter::new("1/day".parse().unwrap()).named("api")
    });
    let limiter = AsyncLimiter::new(limiter).unwrap();
    limiter.until_ready().await.unwrap();
    limiter.wait(Wait::new(1).timeout(Duration::ZERO)).await.unwrap_err();
    let (seen, waits) = counted(&recorder.snapshotter());
    assert_eq!((seen, waits.len()), (counts(1, 1), 1));
}
