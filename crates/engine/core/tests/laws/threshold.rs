//! Tests the sleep threshold. A caller does not sleep for less than the threshold, so slots may start early by less
//! than the threshold.

use crate::common::{MICRO, MILLI, SECOND, actual_ns, at, build, intended_ns, span, wait_ns};
use nanopace::driver::Drive as _;
use nanopace::{ManualClock, Nanos, Pacer, Refused};

fn before_slot_1(left_ns: u64, threshold_ns: u64) -> (ManualClock, Pacer) {
    let clock = ManualClock::jumping();
    let pacer = build("1000/s", &clock).sleep_threshold(span(threshold_ns)).build();
    pacer.acquire().expect("due at once");
    clock.set(at(MILLI - left_ns));
    (clock, pacer)
}

#[test]
fn a_delay_below_the_threshold_is_not_paused_for_and_a_longer_one_to_its_end() {
    for (left_ns, threshold_ns, start_ns) in [
        (50_000, 50_001, MILLI - 50_000),
        (50_000, 50_000, MILLI),
        (50_001, 50_000, MILLI),
        (1, 2, MILLI - 1),
        (1, 1, MILLI),
        (1, 0, MILLI),
        (0, 50_000, MILLI),
    ] {
        let ways: [fn(&Pacer) -> nanopace::Grant; 4] = [
            |pacer| pacer.acquire().expect("open"),
            |pacer| pacer.acquire_timeout(span(SECOND)).expect("soon"),
            |pacer| pacer.acquire_many(3).expect("open"),
            |pacer| pacer.lane().acquire().expect("open"),
        ];
        for way in ways {
            let (_, pacer) = before_slot_1(left_ns, threshold_ns);
            let grant = way(&pacer);
            assert_eq!(
                (intended_ns(grant), actual_ns(grant), wait_ns(grant)),
                (MILLI, start_ns, 0)
            );
            assert_eq!(pacer.now(), at(start_ns));
            assert_eq!(pacer.counters().early_starts, u64::from(start_ns < MILLI));
        }
    }
}

#[test]
fn a_refusal_has_the_moment_from_which_it_is_granted() {
    let (clock, pacer) = before_slot_1(MILLI / 2, 100 * MICRO);
    let moment = MILLI - 100 * MICRO + 1;
    assert_eq!(pacer.try_acquire(), Err(Refused::NotUntil(at(moment))));
    let mut claim = pacer.claim().expect("open");
    assert_eq!(claim.start(), Err(Refused::NotUntil(at(moment))));
    assert_eq!(claim.due(), Ok(at(MILLI)));
    clock.set(at(moment - 1));
    assert!(claim.start().is_err());
    assert_eq!(claim.delay(), Ok(span(100 * MICRO)));
    clock.set(at(moment));
    assert_eq!(claim.delay(), Ok(span(0)), "too short to pause for");
    assert_eq!(claim.start().map(actual_ns), Ok(moment));
    assert_eq!(pacer.counters().early_starts, 1);
}

#[test]
fn nothing_is_due_while_the_pacer_is_paused() {
    let (_clock, pacer) = before_slot_1(MILLI / 2, 100 * MICRO);
    assert_eq!(pacer.next_due(), Ok(at(MILLI - 100 * MICRO + 1)));
    assert_eq!(pacer.next_due_many(2), pacer.next_due());
    pacer.pause();
    assert_eq!(pacer.next_due(), Ok(Nanos::MAX));
    assert_eq!(pacer.next_due_many(2), Ok(Nanos::MAX));
}
