//! Beyond the range of positions: nothing hangs, nothing is lost from the ledger.

mod common;

use common::{assert_balanced, at, build, span, strictness};
use nanopace::{ManualClock, Nanos, Refused};

/// At 2^24 slots per second the range of 2^44 slots is 2^20 seconds: 12 days. A year late, what is beyond is forfeited, and of the rest
/// everything is skipped that is more than 10 us late: 10 us are 167.8 intervals, so 168 slots remain, the one due now included.
#[test]
fn skipping_gets_over_more_than_the_range() {
    let clock = ManualClock::new();
    let pacer = build("16777216/s", &clock).skip_later_than(span(10_000)).build();
    pacer.try_acquire().expect("slot 0");
    clock.set(at(365 * 86_400 * 1_000_000_000));
    let mut granted = 0;
    while pacer.try_acquire().is_ok_and(|grant| grant.wait_nanos() <= 10_000) {
        granted += 1;
    }
    assert_eq!(granted, 168);
    assert_balanced(&pacer);
}

#[test]
fn the_end_of_time_hangs_nobody() {
    for number in [0.0, 0.5, 1.0, 1.1] {
        let clock = ManualClock::new();
        let pacer =
            build("10G/s", &clock).strictness(strictness(number)).skip_later_than(span(10_000)).build();
        clock.set(Nanos::MAX);
        drop(pacer.claim());
        assert_balanced(&pacer);
    }
}

/// Slots 0 and 1 and one that forfeits 8 s are taken, and taken back, latest first. Of 10 s at one per second, 8 are idle then, slot 0's
/// second and slot 1's are backlog; nothing is allocated. Slot 0 alone taken: 1 s is allocated.
#[test]
fn what_is_taken_back_from_before_a_forfeited_gap_is_backlog() {
    let clock = ManualClock::new();
    let pacer = build("1/s", &clock).strictness(strictness(1.0)).build();
    let [first, second] = [(); 2].map(|()| pacer.claim().expect("a slot"));
    clock.advance(span(10_000_000_000));
    let late = pacer.claim().expect("a slot");
    for (claim, allocated) in [(late, 2), (second, 1), (first, 0)] {
        drop(claim);
        let ledger = pacer.ledger();
        assert_eq!(ledger.idle, span(8_000_000_000));
        assert_eq!(ledger.allocated, span(allocated * 1_000_000_000), "{ledger:?}");
        assert_balanced(&pacer);
    }
}

/// At 4 G/s the range of 2^44 slots is 4398 s: limits of that and of two hours are none, and twelve hours late something still starts. Where
/// it is owed, it is paid back at its ratio nevertheless.
#[test]
fn a_skip_limit_of_the_range_or_more_skips_nothing_and_hangs_nobody() {
    let hour = 3_600_000_000_000;
    for (limit, number) in [(4_398_046_511_104, 0.0), (4_398_046_511_104, 2.0), (2 * hour, 0.0)] {
        let clock = ManualClock::new();
        let builder = build("4G/s", &clock).strictness(strictness(number));
        let pacer = builder.skip_later_than(span(limit)).build();
        clock.advance(span(12 * hour));
        assert!(pacer.acquire().is_ok());
        assert_eq!(pacer.try_acquire().is_ok(), number < 1.0, "{limit} {number}");
        assert_eq!(pacer.ledger().skipped, 0);
        assert_balanced(&pacer);
    }
}

/// At 10 G/s positions come round after 2^48 slots, and can't be told apart from 2^47 on. 10 s are forfeited, and again after 35 000
/// rows of 2^32 - 1 slots, of 429.4967295 ms each.
#[test]
fn what_was_forfeited_long_ago_is_neither_counted_again_nor_a_licence() {
    let clock = ManualClock::jumping();
    let pacer = build("10G/s", &clock).strictness(strictness(1.0)).build();
    let rows = |rows: u64| assert!((0..rows).all(|_| pacer.acquire_many(u32::MAX).is_ok()));
    rows(1);
    for idle in [10_000_000_000, 20_000_000_000] {
        clock.advance(span(10_429_496_730));
        rows(35_000);
        let ledger = pacer.ledger();
        assert!(ledger.idle.abs_diff(span(idle)) < span(2), "{ledger:?}");
        assert_eq!(ledger.allocated + ledger.idle, ledger.elapsed);
    }
}

/// Slot 0 is claimed, 2^44 - 1 others start in time; then slot 0 is given back and late, so that strict moves all those behind it.
#[test]
fn a_row_is_refused_where_two_to_the_44_slots_are_taken_that_are_not_due() {
    for (more, is_refused) in [(0, false), (1, true)] {
        let clock = ManualClock::jumping();
        let pacer = build("10G/s", &clock).build();
        let claim = pacer.claim().expect("slot 0");
        // 1 + 2^12 x (2^32 - 1) + 4 095 = 2^44.
        assert!((0..4_096).all(|_| pacer.acquire_many(u32::MAX).is_ok()));
        assert!(pacer.acquire_many(4_095).is_ok());
        pacer.set_strictness(strictness(1.0));
        drop(claim);
        let _claims: Vec<_> = (0..=more).map(|_| pacer.claim().expect("slot 0, and one more")).collect();
        assert_eq!(pacer.acquire_many(2).is_err_and(|error| error == Refused::TooFarAhead), is_refused);
    }
}
