//! Tests the ledger: its counters, and when they begin.

use crate::common::{
    HOUR, MILLI, SECOND, assert_balanced, at, build, drain, paced, rate, span, strictness,
};
use nanopace::driver::Drive as _;
use nanopace::{Arrivals, Grant, ManualClock, PacerBuilder, Strictness};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[test]
fn the_ledger_begins_with_the_schedule_and_stops_while_paused() {
    let clock = ManualClock::new();
    clock.set(at(5 * SECOND));
    let pacer = build("10/s", &clock).build();
    clock.advance(span(SECOND));
    pacer.pause();
    clock.advance(span(7 * SECOND));
    pacer.resume();
    assert!((0..5).all(|_| pacer.try_acquire().is_ok()));
    let ledger = pacer.ledger();
    assert_eq!((ledger.elapsed, ledger.idle), (span(SECOND), Duration::ZERO));
    assert!(ledger.allocated.abs_diff(span(SECOND / 2)) <= span(2), "{ledger:?}");
    assert_balanced(&pacer);
    drain(&pacer);
    assert_eq!(pacer.ledger().allocated, span(SECOND));
}

#[test]
fn lanes_that_are_gone_are_forgotten() {
    let clock = ManualClock::jumping();
    let pacer = build("1000/s", &clock).build();
    let size_after = |lanes: u64| {
        for _ in 0..lanes {
            assert!(pacer.lane().acquire().is_ok());
        }
        format!("{pacer:?}").len()
    };
    // If a hundred lanes were still stored, the string would grow by thousands of characters.
    assert!(size_after(10) + 1_000 > size_after(100));
    assert_eq!(pacer.ledger().granted, 110);
}

/// At a ratio of 1.1, a second of owed time is made up for within eleven seconds. At 1/h, a tick lasts 55 ms, so the
/// ledger would show a tick that is left over.
#[test]
fn time_that_has_been_paid_back_is_not_waiting_any_more() {
    let clock = ManualClock::new();
    let builder = build("1/h", &clock).slots(2).strictness(strictness(1.1));
    let pacer = builder.build();
    clock.advance(span(SECOND));
    assert!(pacer.try_acquire().is_ok());
    for elapsed in [HOUR - 1, HOUR + 1, 2 * HOUR, 3 * HOUR] {
        clock.set(at(elapsed));
        assert_eq!(pacer.ledger().waiting, Duration::ZERO, "after {elapsed} ns");
        assert_balanced(&pacer);
    }
}

#[test]
fn a_change_after_the_last_slot_makes_no_time_idle() {
    let clock = ManualClock::new();
    let offsets = [0, 100].map(Duration::from_millis);
    let builder = build("1/s", &clock).arrivals(Arrivals::replay(move || offsets));
    let pacer = builder.max_backlog(Duration::from_secs(9)).build();
    clock.advance(Duration::from_millis(150));
    pacer.set_shape("hold 0/s 1s".parse().expect("a shape"));
    assert_eq!(drain(&pacer).len(), 2);
    let ledger = pacer.ledger();
    assert_eq!((ledger.idle, ledger.allocated), (Duration::ZERO, ledger.elapsed), "{ledger:?}");
}

/// At most 2^20 arrivals are read ahead of the slots that are in use.
#[test]
fn a_backlog_of_a_recording_is_not_read_at_once() {
    let read = Arc::new(AtomicU64::new(0));
    let reader = Arc::clone(&read);
    let offsets = (0..5_000_000).map(Duration::from_micros).inspect(move |_| {
        reader.fetch_add(1, Ordering::Relaxed);
    });
    let clock = ManualClock::new();
    let pacer = build("1/s", &clock).arrivals(Arrivals::replay(move || offsets.clone())).build();
    clock.advance(Duration::from_secs(4));
    for _ in 0..10 {
        assert!(pacer.try_acquire().is_ok());
        assert_eq!(pacer.ledger().backlog_slots + pacer.ledger().granted, 1 << 20);
    }
    assert!(read.load(Ordering::Relaxed) < (1 << 20) + 9);
    pacer.set_skip_later_than(Some(Duration::from_millis(500)));
    assert_eq!(pacer.try_acquire().map(Grant::wait_time), Ok(Duration::from_millis(500)));
    assert_eq!(pacer.ledger().skipped, 3_500_000 - 10);
    assert_eq!(pacer.ledger().backlog_slots, 500_000);
}

/// At 1/h, 10 ms are less than a tick, so the new piece is anchored at slot 0.
#[test]
fn a_change_within_a_tick_of_a_slot_leaves_the_slot_its_time() {
    let (clock, pacer) = paced("1/h");
    clock.advance(span(10 * MILLI));
    pacer.set_rate(rate("1000/s"));
    let ledger = pacer.ledger();
    assert_eq!((ledger.backlog_slots, ledger.backlog), (1, span(10 * MILLI)), "{ledger:?}");
    assert_eq!(drain(&pacer).len(), 1);
}

/// 2^44 intervals of 0.1 ns are half an hour. The first interval, which is longer, ends before the first slot.
#[test]
fn a_backlog_beyond_the_range_is_idle_even_if_no_slot_has_been_claimed() {
    let (clock, pacer) = paced("1k/s");
    clock.advance(span(MILLI));
    pacer.set_rate(rate("10G/s"));
    clock.advance(span(HOUR));
    assert_eq!(pacer.unstarted(at(0)..at(0)), []);
    let ledger = pacer.ledger();
    assert_eq!((ledger.idle + ledger.backlog, ledger.allocated), (ledger.elapsed, Duration::ZERO));
    assert!(ledger.idle > span(HOUR / 2), "{ledger:?}");
}

#[test]
fn time_forfeited_before_a_correction_is_no_longer_idle() {
    let policies: [fn(PacerBuilder) -> PacerBuilder; 2] = [
        |builder| builder.strictness(Strictness::STRICT),
        |builder| builder.max_backlog(span(2 * MILLI)),
    ];
    for policy in policies {
        for load in ["hold 2k/s 1h", "hold 500/s 1h", "hold 1k/s 5ms, hold 0/s 1h"] {
            let clock = ManualClock::new();
            let pacer = policy(build("1k/s", &clock)).build();
            clock.set(at(8 * MILLI));
            pacer.acquire().expect("due");
            assert!(pacer.ledger().idle > Duration::ZERO);
            pacer.correct_shape(load.parse().unwrap());
            assert_eq!(pacer.ledger().idle, Duration::ZERO, "{load}");
            for now in 8..20 {
                clock.set(at(now * MILLI));
                assert_balanced(&pacer);
                let _ = pacer.try_acquire();
                assert_balanced(&pacer);
            }
        }
    }
}
