//! Tests that an intended start is an exact multiple of the interval, rounded up to a whole nanosecond.

use crate::common::{
    DAY, HOUR, MICRO, MILLI, SECOND, YEAR, at, build, drain, intended_ns, paced, put_off_to, rate,
    span, wait_ns,
};
use nanopace::{ManualClock, Pacer, Rate, RateError};
use std::time::Duration;

fn ideal_ns(slot: u128, operations: u128, period_ns: u128) -> u64 {
    u64::try_from((slot * period_ns).div_ceil(operations)).expect("within the range of moments")
}

/// The interval is stored with an error of one part in 2^63, less than a hundredth of a nanosecond in a year, so
/// rounding up can be wrong by at most that error.
fn assert_within_a_trace(actual_ns: u64, slot: u128, operations: u128, period_ns: u128) {
    let (actual, ideal) = (u128::from(actual_ns) * operations, slot * period_ns);
    assert!(
        actual < ideal + operations,
        "slot {slot}: {actual_ns} ns is later than rounding up makes it"
    );
    assert!(actual + operations / 100 >= ideal, "slot {slot}: {actual_ns} ns is early");
}

/// Returns the number of slots, which start in rows of `step` slots up to about `until_ns`.
fn assert_exact(rate: Rate, operations: u128, period_ns: u128, step: u32, until_ns: u64) -> u128 {
    let clock = ManualClock::jumping();
    let pacer = Pacer::builder(rate).clock(clock).build();
    let mut slot = 0;
    loop {
        let grant = pacer.acquire_many(step).expect("open");
        let ideal = ideal_ns(slot, operations, period_ns);
        assert_within_a_trace(intended_ns(grant), slot, operations, period_ns);
        assert_eq!(wait_ns(grant), 0, "slot {slot} at {rate}");
        slot += u128::from(step);
        if ideal > until_ns {
            return slot;
        }
    }
}

#[test]
fn the_first_slot_starts_at_once_and_the_second_after_one_interval() {
    // Intervals in ns are rounded up: 10^9 / 3 = 333 333 333.3, 10^9 / 70 000 = 14 285.7, 10^9 / 333.3 = 3 000 300.03.
    for (text, interval_ns) in [
        ("1/d", DAY),
        ("1/h", HOUR),
        ("0.5/s", 2 * SECOND),
        ("3/s", 333_333_334),
        ("333.3/s", 3_000_301),
        ("1000/s", MILLI),
        ("70k/s", 14_286),
        ("1G/s", 1),
        ("10G/s", 1),
    ] {
        let pacer = build(text, &ManualClock::new()).build();
        assert_eq!(intended_ns(pacer.try_acquire().expect("due at once")), 0, "{text}");
        assert_eq!(put_off_to(&pacer), interval_ns, "{text}");
    }
}

#[test]
fn thirds_are_the_same_thirds_for_ever() {
    let pacer = build("3/s", &ManualClock::jumping()).build();
    for k in 0..10_000 {
        for part in [0, 333_333_334, 666_666_667] {
            assert_eq!(intended_ns(pacer.acquire().expect("open")), k * SECOND + part);
        }
    }
}

#[test]
fn odd_rates_are_exact_over_a_year() {
    // A year is 31 536 000 s and contains 15 768 000 slots at 0.5/s, and 2.2 x 10^12 at 70 k/s. Steps are primes, so
    // that every remainder of the interval is tested.
    for (text, operations, period_s, step, slots) in [
        ("0.5/s", 1, 2, 997, 15_768_000),
        ("3/s", 3, 1, 9_973, 94_608_000),
        ("333.3/s", 3_333, 10, 999_983, 10_510_948_800),
        ("70k/s", 70_000, 1, 99_999_989, 2_207_520_000_000),
    ] {
        let taken = assert_exact(rate(text), operations, period_s * u128::from(SECOND), step, YEAR);
        assert!(taken >= slots && taken <= slots + 2 * u128::from(step) + 1, "{text}: {taken}");
    }
}

#[test]
fn the_slowest_rate_is_exact_over_two_centuries() {
    let slots = assert_exact(rate("1/d"), 1, u128::from(DAY), 1, 200 * YEAR);
    // In 200 years of 365 days, slots 0 to 73 000 start. The slot after them ends the loop.
    assert_eq!(slots, 73_002);
}

#[test]
fn floating_point_rates_are_exact_at_their_exact_value() {
    // The float 0.1 is 3602879701896397 / 2^55, so the interval is 2^55 x 10^9 / 3602879701896397 ns.
    let rate = Rate::from_hz(0.1).expect("a rate");
    assert_exact(rate, 3_602_879_701_896_397, u128::from(SECOND) << 55, 9_973, YEAR);
}

