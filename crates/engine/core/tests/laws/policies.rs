//! Tests the late policies in virtual time: strictness, the ledger, and bursts.

use crate::common::{
    MILLI, RoughClock, WEEK, actual_ns, assert_balanced, at, build, drain, intended_ns, rate, span,
    strictness, wait_ns,
};
use nanopace::{ManualClock, Pacer, Refused, Strictness};
use std::sync::Arc;

fn stalled(number: f64) -> (ManualClock, Pacer) {
    let clock = ManualClock::new();
    let pacer = build("100/s", &clock).strictness(strictness(number)).build();
    pacer.try_acquire().expect("due at once");
    clock.advance(span(10_010 * MILLI));
    (clock, pacer)
}

#[test]
fn strict_gaps_are_never_below_the_interval_although_sleeps_overrun() {
    let clock = Arc::new(RoughClock::default());
    let pacer =
        Pacer::builder(rate("1000/s")).strictness(Strictness::STRICT).clock(clock.clone()).build();
    let mut last = None;
    for oversleep in [0, MILLI / 2, 3 * MILLI / 2, 0, 5 * MILLI, WEEK, 0, 0] {
        clock.set_oversleep(oversleep);
        let grant = pacer.acquire().expect("open");
        assert!(
            last.is_none_or(|last| actual_ns(grant) - last >= MILLI),
            "{grant:?} after {last:?}"
        );
        last = Some(actual_ns(grant));
    }
}

fn catch_up(ratio: f64, interval_ns: u64) -> u64 {
    let clock = ManualClock::jumping();
    let pacer = build("100/s", &clock).strictness(strictness(ratio)).build();
    pacer.acquire().expect("open");
    clock.advance(span(10_010 * MILLI));
    let mut last = None;
    for slot in 1.. {
        let grant = pacer.acquire().expect("open");
        assert_balanced(&pacer);
        // Intended starts do not move, so the wait time includes the owed time.
        assert_eq!(intended_ns(grant), slot * 10 * MILLI);
        assert_eq!(actual_ns(grant), pacer.now().as_nanos());
        let gap = last.map_or(interval_ns, |last| actual_ns(grant) - last);
        if wait_ns(grant) == 0 {
            return slot;
        }
        // The gap is the interval divided by the ratio. Rounding up can move a start by a nanosecond.
        assert!(gap.abs_diff(interval_ns) <= 1, "slot {slot}: a gap of {gap}, not {interval_ns}");
        last = Some(actual_ns(grant));
    }
    unreachable!("slots go on for ever")
}

#[test]
fn burst_pays_back_at_its_ratio_exactly_what_is_owed() {
    // 10 s are owed, and each start at ratio r pays back 10 ms x (1 - 1/r). At r = 2, 2000 starts pay everything back,
    // at r = 1.5 it takes 3000 starts, and at r = 1.1 it takes 11 000. The first of these starts is slot 1. 10 ms / 1.1
    // = 9 090 909.09 ns, and 10 ms / 1.5 = 6 666 666.67 ns.
    for (ratio, interval_ns, starts) in
        [(2.0, 5 * MILLI, 2_001), (1.5, 6_666_667, 3_001), (1.1, 9_090_909, 11_001)]
    {
        let taken = catch_up(ratio, interval_ns);
        // The ratio in binary is slightly off, so the catch-up may end one slot earlier or later.
        assert!(taken.abs_diff(starts) <= 1, "ratio {ratio}: {taken} starts");
    }
}

