//! Tests that no call hangs, and the ledger loses nothing, when the lateness is beyond the range of positions.

use crate::common::{SECOND, assert_balanced, at, build, paced, rate, span, strictness};
use nanopace::{Grant, ManualClock, Nanos, Pacer, Refused};

/// At 2^24 slots per second, the range of 2^44 slots is 12 days. A lateness of a year exceeds this range, so the time
/// beyond the range is forfeited. 10 us are 167.8 intervals, so 168 slots remain, including the one that is due now.
#[test]
fn skipping_works_beyond_the_range() {
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

/// At 1 G/s the range of 2^44 slots is 4.9 hours. A start that is a day late forfeits the time beyond the range, even
/// in an open loop, so the next start is 4.9 hours late.
#[test]
fn backlog_beyond_the_range_is_forfeited() {
    for number in [0.0, 1.1] {
        let (clock, day) = (ManualClock::new(), 86_400_000_000_000);
        let pacer =
            build("1G/s", &clock).strictness(strictness(number)).tolerance(span(2 * day)).build();
        clock.set(at(day));
        let range = span(1 << 44);
        assert_eq!(pacer.try_acquire().map(Grant::wait_time), Ok(span(day)));
        assert_eq!(pacer.ledger().idle, span(day - (1 << 44) - 1));
        assert_eq!(pacer.try_acquire().map(Grant::wait_time), Ok(range));
        assert_balanced(&pacer);
    }
}

/// While the rate is slow, nearly all of the 2^44 slots within the range lie on the fast part of the shape.
#[test]
fn a_backlog_is_cut_to_the_range_where_the_rate_was_another_one() {
    let clock = ManualClock::new();
    let shape = "hold 10G/s 1h, hold 1/s 1h".parse().expect("a shape");
    let pacer = Pacer::shaped(shape).clock(clock.clone()).build();
    clock.set(at(3_700 * SECOND));
    pacer.try_acquire().expect("slot 0");
    let grant = pacer.try_acquire().expect("due");
    // 100 of the 2^44 slots lie after the first hour.
    let oldest = 3_600 * SECOND - ((1 << 44) - 100) / 10;
    let off = grant.intended_start().as_nanos().checked_sub(oldest);
    assert!(off.is_some_and(|off| off <= 2), "{grant:?}, not {oldest}");
    assert_balanced(&pacer);
}

#[test]
fn the_end_of_time_hangs_no_caller() {
    for number in [0.0, 0.5, 1.0, 1.1] {
        let clock = ManualClock::new();
        let pacer = build("10G/s", &clock)
            .strictness(strictness(number))
            .skip_later_than(span(10_000))
            .build();
        clock.set(Nanos::MAX);
        drop(pacer.claim());
        assert_balanced(&pacer);
    }
}

/// Slots 0 and 1 are held while slot 2 forfeits its lateness of 8 s, so 8 of 10 s are idle. After slots 0 and 1 are
/// given back, their two seconds are backlog. The interval of slot 2 has not passed yet.
#[test]
fn slots_given_back_from_before_a_forfeited_gap_are_backlog() {
    let clock = ManualClock::new();
    let pacer = build("1/s", &clock).strictness(strictness(1.0)).build();
    let [first, second] = [(); 2].map(|()| pacer.claim().expect("a slot"));
    clock.advance(span(10_000_000_000));
    assert_eq!(pacer.try_acquire().map(Grant::wait_nanos), Ok(8_000_000_000));
    for (claim, allocated) in [(second, 1), (first, 0)] {
        drop(claim);
        let ledger = pacer.ledger();
        assert_eq!(ledger.idle, span(8_000_000_000));
        assert_eq!(ledger.allocated, span(allocated * 1_000_000_000), "{ledger:?}");
        assert_balanced(&pacer);
    }
    for wait_ns in [10_000_000_000, 9_000_000_000] {
        assert_eq!(pacer.try_acquire().map(Grant::wait_nanos), Ok(wait_ns));
    }
    assert_eq!(pacer.try_acquire(), Err(Refused::NotUntil(at(11_000_000_000))));
    assert_eq!(pacer.ledger().idle, span(8_000_000_000), "a straggler moves nothing");
}

/// At 4 G/s the range of 2^44 slots is 4398 s.
#[test]
fn a_skip_limit_of_the_range_or_more_skips_nothing_and_hangs_no_caller() {
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

/// At 10 G/s positions wrap around after 2^48 slots, and are ambiguous from 2^47 on. A row of 2^32 - 1 slots takes
/// 429.4967295 ms.
#[test]
fn time_forfeited_long_ago_is_neither_counted_again_nor_made_up_for() {
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

/// At a strictness of 1.0001, it takes more than a year to make up for an hour of owed time. A line reaches 2^46 slots,
/// which are less than two hours at 10 G/s.
#[test]
fn time_owed_for_longer_than_a_line_reaches_is_paid_back_at_its_ratio() {
    let clock = ManualClock::jumping();
    let pacer = build("10G/s", &clock).strictness(strictness(1.0001)).build();
    clock.advance(span(3_600_000_000_000));
    let row = || pacer.acquire_many(u32::MAX).map(Grant::actual_start);
    let first = row().expect("due");
    let rows = 201_000;
    let last = (0..rows).fold(first, |_, _| row().expect("not too far ahead"));
    let slots = f64::from(rows) * f64::from(u32::MAX);
    let hours = slots / 1.0001 / 1e10 / 3_600.0;
    assert!(hours > 23.9 && ((last - first).as_secs_f64() / 3_600.0 / hours - 1.0).abs() < 1e-9);
    assert_balanced(&pacer);
}

/// At 1 G/s a line reaches 2^46 slots, which are 19.5 hours.
#[test]
fn all_slots_beyond_the_reach_of_a_line_count_as_asked_for() {
    let (clock, day_ns) = (ManualClock::new(), 86_400 * SECOND);
    let pacer = build("1G/s", &clock).build();
    clock.set(at(day_ns));
    pacer.try_acquire().expect("slot 0");
    assert_eq!(pacer.asked_before(pacer.now()), day_ns);
}

#[test]
fn a_slot_beyond_the_end_of_time_is_not_reported_as_paused() {
    let (_, pacer) = paced("1/d");
    // 200 000 days are 547 years, and `Nanos::MAX` is 292 years.
    pacer.acquire_many(200_000).expect("slot 0 is due");
    assert_eq!(pacer.try_acquire(), Err(Refused::NotUntil(Nanos::MAX)));
    assert_eq!(pacer.acquire_timeout(span(5)), Err(Refused::NotUntil(Nanos::MAX)));
    pacer.pause();
    assert_eq!(pacer.try_acquire(), Err(Refused::Paused));
}

#[test]
fn skipping_over_a_slow_piece_and_beyond_the_range_comes_back() {
    for late_s in [100, 2_000, 10_000, 100_000, 5_000_000] {
        let clock = ManualClock::new();
        let pacer = build("1/d", &clock).skip_later_than(span(41_687_392)).build();
        clock.advance(span(5_852_315_264_804));
        pacer.set_rate(rate("10G/s"));
        let mut claim = pacer.claim().expect("open");
        clock.advance(span(late_s * SECOND));
        claim.start().expect("due");
        pacer.try_acquire().expect("due");
        assert_balanced(&pacer);
    }
}

#[test]
fn slots_that_came_back_are_counted_beyond_the_range() {
    let (clock, pacer) = paced("10G/s");
    clock.advance(span(235_397_855_840_841));
    let row = pacer.claim_many(u32::MAX).expect("open");
    let _behind = pacer.claim_many(2).expect("open");
    drop(row);
    pacer.set_rate(rate("1/d"));
    let _ = pacer.try_acquire();
    pacer.set_rate(rate("10G/s"));
    clock.advance(span(10_000 * SECOND));
    assert_balanced(&pacer);
}

#[test]
fn the_account_of_time_holds_at_the_end_of_time() {
    let (clock, pacer) = paced("7/min");
    clock.advance(span(1_829));
    pacer.set_rate(rate("1/d"));
    clock.advance(std::time::Duration::MAX);
    assert_balanced(&pacer);
}

#[test]
fn random_slots_beyond_the_range_of_the_clock_are_never_due() {
    let clock = ManualClock::new();
    let pacer = build("1/d", &clock).arrivals("poisson".parse().unwrap()).build();
    let _row = pacer.claim_many(110_000).expect("not too far ahead");
    assert_eq!(pacer.claim().expect("open").due(), Ok(Nanos::MAX));
}

/// Slot 1 forfeits its lateness of almost a second, so slot 2 follows a nanosecond after the start of slot 1.
#[test]
fn a_slot_that_is_held_keeps_its_intended_start_beyond_the_range() {
    let clock = ManualClock::new();
    let pacer = build("1G/s", &clock).strictness(strictness(1.0)).build();
    pacer.try_acquire().expect("slot 0");
    clock.set(at(SECOND));
    pacer.try_acquire().expect("slot 1");
    let mut claim = pacer.claim().expect("slot 2");
    clock.set(at(86_400 * SECOND));
    pacer.pause();
    assert_eq!(pacer.try_acquire().map(Grant::wait_nanos), Err(Refused::Paused));
    pacer.resume();
    assert_eq!(claim.start().map(Grant::intended_start), Ok(at(SECOND + 1)));
    assert_balanced(&pacer);
}