fn assert_a_million_billion_slots(per_second: u128) {
    let clock = ManualClock::jumping();
    let rate = Rate::per_second(u64::try_from(per_second).expect("a rate")).expect("a rate");
    let pacer = Pacer::builder(rate).clock(clock).build();
    let mut slot = 0_u128;
    while slot < 1_000_000_000_000_000 {
        let actual = u128::from(intended_ns(pacer.acquire_many(u32::MAX).expect("open")));
        // A start is less than an interval, plus 1 ns for rounding up, from its ideal time. Everything is multiplied by
        // `per_second`.
        let (scaled, ideal) = (actual * per_second, slot * u128::from(SECOND));
        assert!(
            scaled < ideal + u128::from(SECOND) + per_second,
            "slot {slot} at {per_second}/s: {actual}"
        );
        assert!(scaled + u128::from(SECOND) > ideal, "slot {slot} at {per_second}/s: {actual}");
        slot += u128::from(u32::MAX);
    }
}

#[test]
fn no_rate_drifts_by_an_interval_in_a_million_billion_slots() {
    // The slowest of these rates has 10^15 slots in 288 years, which is within the range of times, 292 years.
    for per_second in
        [110_000, 333_333, 1_000_000, 70_000_000, 600_000_001, 3_000_000_000, 10_000_000_000]
    {
        assert_a_million_billion_slots(per_second);
    }
}

#[test]
fn slots_are_never_before_their_time_at_any_rate() {
    // No prime in this list divides 10^9, so each interval has a fraction of a nanosecond.
    for per_second in [7, 997, 99_991, 9_999_991, 999_999_937, 9_999_999_967] {
        let rate = Rate::per_second(per_second).expect("a rate");
        assert_exact(
            rate,
            per_second.into(),
            SECOND.into(),
            1,
            20 * SECOND / per_second.min(20_000),
        );
    }
}

#[test]
fn there_is_no_credit_from_before_the_start() {
    let clock = ManualClock::new();
    clock.set(at(5 * SECOND));
    let pacer = build("10/s", &clock).build();
    let first = pacer.try_acquire().expect("due at once");
    assert_eq!((intended_ns(first), wait_ns(first)), (5 * SECOND, 0));
    assert_eq!(put_off_to(&pacer), 5_100 * MILLI);
}

#[test]
fn there_is_no_credit_from_a_paused_start() {
    let clock = ManualClock::new();
    let pacer = build("10/s", &clock).start_paused().build();
    clock.advance(span(HOUR));
    assert!(pacer.try_acquire().is_err());
    pacer.resume();
    let first = pacer.try_acquire().expect("due at once");
    assert_eq!((intended_ns(first), wait_ns(first)), (HOUR, 0));
    assert_eq!(put_off_to(&pacer), HOUR + 100 * MILLI);
    assert_eq!(pacer.ledger().elapsed, span(0));
}

#[test]
fn there_is_no_credit_from_a_pause() {
    let (clock, pacer) = paced("10/s");
    pacer.try_acquire().expect("due at once");
    clock.advance(span(30 * MILLI));
    pacer.pause();
    clock.advance(span(HOUR));
    pacer.resume();
    // 30 of the 100 ms between slots 0 and 1 passed before the pause of an hour. The other 70 ms follow after the
    // pause.
    assert!(put_off_to(&pacer).abs_diff(HOUR + 100 * MILLI) <= 2, "{}", put_off_to(&pacer));
}

#[test]
fn there_is_no_credit_when_the_rate_is_raised() {
    let (clock, pacer) = paced("1/h");
    pacer.try_acquire().expect("due at once");
    clock.advance(span(HOUR / 4));
    pacer.set_rate(rate("1000/s"));
    // A quarter of the interval has passed. Three quarters of an interval of 1 ms are left.
    assert_eq!(put_off_to(&pacer), HOUR / 4 + 750_000);
    clock.advance(span(750_000));
    assert_eq!(wait_ns(pacer.try_acquire().expect("due")), 0);
    assert_eq!(put_off_to(&pacer), HOUR / 4 + 1_750_000);
}

#[test]
fn a_schedule_can_start_late_on_the_clock_and_end_with_it() {
    let clock = ManualClock::jumping();
    let last = i64::MAX.unsigned_abs();
    clock.set(at(last - 4 * SECOND));
    let pacer = build("1/s", &clock).build();
    for k in 0..4 {
        assert_eq!(intended_ns(pacer.acquire().expect("open")), last - 4 * SECOND + k * SECOND);
    }
}

#[test]
fn a_change_at_a_slots_own_moment_leaves_the_whole_next_interval() {
    // Each of these moments is exactly the intended start of a slot at the old rate, without rounding. For example, 3
    // slots at 30 M/s take 100 ns, and 10 slots at 10 G/s take 1 ns.
    for (old, moment) in [("1/65536ns", 65_536), ("1/s", SECOND), ("30M/s", 100), ("10G/s", 1)] {
        for (new, interval) in [("8k/s", 125_000), ("1/s", SECOND), ("1/d", DAY)] {
            let (clock, pacer) = paced(old);
            clock.set(at(moment));
            drain(&pacer);
            pacer.set_rate(rate(new));
            assert_eq!(put_off_to(&pacer), moment + interval, "{old} to {new}");
        }
    }
}