#[test]
fn a_claim_is_due_when_it_may_start_and_not_when_it_was_intended() {
    let (clock, pacer) = stalled(2.0);
    drain(&pacer);
    // Slot 1 has started at 10.01 s. Slots 2 and 3, intended at 20 and 30 ms, may start 5 and 10 ms after slot 1.
    let claims = [(); 2].map(|()| pacer.claim().expect("open"));
    assert_eq!(
        claims.each_ref().map(nanopace::Claim::due),
        [10_015, 10_020].map(|ms| Ok(at(ms * MILLI)))
    );
    assert_eq!(claims[1].delay(), Ok(span(10 * MILLI)));
    clock.advance(span(5 * MILLI));
    let grants = claims.map(|mut claim| claim.start());
    assert_eq!(
        grants.map(|grant| grant.map(intended_ns)),
        [Ok(20 * MILLI), Err(Refused::NotUntil(at(10_020 * MILLI)))]
    );
}

#[test]
fn oversleep_within_the_tolerance_costs_no_rate() {
    for number in [0.0, 0.5, 1.1] {
        let clock = Arc::new(RoughClock::default());
        clock.set_oversleep(60_000);
        let pacer = Pacer::builder(rate("10k/s"))
            .strictness(strictness(number))
            .clock(clock.clone())
            .build();
        for slot in 0..10_000 {
            let grant = pacer.acquire().expect("open");
            assert_eq!(intended_ns(grant), slot * 100_000, "strictness {number}");
        }
    }
}

#[test]
fn a_lane_reports_how_far_its_caller_overslept() {
    let clock = Arc::new(RoughClock::default());
    let pacer = Pacer::builder(rate("1000/s")).clock(clock.clone()).build();
    let mut lane = pacer.lane();
    clock.set_oversleep(100_000);
    for slot in 0..=100 {
        let grant = lane.acquire().expect("open");
        let late_ns = if slot == 0 { 0 } else { 100_000 };
        assert_eq!((intended_ns(grant), wait_ns(grant)), (slot * MILLI, late_ns));
    }
    assert_eq!(pacer.ledger().granted, 101);
}

/// A column of the diagram is a millisecond. A slot that starts at the same time as the slot before it stands in the
/// next column.
#[test]
fn the_diagram_of_strictness_shows_actual_starts() {
    const DESIGN: &str = include_str!("../../docs/design.md");
    let diagram = DESIGN.split("## Strictness").nth(1).expect("the section");
    let diagram = diagram.split("```").nth(1).expect("the diagram");
    let rows = diagram.lines().filter(|row| row.starts_with(|c: char| c.is_ascii_digit()));
    let mut shown = 0;
    for row in rows {
        let (number, starts) = (row[..5].trim(), &row[18..]);
        let clock = ManualClock::jumping();
        let pacer = build("1/6ms", &clock)
            .strictness(strictness(number.parse().expect("a number")))
            .build();
        let mut next_column = 0;
        for (column, slot) in starts.char_indices().filter(|(_, c)| c.is_ascii_digit()) {
            let started_ms = actual_ns(pacer.acquire().expect("open")) / MILLI;
            assert_eq!(started_ms.max(next_column), column as u64, "slot {slot} in {row:?}");
            next_column = column as u64 + 1;
            if slot == '2' {
                clock.advance(span(18 * MILLI));
            }
            shown += 1;
        }
    }
    assert_eq!(shown, 9 + 8 + 7 + 9);
}

#[test]
fn a_strictness_reads_and_shows_as_its_number() {
    for (text, number) in
        [("0", 0.0), ("-0", 0.0), (" 0.25 ", 0.25), ("1", 1.0), ("1.1", 1.1), ("1000", 1_000.0)]
    {
        let strictness: Strictness = text.parse().expect("a strictness");
        assert_eq!(strictness, self::strictness(number));
        assert!((strictness.get() - number).abs() < f64::EPSILON);
        assert_eq!(strictness.to_string(), number.to_string());
    }
    for text in ["", "strict", "-0.1", "1000.1", "nan", "inf"] {
        assert!(text.parse::<Strictness>().is_err(), "{text:?}");
    }
    let pacer = build("1/s", &ManualClock::new()).strictness(strictness(1.5)).build();
    assert_eq!(pacer.strictness(), strictness(1.5));
}
