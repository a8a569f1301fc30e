//! Beyond the range of positions: nothing hangs, nothing is lost from the ledger.

mod common;

use common::{assert_balanced, at, build, span, strictness};
use nanopace::{ManualClock, Nanos};

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

/// At 4 G/s the range is 73 minutes: a limit of two hours lies beyond it, and twelve hours late something still starts.
#[test]
fn a_skip_limit_beyond_the_range_hangs_nobody() {
    let hour = 3_600_000_000_000;
    let clock = ManualClock::new();
    let pacer = build("4G/s", &clock).skip_later_than(span(2 * hour)).build();
    clock.advance(span(12 * hour));
    for _ in 0..3 {
        assert!(pacer.acquire().is_ok());
    }
    assert_balanced(&pacer);
}