#[test]
fn a_change_gives_away_less_than_a_tick() {
    // 3 slots of 30 k/s take 100 us. At 30 k/s, a tick is shorter than a nanosecond, the shortest representable time.
    // At 1/d, a tick is 1 318 359 375 ns.
    let (clock, pacer) = paced("30k/s");
    clock.set(at(100_000));
    assert_eq!(drain(&pacer).len(), 4);
    pacer.set_rate(rate("1/d"));
    let early = 100_000 + DAY - put_off_to(&pacer);
    assert!(early < DAY / 65_536, "{early}");
}

#[test]
fn invalid_rates_in_hertz_are_refused() {
    for (hz, error) in [
        (f64::NAN, RateError::NotFinite),
        (f64::INFINITY, RateError::NotFinite),
        (f64::NEG_INFINITY, RateError::NotFinite),
        (-1.0, RateError::Negative),
        (-f64::MIN_POSITIVE, RateError::Negative),
        (0.0, RateError::Zero),
        (-0.0, RateError::Zero),
        (f64::MIN_POSITIVE, RateError::TooSlow),
        (1e-5, RateError::TooSlow),
        (1.000_001e10, RateError::TooFast),
        (f64::MAX, RateError::TooFast),
    ] {
        assert_eq!(Rate::from_hz(hz), Err(error), "{hz}");
    }
}

#[test]
fn rates_convert_to_hertz_and_to_intervals() {
    for (text, shown, hz, interval_ns) in [
        ("50k/s", "50000/s", 5e4, 2e4),
        ("3/s", "3/s", 3.0, 1e9 / 3.0),
        ("0.1/s", "6/min", 0.1, 1e10),
        ("90/h", "90/h", 0.025, 4e10),
    ] {
        let rate = rate(text);
        assert_eq!(
            (rate.to_string().as_str(), rate.as_hz(), rate.interval_ns()),
            (shown, hz, interval_ns)
        );
    }
}

#[test]
fn a_rate_that_is_whole_per_no_unit_is_shown_per_second_or_where_that_is_slow_per_day() {
    for (hz, unit) in [(1e-4 / 3.0, "/d"), (0.099, "/d"), (0.101, "/s"), (100.0 / 3.0, "/s")] {
        let shown = Rate::from_hz(hz).expect("a rate").to_string();
        assert!(shown.ends_with(unit), "{shown}");
        let number: f64 = shown[..shown.len() - 2].parse().expect("a number");
        let per_second = if unit == "/d" { number / 86_400.0 } else { number };
        assert!((per_second / hz - 1.0).abs() < 1e-14, "{shown} for {hz}");
    }
}

#[test]
fn every_unit_has_its_length() {
    for (units, period_ns) in [
        (&["ns"][..], 1),
        (&["us", "µs"], MICRO),
        (&["ms"], MILLI),
        (&["s", "sec", "second"], SECOND),
        (&["m", "min", "minute"], 60 * SECOND),
        (&["h", "hour"], HOUR),
        (&["d", "day"], DAY),
    ] {
        for unit in units {
            assert_eq!(format!("3/{unit}").parse(), Rate::per(3, span(period_ns)), "{unit}");
        }
    }
}

#[test]
fn eighteen_digits_are_read_exactly_and_more_are_refused() {
    // Both rates have 10^17 + 1 operations, the first in 10^9 seconds and the second in 10^18 seconds.
    for (text, seconds) in
        [("100000000.000000001/s", SECOND), ("0.100000000000000001/s", SECOND * SECOND)]
    {
        assert_eq!(
            text.parse(),
            Rate::per(100_000_000_000_000_001, Duration::from_secs(seconds)),
            "{text}"
        );
    }
    for text in ["0.0100000000000000001/s", "0.00100000000000000001/s", "1000000000.000000001/s"] {
        assert_eq!(text.parse::<Rate>(), Err(RateError::TooManyDigits), "{text}");
    }
}

#[test]
fn a_lane_starts_its_slots_where_the_schedule_has_them() {
    for text in ["3/s", "333.3/s", "7k/s", "16k/s", "70k/s", "1.1M/s", "300M/s", "400M/s", "7G/s"] {
        let clock = ManualClock::new();
        let pacers = [(); 2].map(|()| build(text, &clock).build());
        // The pacer is late enough for runs of more than a hundred slots.
        clock.advance(Duration::from_secs_f64(10_000.0 / rate(text).as_hz()));
        let mut lane = pacers[0].lane();
        for _ in 0..10_000 {
            let grant = lane.acquire().expect("due");
            assert_eq!(
                intended_ns(grant),
                intended_ns(pacers[1].acquire().expect("due")),
                "{text}"
            );
        }
    }
}
