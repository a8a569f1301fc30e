//! Tests the intended starts of slots that are held while the schedule changes, or while other slots forfeit time.

use crate::common::{
    MICRO, MILLI, SECOND, assert_balanced, at, build, drain, intended_ns, paced, put_off_to, rate,
    span, strictness, wait_ns,
};
use nanopace::{Arrivals, Claim, Grant, ManualClock, Pacer};
use std::collections::VecDeque;
use std::time::Duration;

#[test]
fn a_slot_that_is_held_keeps_its_intended_start_over_many_changes() {
    let ways: [fn(&Pacer) -> Claim<'_>; 2] = [
        |pacer| pacer.claim().expect("open"),
        |pacer| {
            let mut claim = pacer.claim().expect("open");
            assert!(claim.start().is_err(), "it is ahead");
            claim
        },
    ];
    for (changes, way) in [1_u64, 10, 35, 60, 300, 3_000]
        .into_iter()
        .flat_map(|changes| ways.map(|way| (changes, way)))
    {
        let (clock, pacer) = paced("1/s");
        clock.set(at(SECOND));
        assert_eq!(drain(&pacer).len(), 2);
        pacer.set_rate(rate("10/s"));
        clock.set(at(2 * SECOND));
        assert_eq!(drain(&pacer).len(), 10);
        let mut held = way(&pacer);
        for second in 0..changes {
            clock.set(at(5 * SECOND + second * SECOND));
            pacer.set_rate(rate(["10/s", "1/h", "400/s", "3/s"][(second * 7 % 4) as usize]));
            while pacer.try_acquire().is_ok() {}
        }
        let grant = held.start().expect("due");
        assert_eq!(intended_ns(grant), 2_100 * MILLI, "{changes} changes");
    }
}

#[test]
fn a_slot_that_is_held_keeps_its_intended_start_while_others_forfeit() {
    for number in [0.3, 1.0] {
        for starts in [3, 30, 100, 1_000] {
            let clock = ManualClock::new();
            let pacer = build("1/s", &clock).strictness(strictness(number)).build();
            pacer.try_acquire().expect("due at once");
            let mut held = pacer.claim().expect("slot 1");
            clock.set(at(3 * SECOND / 2));
            pacer.set_rate(rate("100k/s"));
            for step in 0..starts {
                clock.advance(span(11 * MICRO + step * 7_919 % 30 * MICRO));
                pacer.try_acquire().expect("late");
            }
            let now = pacer.now().as_nanos();
            assert_eq!(
                held.start().map(|grant| (intended_ns(grant), wait_ns(grant))),
                Ok((SECOND, now - SECOND))
            );
            assert_balanced(&pacer);
        }
    }
}

fn late_ns(index: u64) -> u64 {
    100 * MICRO + index * 7_919 % 1_900 * MICRO
}

#[test]
fn strict_keeps_an_interval_between_slots_that_are_held_for_a_while() {
    for held_over in [0, 1, 2, 50, 300] {
        let clock = ManualClock::new();
        let pacer = build("1000/s", &clock).strictness(strictness(1.0)).build();
        let (mut held, mut starts) = (VecDeque::new(), Vec::new());
        for index in 0..400 {
            held.push_back(pacer.claim().expect("open"));
            let mut claim = pacer.claim().expect("open");
            clock.set(claim.due().expect("open") + span(late_ns(index)));
            starts.push(intended_ns(claim.start().expect("due")));
            while held.len() > held_over {
                let first = held.pop_front().expect("some").start();
                starts.push(intended_ns(first.expect("due")));
            }
        }
        starts.sort_unstable();
        assert!(
            starts.windows(2).all(|pair| pair[1] - pair[0] >= MILLI - 2),
            "held over {held_over}"
        );
    }
}

#[test]
fn slots_that_are_held_are_exact_over_hundreds_of_changes() {
    let (clock, pacer) = paced("1000/s");
    let mut held = VecDeque::new();
    for index in 0..700_u64 {
        let claim = pacer.claim().expect("open");
        let due = claim.due().expect("open");
        held.push_back((claim, due));
        clock.set(due + span(late_ns(index) / 3));
        pacer.set_rate(rate(["700/s", "1300/s", "200/s", "5000/s"][(index % 4) as usize]));
        if held.len() > 300 {
            let (mut claim, due) = held.pop_front().expect("some");
            assert_eq!(claim.start().map(Grant::intended_start), Ok(due), "after {index} changes");
        }
    }
}

fn change_often(pacer: &Pacer, clock: &ManualClock) {
    for round in 0..200 {
        clock.advance(span(MILLI));
        pacer.set_rate(rate(["900k/s", "1100k/s"][round % 2]));
        drain(pacer);
    }
}

