//! What happens to missed time, in virtual time: strictness, the ledger, and no bursts but those
//! that were chosen.

use crate::common::{
    MICRO, MILLI, RoughClock, SECOND, WEEK, actual_ns, assert_balanced, at, build, drain,
    intended_ns, put_off_to, rate, span, strictness, wait_ns,
};
use nanopace::{ManualClock, Pacer, Refused, Strictness};
use std::sync::Arc;
use std::time::Duration;

/// 100/s with slot 0 taken at 0 s and no caller until 10.01 s, so that slot 1 is 10 s late.
fn stalled(number: f64) -> (ManualClock, Pacer) {
    let clock = ManualClock::new();
    let pacer = build("100/s", &clock).strictness(strictness(number)).build();
    pacer.try_acquire().expect("due at once");
    clock.advance(span(10_010 * MILLI));
    (clock, pacer)
}

#[test]
fn average_starts_everything_missed_at_once_and_says_how_late_it_is() {
    let (_, pacer) = stalled(0.0);
    // Slots 1 to 1001, intended at k x 10 ms, 10.01 s being slot 1001's.
    let grants = drain(&pacer);
    assert_eq!(grants.len(), 1001);
    for (grant, slot) in grants.into_iter().zip(1..) {
        assert_eq!(
            (intended_ns(grant), wait_ns(grant)),
            (slot * 10 * MILLI, (1001 - slot) * 10 * MILLI)
        );
    }
    assert_eq!(put_off_to(&pacer), 10_020 * MILLI);
    assert_eq!(pacer.ledger().idle, Duration::ZERO);
}

#[test]
fn strict_never_makes_up_for_missed_time() {
    let (_, pacer) = stalled(1.0);
    assert_eq!(drain(&pacer).len(), 1);
    // Slot 1 starts at 10.01 s, so slot 2 does 10 ms later; the 10 s are idle.
    assert_eq!(put_off_to(&pacer), 10_020 * MILLI);
    assert_eq!(pacer.ledger().idle, span(10 * SECOND));
    assert_balanced(&pacer);
}

