//! What recorders record, beside lanes.

use crate::common::{MILLI, SECOND, actual_ns, build, intended_ns, span};
use nanopace::ManualClock;
use std::thread;

/// Wait time and service time make the response time, for each operation; and lateness is the
/// generator's own only where a slot was asked for in time.
#[test]
fn each_time_is_what_it_is_called() {
    let clock = ManualClock::new();
    let pacer = build("10/s", &clock).build();
    let mut recorder = pacer.recorder();
    // When each slot is asked for, when it starts and when it ends, in milliseconds.
    for (asked, starts, ends) in [(0, 0, 30), (30, 104, 110), (150, 206, 450), (450, 450, 451)] {
        clock.set(crate::common::at(starts * MILLI));
        let grant = pacer.try_acquire().expect("due");
        recorder.started(grant, crate::common::at(asked * MILLI));
        recorder.completed(grant, crate::common::at(ends * MILLI));
    }
    let stats = pacer.stats();
    let values = |histogram: &hdrhistogram::Histogram<u64>| -> Vec<u64> {
        let to_ms = |nanos: u64| (nanos + MILLI / 2) / MILLI;
        histogram.iter_recorded().map(|value| to_ms(value.value_iterated_to())).collect()
    };
    assert_eq!(values(stats.wait_time()), [0, 4, 6, 150]);
    assert_eq!(stats.wait_time().len(), 4);
    assert_eq!(values(stats.service_time()), [1, 6, 30, 244]);
    assert_eq!(values(stats.response_time()), [10, 30, 151, 250]);
    // Slot 1 was asked for 70 ms before it was due, slot 2 50 ms before.
    assert_eq!(values(stats.delay()), [50, 70]);
    assert_eq!(values(stats.oversleep()), [4, 6]);
}

/// Nothing is lost, whoever asks for statistics meanwhile, and when a recorder is dropped.
#[test]
fn all_recorders_come_together() {
    let pacer = build("1M/s", &ManualClock::jumping()).build();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut recorder = pacer.recorder();
                for _ in 0..1_000 {
                    let asked = pacer.now();
                    let grant = pacer.acquire().expect("open");
                    recorder.started(grant, asked);
                    recorder.completed(grant, pacer.now());
                    let _ = pacer.stats();
                }
            });
        }
    });
    let stats = pacer.stats();
    assert_eq!(stats.wait_time().len(), 3_000);
    assert_eq!((stats.service_time().len(), stats.response_time().len()), (3_000, 3_000));
}

/// A grant that waited in a queue is as late as its operation starts, and never earlier.
#[test]
fn a_grant_that_is_stamped_again_is_later() {
    let clock = ManualClock::new();
    let pacer = build("10/s", &clock).build();
    clock.advance(span(SECOND));
    let grant = pacer.acquire().expect("due");
    for (stamp, starts) in [(0, SECOND), (SECOND, SECOND), (3 * SECOND, 3 * SECOND)] {
        let again = grant.started_at(crate::common::at(stamp));
        assert_eq!((intended_ns(again), actual_ns(again)), (intended_ns(grant), starts));
    }
}