#[test]
fn the_rest_of_a_run_keeps_its_intended_starts_over_many_changes() {
    for is_strict in [false, true] {
        let (clock, pacer) = paced("1M/s");
        pacer.acquire().expect("slot 0");
        pacer.set_rate(rate("500k/s"));
        clock.advance(span(100 * MICRO));
        let mut lane = pacer.lane();
        // The clock does not advance, so the runs double in length and have 1, 2, 4 and 8 slots.
        let starts: Vec<u64> = (0..8).map(|_| intended_ns(lane.acquire().expect("due"))).collect();
        assert_eq!(starts, (1..9).map(|slot| slot * 2 * MICRO).collect::<Vec<_>>());
        if is_strict {
            pacer.set_strictness(strictness(1.0));
        }
        change_often(&pacer, &clock);
        let now = pacer.now().as_nanos();
        for start in (9..16).map(|slot| slot * 2 * MICRO) {
            let grant = lane.acquire().expect("due");
            assert_eq!((intended_ns(grant), wait_ns(grant)), (start, now - start));
        }
    }
}

#[test]
fn a_row_that_comes_back_after_many_changes_keeps_its_lateness() {
    let (clock, pacer) = paced("1M/s");
    pacer.acquire().expect("slot 0");
    pacer.set_rate(rate("500k/s"));
    let row = pacer.claim_many(2_000).expect("open");
    clock.advance(span(MILLI));
    pacer.set_rate(rate("1500k/s"));
    change_often(&pacer, &clock);
    drop(row);
    let mut starts = (0..500).map(|_| intended_ns(pacer.acquire().expect("due")));
    assert!(starts.by_ref().take(100).eq((1..101).map(|slot| slot * 2 * MICRO)));
    // The remaining slots were given back, and stay free over another 200 changes.
    (0..200).for_each(|round| pacer.set_rate(rate(["900k/s", "1100k/s"][round % 2])));
    assert!(starts.eq((101..501).map(|slot| slot * 2 * MICRO)));
    assert_balanced(&pacer);
}

/// The pacer does not keep all ten thousand changes.
#[test]
fn a_backlog_over_ten_thousand_changes_never_reports_too_much_lateness_and_hardly_too_little() {
    let (clock, pacer) = paced("4/s");
    let mut truth = Vec::new();
    for half in 0..10_000 {
        let slots = [2, 10][usize::from(half % 2 == 1)];
        pacer.set_rate(rate(&format!("{}/s", 2 * slots)));
        truth.extend((0..slots).map(|slot| half * SECOND / 2 + slot * SECOND / 2 / slots));
        clock.advance(span(SECOND / 2 - u64::from(half == 9_999)));
    }
    let (now, grants) = (pacer.now().as_nanos(), drain(&pacer));
    assert_eq!(grants.len(), truth.len());
    for (grant, truth) in grants.into_iter().zip(truth) {
        let less = intended_ns(grant).checked_sub(truth).expect("never before the truth");
        assert!(less <= now / 256, "{less} ns of {} ns", now - truth);
    }
}

#[test]
fn a_recorded_arrival_that_is_held_keeps_its_moment() {
    let clock = ManualClock::jumping();
    let offsets = (0..).map(Duration::from_millis);
    let pacer = build("1/s", &clock).arrivals(Arrivals::replay(move || offsets.clone())).build();
    pacer.acquire().expect("the first");
    let mut held = pacer.claim().expect("the second");
    for _ in 0..100_000 {
        pacer.acquire().expect("endless");
    }
    assert_eq!(held.start().map(intended_ns), Ok(MILLI));
}

#[test]
fn a_recorded_arrival_that_is_held_for_too_long_counts_as_later() {
    let clock = ManualClock::new();
    let offsets = (0..).map(Duration::from_micros);
    let pacer = build("1/s", &clock).arrivals(Arrivals::replay(move || offsets.clone())).build();
    pacer.acquire().expect("the first");
    let mut held = pacer.claim().expect("the second");
    clock.set(at(2 * SECOND));
    for _ in 0..4 {
        pacer.try_acquire_many(1 << 19).expect("due");
    }
    let grant = held.start().expect("due");
    assert!(wait_ns(grant) < 2 * SECOND - MICRO && wait_ns(grant) >= SECOND / 2, "{grant:?}");
}

/// Slot 1 was due at 1 s, and starts at 101 s. Half of that lateness is forfeited. From 51 s on, the schedule
/// progresses by 0.001 and 0.002 of a slot in alternating seconds. No slot was due in any of these seconds.
#[test]
fn a_start_that_forfeits_moves_others_along_the_changes_since() {
    for is_claimed in [false, true] {
        let clock = ManualClock::new();
        let pacer = build("1/s", &clock).strictness(strictness(0.5)).build();
        pacer.try_acquire().expect("slot 0");
        let claim = is_claimed.then(|| pacer.claim().expect("slot 1"));
        for second in 0..100 {
            clock.advance(span(SECOND));
            pacer.set_rate(rate(["3.6/h", "7.2/h"][second % 2]));
        }
        clock.advance(span(SECOND));
        let grant = claim.map_or_else(|| pacer.try_acquire(), |mut claim| claim.start());
        assert_eq!(grant.map(wait_ns), Ok(100 * SECOND));
        // The progress by 101 s is 50 x 0.0015 of a slot, and the remaining 0.925 at 0.002 per second take 462.5 s.
        let next = put_off_to(&pacer);
        assert!(next.abs_diff(563_500 * MILLI) < SECOND, "{next}");
    }
}