#[test]
fn strict_gaps_are_never_below_the_interval() {
    let clock = ManualClock::new();
    let pacer = build("3/s", &clock).strictness(Strictness::STRICT).build();
    let mut last = None;
    for step in 0..5_000_u64 {
        // Steps from 0 to 0.6 s in no order: some below the interval of 333 333 333.3 ns, some
        // above.
        clock.advance(span(step * 7_919 % 601 * MILLI));
        for grant in drain(&pacer) {
            // Rounding up to whole nanoseconds may take one from a gap.
            assert!(last.is_none_or(|last| actual_ns(grant) - last >= 333_333_333), "{grant:?}");
            last = Some(actual_ns(grant));
        }
        assert_balanced(&pacer);
    }
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

#[test]
fn partial_strictness_closes_its_fraction_of_each_gap() {
    let (_, pacer) = stalled(0.5);
    let now = 10_010 * MILLI;
    let (mut gap, mut idle) = (10 * SECOND, 0);
    while gap > 0 {
        let grant = pacer.try_acquire().expect("late");
        // It says how late it is, and closes half of that, rounded down to the nanosecond; the next
        // slot is one interval on.
        let closed = gap / 2;
        assert_eq!((intended_ns(grant), wait_ns(grant)), (now - gap, gap));
        idle += closed;
        gap = (gap - closed).saturating_sub(10 * MILLI);
        assert_eq!(pacer.ledger().idle, span(idle));
        assert_balanced(&pacer);
    }
}

#[test]
fn partial_strictness_closes_its_fraction_at_high_rates_too() {
    let clock = ManualClock::new();
    let pacer = build("1M/s", &clock).strictness(strictness(0.25)).build();
    pacer.try_acquire().expect("due at once");
    clock.advance(span(SECOND));
    let (mut gap, mut late_claims) = (SECOND - 1_000, 0);
    while gap >= 1_000 {
        gap = gap - gap / 4 - 1_000;
        late_claims += 1;
    }
    let started = drain(&pacer).len();
    assert!(
        started.abs_diff(late_claims) <= 2,
        "{started} started, the recurrence says {late_claims}"
    );
}

/// Acquires on a jumping clock after a stall of 10 s at 100/s, until on schedule. Returns how many
/// starts that took.
fn catch_up(ratio: f64, interval_ns: u64) -> u64 {
    let clock = ManualClock::jumping();
    let pacer = build("100/s", &clock).strictness(strictness(ratio)).build();
    pacer.acquire().expect("open");
    clock.advance(span(10_010 * MILLI));
    let mut last = None;
    for slot in 1.. {
        let grant = pacer.acquire().expect("open");
        assert_balanced(&pacer);
        // Intended starts stay on the average schedule: wait time includes what is owed.
        assert_eq!(intended_ns(grant), slot * 10 * MILLI);
        assert_eq!(actual_ns(grant), pacer.now().as_nanos());
        let gap = last.map_or(interval_ns, |last| actual_ns(grant) - last);
        if wait_ns(grant) == 0 {
            return slot;
        }
        // At exactly the ratio, to the nanosecond that rounding up moves a start by.
        assert!(gap.abs_diff(interval_ns) <= 1, "slot {slot}: a gap of {gap}, not {interval_ns}");
        last = Some(actual_ns(grant));
    }
    unreachable!("slots go on for ever")
}

#[test]
fn burst_pays_back_at_its_ratio_exactly_what_is_owed() {
    // 10 s are owed, and each start at ratio r pays back 10 ms x (1 - 1/r): r = 2 pays in 2000
    // starts, 1.5 in 3000, 1.1 in 11 000; the first of them is slot 1. 10 ms / 1.1 = 9 090 909.09
    // ns, 10 ms / 1.5 = 6 666 666.67 ns.
    for (ratio, interval_ns, starts) in
        [(2.0, 5 * MILLI, 2_001), (1.5, 6_666_667, 3_001), (1.1, 9_090_909, 11_001)]
    {
        let taken = catch_up(ratio, interval_ns);
        // The ratio in binary is a trace off, so the last start may fall one behind.
        assert!(taken.abs_diff(starts) <= 1, "ratio {ratio}: {taken} starts");
    }
}

#[test]
fn burst_runs_at_the_rate_again_once_it_has_caught_up() {
    let clock = ManualClock::jumping();
    let pacer = build("100/s", &clock).strictness(strictness(2.0)).build();
    pacer.acquire().expect("open");
    clock.advance(span(110 * MILLI)); // 100 ms owed: 20 starts at 5 ms
    for _ in 0..30 {
        pacer.acquire().expect("open");
    }
    for slot in 31..100 {
        let grant = pacer.acquire().expect("open");
        assert_eq!((actual_ns(grant), wait_ns(grant)), (slot * 10 * MILLI, 0));
        assert_eq!(pacer.ledger().waiting, Duration::ZERO);
    }
}

#[test]
fn burst_owes_what_it_may_not_start_yet() {
    let (_, pacer) = stalled(1.1);
    assert_eq!(drain(&pacer).len(), 1);
    // 10 s late at slot 1; slot 2 is intended at 0.02 s and may start 10 ms / 1.1 after slot 1, at
    // 10.01909091 s.
    assert!(put_off_to(&pacer).abs_diff(10_019_090_909) <= 1);
    let ledger = pacer.ledger();
    assert_eq!(
        (ledger.waiting, ledger.backlog, ledger.idle),
        (span(9_990 * MILLI), span(0), span(0))
    );
    assert_eq!(ledger.allocated, span(20 * MILLI));
}

#[test]
fn a_claim_is_due_when_it_may_start_and_not_when_it_was_intended() {
    let (clock, pacer) = stalled(2.0);
    drain(&pacer);
    // Slot 1 has started at 10.01 s; slots 2 and 3 may start 5 and 10 ms later, intended at 20 and
    // 30 ms.
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
fn a_second_stall_while_catching_up_allows_no_burst() {
    let (clock, pacer) = stalled(2.0);
    drain(&pacer);
    clock.advance(span(3 * SECOND));
    assert_eq!(drain(&pacer).len(), 1);
    assert_eq!(put_off_to(&pacer), 13_015 * MILLI);
}

#[test]
fn lateness_within_the_tolerance_is_caught_up_freely_unless_strict() {
    // 1000/s, slot 1 comes 0.3 ms late: within the tolerance of 0.5 ms only strict moves slot 2.
    for (number, second_ns) in
        [(0.0, 2_000_000), (0.5, 2_000_000), (1.1, 2_000_000), (1.0, 2_300_000)]
    {
        let clock = ManualClock::new();
        let builder = build("1000/s", &clock).strictness(strictness(number));
        let pacer = builder.tolerance(span(MILLI / 2)).build();
        drain(&pacer);
        clock.advance(span(1_300_000));
        assert_eq!(drain(&pacer).len(), 1);
        assert_eq!(put_off_to(&pacer), second_ns, "strictness {number}");
    }
}

#[test]
fn while_time_is_owed_the_tolerance_counts_from_when_a_slot_may_start() {
    // Slot 1 starts 10 s late, so slot 2 may start at 10.015 s, and slot 3 at 10.020 s, or 5 ms after slot 2.
    for (late_ns, third_ns) in [(MILLI, 10_020 * MILLI), (MILLI + 1, 10_021 * MILLI + 1)] {
        let clock = ManualClock::new();
        let builder = build("100/s", &clock).strictness(strictness(2.0)).tolerance(span(MILLI));
        let pacer = builder.build();
        drain(&pacer);
        clock.advance(span(10_010 * MILLI));
        assert_eq!(drain(&pacer).len(), 1);
        clock.advance(span(5 * MILLI + late_ns));
        assert_eq!(drain(&pacer).len(), 1);
        assert_eq!(put_off_to(&pacer), third_ns);
    }
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
fn only_the_slot_that_finds_out_is_later_than_the_maximum_backlog() {
    for number in [0.0, 0.001, 1.1, 1000.0] {
        let clock = ManualClock::new();
        let builder = build("100/s", &clock).strictness(strictness(number));
        let pacer = builder.max_backlog(span(SECOND)).build();
        for stall in [0, 10, 1, 5, 3_600] {
            clock.advance(span(stall * SECOND));
            for grant in drain(&pacer).into_iter().skip(1) {
                assert!(wait_ns(grant) <= SECOND, "strictness {number}: {grant:?}");
            }
            assert_balanced(&pacer);
        }
    }
}

#[test]
fn beyond_the_maximum_backlog_time_is_idle() {
    let clock = ManualClock::new();
    let pacer = build("100/s", &clock).max_backlog(span(SECOND)).build();
    drain(&pacer);
    clock.advance(span(10_010 * MILLI));
    // Slot 1 is 10 s late: 9 s are given away, and of the last second slots 1 to 101 are due.
    assert_eq!(drain(&pacer).len(), 101);
    assert_eq!(pacer.ledger().idle, span(9 * SECOND));
}

#[test]
fn the_maximum_backlog_holds_also_when_the_caller_stalls_half_way() {
    let clock = ManualClock::new();
    let pacer = build("1000/s", &clock).max_backlog(span(SECOND)).build();
    clock.advance(span(10 * SECOND));
    pacer.acquire().expect("open");
    clock.advance(span(10 * SECOND));
    // The next one finds out and says so: slot 1 was moved to 9.001 s. Those behind it are intended
    // at 19 s or later.
    let grant = pacer.acquire().expect("open");
    assert_eq!((intended_ns(grant), wait_ns(grant)), (9_001 * MILLI, 10_999 * MILLI));
    let grant = pacer.acquire().expect("open");
    assert!(intended_ns(grant) >= 19 * SECOND, "{grant:?} at 20 s");
}

#[test]
fn slots_later_than_the_limit_are_skipped_and_counted() {
    let clock = ManualClock::new();
    let pacer = build("100/s", &clock).skip_later_than(span(50 * MILLI)).build();
    drain(&pacer);
    clock.advance(span(10_010 * MILLI));
    // At 10.01 s what is intended before 9.96 s is skipped: slots 1 to 995. Slots 996 to 1001
    // start.
    let grants = drain(&pacer);
    assert_eq!(grants.len(), 6);
    assert_eq!(intended_ns(grants[0]), 9_960 * MILLI);
    let ledger = pacer.ledger();
    assert_eq!((ledger.granted, ledger.skipped), (7, 995));
    assert_balanced(&pacer);
    assert_eq!(put_off_to(&pacer), 10_020 * MILLI);
}

#[test]
fn skipped_and_granted_slots_are_all_the_slots_there_were() {
    for number in [0.0, 2.0] {
        let clock = ManualClock::new();
        let builder = build("1000/s", &clock).strictness(strictness(number));
        let pacer = builder.skip_later_than(span(20 * MILLI)).build();
        for step in 0..2_000_u64 {
            clock.advance(span(step * 7_919 % 97 * MILLI));
            for grant in drain(&pacer) {
                assert!(wait_ns(grant) <= 20 * MILLI, "{grant:?}");
            }
            let ledger = pacer.ledger();
            // The next slot's number is the count of those before it; its intended start is that
            // many milliseconds.
            let next = put_off_to(&pacer).max(pacer.now().as_nanos()) / MILLI;
            assert!(ledger.granted + ledger.skipped <= next + 1, "{ledger:?}, next {next}");
            assert_balanced(&pacer);
        }
        let ledger = pacer.ledger();
        // allocated + what is still owed is all of the schedule, in whole slots of 1 ms.
        assert_eq!(
            ledger.allocated.as_millis() / 1_000,
            u128::from((ledger.granted + ledger.skipped) / 1_000)
        );
    }
}

#[test]
fn strictness_changed_at_run_time_judges_what_is_late_then() {
    let (_, pacer) = stalled(0.0);
    pacer.set_strictness(strictness(2.0));
    assert_eq!(drain(&pacer).len(), 1);
    assert_eq!(put_off_to(&pacer), 10_015 * MILLI);
    // What is owed becomes backlog; strict forfeits it: slot 2 was intended at 20 ms, starts now,
    // and slot 3 in 10 ms.
    pacer.set_strictness(Strictness::STRICT);
    assert_eq!(drain(&pacer).len(), 1);
    assert_eq!(put_off_to(&pacer), 10_020 * MILLI);
    assert_eq!(pacer.ledger().idle, span(9_990 * MILLI));
    assert_balanced(&pacer);
}

#[test]
fn owed_time_starts_at_once_when_strictness_becomes_average() {
    let (_, pacer) = stalled(1.1);
    drain(&pacer);
    pacer.set_strictness(Strictness::AVERAGE);
    // Slot 1 went before; slots 2 to 1001 are due.
    assert_eq!(drain(&pacer).len(), 1_000);
}

#[test]
fn a_late_claim_that_goes_back_has_forfeited_its_gap_once() {
    for number in [0.5, 1.0, 1.1] {
        let (clock, pacer) = stalled(number);
        let idle = pacer.claim().map(|_| pacer.ledger().idle).expect("open");
        assert_balanced(&pacer);
        // It is handed out again, and what it forfeited stays forfeited; as a part of others given
        // back as well.
        let claims: Vec<_> = (0..3).map(|_| pacer.claim().expect("open")).collect();
        assert_balanced(&pacer);
        assert!(pacer.ledger().idle >= idle);
        for claim in claims {
            drop(claim);
            assert_balanced(&pacer);
        }
        clock.advance(span(SECOND));
        assert_balanced(&pacer);
        assert_eq!(pacer.ledger().granted, 1);
    }
}

#[test]
fn the_ledger_balances_when_a_slot_comes_back_after_many_have_forfeited() {
    let clock = ManualClock::new();
    let pacer = build("1000/s", &clock).strictness(strictness(0.1)).build();
    clock.advance(span(252_110_845));
    let claim = pacer.claim().expect("open");
    assert_eq!((0..31).filter(|_| pacer.try_acquire().is_ok()).count(), 31);
    assert_balanced(&pacer);
    drop(claim);
    assert_balanced(&pacer);
}

#[test]
fn allocated_time_is_slots_times_the_interval() {
    for number in [0.0, 0.5, 1.0, 1.1, 2.0] {
        let clock = ManualClock::new();
        let pacer = build("8k/s", &clock).strictness(strictness(number)).build();
        let mut slots = 0_u64;
        for step in 0..3_000_u64 {
            clock.advance(span(step * 7_919 % 1_009 * 1_000));
            for _ in 0..(step % 7) {
                slots += u64::from(pacer.try_acquire().is_ok());
            }
            let ledger = pacer.ledger();
            // 8 k/s is 125 us a slot; what has been allocated counts as far as the schedule has
            // come.
            let due = span(slots * 125_000).min(ledger.elapsed.saturating_sub(ledger.idle));
            assert_eq!(ledger.allocated, due, "strictness {number}, step {step}: {ledger:?}");
            assert_eq!(ledger.granted, slots);
            assert_eq!(ledger.elapsed, pacer.now() - at(0));
            assert_balanced(&pacer);
        }
    }
}

#[test]
fn partial_strictness_sees_every_claim_that_is_later_than_the_tolerance() {
    // 1 M/s and a stall of 1 s: claims close a quarter of their gap while it is more than 50 us;
    // what is left is made up for.
    let clock = ManualClock::new();
    let pacer = build("1M/s", &clock).tolerance(span(50 * MICRO)).build();
    pacer.try_acquire().expect("due at once");
    clock.advance(span(SECOND));
    pacer.set_strictness(strictness(0.25));
    let (mut gap, mut claims) = (SECOND - MICRO, 0);
    while gap > 50 * MICRO {
        gap = gap - gap / 4 - MICRO;
        claims += 1;
    }
    claims += gap / MICRO + 1;
    let started = drain(&pacer).len() as u64;
    assert!(started.abs_diff(claims) <= 2, "{started} started, the recurrence says {claims}");
    assert_balanced(&pacer);
}

#[test]
fn nothing_beyond_the_schedule_is_overdue_when_all_is_paid_back() {
    let (clock, pacer) = stalled(2.0);
    drain(&pacer);
    // 100 s later the line that pays back has come to slot 20 001, the schedule to slot 11 001;
    // slots 0 and 1 have started.
    clock.advance(span(100 * SECOND));
    assert_eq!(pacer.ledger().backlog_slots, 11_000);
    assert_balanced(&pacer);
    assert_eq!(drain(&pacer).len(), 1);
}

#[test]
fn the_tolerance_itself_is_within_the_tolerance() {
    for number in [0.5, 1.1] {
        // 1000/s, slot 1 half a millisecond late, to the nanosecond; after a change of rate, so
        // that the schedule has two pieces.
        let clock = ManualClock::new();
        let builder = build("1000/s", &clock).strictness(strictness(number));
        let pacer = builder.tolerance(span(MILLI / 2)).build();
        drain(&pacer);
        clock.advance(span(MILLI));
        pacer.set_rate(rate("1000/s"));
        clock.advance(span(MILLI / 2));
        assert_eq!(drain(&pacer).len(), 1);
        assert_eq!(put_off_to(&pacer), 2 * MILLI, "strictness {number}");
        assert_eq!(pacer.ledger().idle, Duration::ZERO);
    }
}

/// Slots that a lane starts at one moment: the first is 10 us late, the last is on time.
#[test]
fn a_lane_tells_how_late_each_start_of_a_run_is() {
    let clock = ManualClock::new();
    let pacer = build("100M/s", &clock).build();
    let mut lane = pacer.lane();
    clock.set(at(10_000));
    for slot in 0..=1_000 {
        assert_eq!(lane.acquire().map(wait_ns), Ok(10_000 - 10 * slot));
    }
    assert_eq!(pacer.ledger().granted, 1_001);
}

/// Each sleep ends 100 us late, and the next one is for what is left of the interval.
#[test]
fn a_lane_tells_how_far_its_caller_overslept() {
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

#[test]
fn a_lane_skips_what_is_too_late_in_a_run_that_was_claimed_before() {
    let clock = ManualClock::jumping();
    let pacer = build("1000/s", &clock).build();
    clock.advance(span(SECOND));
    // So late that the lane takes blocks of 15.
    let mut lane = pacer.lane();
    (0..15).for_each(|_| assert!(lane.acquire().is_ok()));
    let others: Vec<_> = (0..977).map(|_| pacer.claim().unwrap()).collect();
    pacer.set_skip_later_than(Some(span(5 * MILLI)));
    let intended = [(); 3].map(|()| lane.acquire().unwrap().intended_start());
    // At 1 s; slots 992 to 994 were more than 5 ms late.
    assert_eq!(intended, [995, 996, 997].map(|millis| at(millis * MILLI)));
    assert_eq!((pacer.ledger().skipped, others.len()), (3, 977));
}
