//! What clocks do: stand still, jump ahead by years, go back. No panic, no early start, no burst (DESIGN 2.9 and its traps).

mod common;

use common::{
    DAY, HOUR, MILLI, RoughClock, SECOND, WEEK, YEAR, actual_ns, assert_balanced, build, drain, intended_ns,
    put_off_to, rate, span, strictness,
};
use nanopace::{ManualClock, Pacer};
use std::sync::Arc;

#[test]
fn a_week_or_a_year_of_suspension_obeys_the_policy() {
    for suspended in [WEEK, YEAR, 100 * YEAR] {
        for text in ["1/d", "1/s", "1M/s", "10G/s"] {
            for number in [0.0, 0.5, 1.0, 1.1, 1000.0] {
                suspend(text, number, suspended);
            }
        }
    }
}

fn suspend(text: &str, number: f64, suspended: u64) {
    let clock = ManualClock::new();
    let pacer = build(text, &clock).strictness(strictness(number)).build();
    pacer.try_acquire().expect("due at once");
    clock.advance(span(suspended));
    assert_balanced(&pacer);
    for _ in 0..20 {
        let Ok(grant) = pacer.try_acquire() else { break };
        assert!(
            actual_ns(grant) <= suspended && intended_ns(grant) <= suspended,
            "{text} {number}: {grant:?}"
        );
        assert_balanced(&pacer);
    }
    if number >= 1.0 {
        assert!(put_off_to(&pacer) > suspended, "{text} {number}");
    }
    pacer.set_rate(rate("1/s"));
    assert_balanced(&pacer);
}

#[test]
fn the_maximum_backlog_makes_a_suspended_day_harmless() {
    let clock = ManualClock::new();
    let pacer = build("10G/s", &clock).max_backlog(span(10)).build();
    pacer.try_acquire().expect("due at once");
    clock.advance(span(DAY));
    // 10 ns hold 100 slots and the one that is due just now.
    assert_eq!(drain(&pacer).len(), 101);
}

#[test]
fn a_clock_that_stands_still_starts_nothing() {
    for number in [0.0, 0.5, 1.0, 1.1] {
        let clock = ManualClock::new();
        let pacer = build("10G/s", &clock).strictness(strictness(number)).build();
        assert_eq!(drain(&pacer).len(), 1, "strictness {number}");
        clock.advance(span(HOUR));
        pacer.acquire().expect("open");
        pacer.set_rate(rate("1/s"));
        assert_balanced(&pacer);
    }
}

#[test]
fn a_clock_that_goes_back_does_no_harm_beyond_a_late_start() {
    for number in [0.0, 0.5, 1.0, 1.1] {
        let clock = Arc::new(RoughClock::default());
        let pacer = Pacer::builder(rate("10/s")).strictness(strictness(number)).clock(clock.clone()).build();
        let mut highest = 0;
        let mut starts = 0_u64;
        for step in 0..3_000_u64 {
            let now = step * 50 * MILLI + (step * 7_919 % 31) * 20 * MILLI;
            clock.set(now);
            highest = highest.max(now);
            starts += drain(&pacer).len() as u64;
            // 10/s up to the latest reading there was, and slot 0.
            assert!(starts <= highest / (100 * MILLI) + 1, "strictness {number}: {starts} by {highest}");
            let _ = pacer.ledger();
        }
    }
}

#[test]
fn a_rate_change_on_a_clock_that_went_back_gives_no_credit() {
    let clock = Arc::new(RoughClock::default());
    let pacer = Pacer::builder(rate("1/s")).clock(clock.clone()).build();
    clock.set(10 * SECOND);
    assert_eq!(drain(&pacer).len(), 11);
    clock.set(5 * SECOND);
    pacer.set_rate(rate("1000/s"));
    clock.set(10 * SECOND);
    // Slot 11 is at most 1 ms away; nothing is due.
    assert_eq!(drain(&pacer).len(), 0);
    clock.set(10 * SECOND + 5 * MILLI);
    assert!((4..=6).contains(&drain(&pacer).len()));
}

#[test]
fn a_pause_on_a_clock_that_goes_back_is_no_panic() {
    let clock = Arc::new(RoughClock::default());
    let pacer = Pacer::builder(rate("10/s")).strictness(strictness(1.1)).clock(clock.clone()).build();
    for (paused, resumed) in [(5, 2), (7, 6), (1, 8), (9, 0), (20, 30)] {
        clock.set(paused * SECOND);
        drain(&pacer);
        pacer.pause();
        clock.set(resumed * SECOND);
        assert_eq!(drain(&pacer).len(), 0);
        let _ = pacer.ledger();
        pacer.resume();
    }
    clock.set(60 * SECOND);
    assert!(pacer.acquire().is_ok());
}
