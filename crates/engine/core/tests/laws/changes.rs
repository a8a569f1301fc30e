//! Tests that no change of a running pacer loses a slot, hands out a slot twice, or makes a caller sleep forever.

use crate::common::{
    HOUR, MICRO, MILLI, SECOND, assert_balanced, at, build, drain, finish, intended_ns,
    intended_starts, paced, put_off_to, rate, sleepers, span, until, wait_ns,
};
use nanopace::{Ended, ManualClock, Pacer, Refused};
use std::thread;
use std::time::Duration;

fn ten_seconds_late() -> (ManualClock, Pacer) {
    let (clock, pacer) = paced("10/s");
    pacer.try_acquire().expect("due at once");
    clock.advance(span(10_100 * MILLI));
    (clock, pacer)
}

#[test]
fn an_operation_that_was_ten_seconds_late_still_is_after_a_rate_change() {
    for text in ["1/d", "1/s", "1000/s", "10G/s"] {
        let (_, pacer) = ten_seconds_late();
        let before = pacer.ledger();
        pacer.set_rate(rate(text));
        let after = pacer.ledger();
        assert_eq!(
            (before.backlog, after.backlog),
            (span(10 * SECOND), span(10 * SECOND)),
            "{text}"
        );
        assert_eq!(before.backlog_slots, after.backlog_slots, "{text}");
        // Slot k, for k from 1 to 101, was due at k x 100 ms before the change, and is still due at that time.
        for slot in 1..=101 {
            let grant = pacer.try_acquire().expect("due");
            let start = slot * 100 * MILLI;
            assert_eq!(
                (intended_ns(grant), wait_ns(grant)),
                (start, 10_100 * MILLI - start),
                "{text}"
            );
        }
        assert!(put_off_to(&pacer) > 10_100 * MILLI, "{text}");
        assert_balanced(&pacer);
    }
}

#[test]
fn sixty_four_sleepers_at_two_a_second_start_within_64_us_of_a_change_to_a_million() {
    let (clock, pacer) = paced("2/s");
    pacer.try_acquire().expect("due at once");
    let threads = sleepers(64, &pacer);
    pacer.set_rate(rate("1M/s"));
    clock.advance(span(64 * MICRO));
    let grants = finish("sleepers", threads, || ()).into_iter().map(|grant| grant.expect("open"));
    assert_eq!(intended_starts(grants), (1..=64).map(|slot| slot * MICRO).collect::<Vec<_>>());
}

#[test]
fn a_sleeper_at_one_an_hour_starts_within_a_millisecond_of_a_change_to_a_thousand() {
    let (clock, pacer) = paced("1/h");
    pacer.try_acquire().expect("due at once");
    let threads = sleepers(1, &pacer);
    clock.advance(span(HOUR / 3));
    pacer.set_rate(rate("1000/s"));
    clock.advance(span(MILLI));
    let grant = finish("sleeper", threads, || ())[0].expect("open");
    // Two thirds of the old interval were left. Two thirds of the new interval of 1 ms are 666 667 ns.
    assert_eq!(intended_ns(grant), HOUR / 3 + 666_667);
}

#[test]
fn a_sleeper_is_held_back_longer_when_the_rate_falls() {
    let (clock, pacer) = paced("1/s");
    pacer.try_acquire().expect("due at once");
    let threads = sleepers(1, &pacer);
    clock.advance(span(SECOND / 2));
    pacer.set_rate(rate("1/h"));
    clock.advance(span(HOUR));
    let grant = finish("sleeper", threads, || ())[0].expect("open");
    assert_eq!(intended_ns(grant), SECOND / 2 + HOUR / 2);
}

#[test]
fn ten_thousand_changes_between_two_rates_do_not_drift() {
    let (clock, pacer) = paced("1/s");
    for _ in 0..5_000 {
        for text in ["3/s", "1/s"] {
            pacer.set_rate(rate(text));
            clock.advance(span(500_003));
        }
    }
    // The rate is 3/s for 500 003 ns and 1/s for 500 003 ns, 5000 times in turn. These times have 5000 x 0.000 500 003
    // x (3 + 1) = 10.000 06 slots, so slots 0 to 10 are due.
    assert_eq!(drain(&pacer).len(), 11);
    // Slot 11 is 0.999 94 intervals of 1 s away. Each of the 10 000 changes may round by a nanosecond at 3/s.
    let left = put_off_to(&pacer) - pacer.now().as_nanos();
    assert!(left.abs_diff(999_940_000) <= 30_000, "{left}");
}

/// Each change moves later slots by at most a tick, which is 1/65 536 of their interval. At 1/s that is 15 us, although
/// the changes between the fast rates moved the slots by only a nanosecond or two.
#[test]
fn each_change_moves_later_slots_by_at_most_a_tick() {
    const CHANGES: u64 = 1_000;
    let (clock, mut per_second) = (ManualClock::new(), 10_007);
    let pacer = build("10007/s", &clock).build();
    let mut nano_slots = 0;
    for change in 1..=CHANGES {
        clock.advance(span(7_001));
        nano_slots += 7_001 * per_second;
        per_second = if change == CHANGES { 1 } else { 19_980 - per_second };
        pacer.set_rate(rate(&format!("{per_second}/s")));
    }
    drain(&pacer);
    let exact = pacer.now().as_nanos() + SECOND - nano_slots % SECOND;
    let error = put_off_to(&pacer).abs_diff(exact);
    assert!(error <= CHANGES * SECOND / 65_536 + 1, "{error}");
}

#[test]
fn nothing_starts_while_paused() {
    let (clock, pacer) = paced("10/s");
    pacer.try_acquire().expect("due at once");
    let early = sleepers(4, &pacer);
    pacer.pause();
    let late = sleepers(4, &pacer);
    clock.advance(span(HOUR));
    assert_eq!(pacer.try_acquire(), Err(Refused::Paused));
    assert_eq!(pacer.acquire_timeout(Duration::ZERO), Err(Refused::Paused));
    assert_eq!(pacer.acquire_deadline(at(5)), Err(Refused::Paused));
    pacer.set_rate(rate("20/s"));
    pacer.resume();
    clock.advance(span(SECOND));
    let threads = early.into_iter().chain(late).collect();
    let grants = finish("sleepers", threads, || ()).into_iter().map(|grant| grant.expect("open"));
    assert_eq!(intended_starts(grants), (1..=8).map(|k| HOUR + k * 50 * MILLI).collect::<Vec<_>>());
}

#[test]
fn closing_ends_all_calls() {
    for paused in [false, true] {
        let (_, pacer) = paced("1/h");
        pacer.try_acquire().expect("due at once");
        if paused {
            pacer.pause();
        }
        let mut threads = sleepers(4, &pacer);
        for _ in 0..2 {
            let deadline = pacer.clone();
            threads.push(thread::spawn(move || {
                match deadline.acquire_timeout(span(10 * 24 * HOUR)) {
                    Err(Refused::Closed) => Err(Ended::Closed),
                    other => panic!("{other:?}"),
                }
            }));
            let mut lane = pacer.lane();
            threads.push(thread::spawn(move || lane.acquire()));
            let many = pacer.clone();
            threads.push(thread::spawn(move || match many.acquire_many(3) {
                Err(Refused::Closed) => Err(Ended::Closed),
                other => panic!("{other:?}"),
            }));
        }
        pacer.close();
        assert!(finish("sleepers", threads, || ()).into_iter().all(|grant| grant.is_err()));
        assert_everything_says_closed(&pacer);
        assert_eq!(pacer.ledger().granted, 1, "a caller that got Closed has started nothing");
    }
}

fn assert_everything_says_closed(pacer: &Pacer) {
    assert!(pacer.is_closed());
    assert_eq!(pacer.acquire(), Err(Ended::Closed));
    assert_eq!(pacer.lane().acquire().map(intended_ns), Err(Ended::Closed));
    assert_eq!(pacer.claim().map(drop), Err(Ended::Closed));
    assert_eq!(pacer.acquire_many(0), Err(Refused::Closed));
    assert_eq!(pacer.acquire_many(5), Err(Refused::Closed));
    assert_eq!(pacer.try_acquire(), Err(Refused::Closed));
    assert_eq!(pacer.acquire_timeout(span(HOUR)), Err(Refused::Closed));
    pacer.resume();
    pacer.set_rate(rate("5/s"));
    pacer.close();
    assert_eq!(pacer.try_acquire(), Err(Refused::Closed));
}

#[test]
fn a_claim_outlives_changes_and_ends_with_the_close() {
    let (clock, pacer) = paced("10/s");
    pacer.try_acquire().expect("due at once");
    let mut claim = pacer.claim().expect("open");
    assert_eq!((claim.due(), claim.delay()), (Ok(at(100 * MILLI)), Ok(span(100 * MILLI))));
    assert_eq!(claim.start(), Err(Refused::NotUntil(at(100 * MILLI))));
    pacer.set_rate(rate("20/s"));
    assert_eq!(claim.due(), Ok(at(50 * MILLI)));
    pacer.pause();
    assert_eq!(claim.start(), Err(Refused::Paused));
    pacer.resume();
    clock.advance(span(60 * MILLI));
    let grant = claim.start().expect("due");
    assert_eq!((intended_ns(grant), wait_ns(grant)), (50 * MILLI, 10 * MILLI));
    let mut other = pacer.claim().expect("open");
    pacer.close();
    assert_eq!(other.start(), Err(Refused::Closed));
    assert_eq!(other.due(), Err(Ended::Closed));
    assert_eq!(claim.start(), Ok(grant));
}

#[test]
fn deadlines_and_timeouts_take_no_slot_that_cannot_start() {
    let clock = ManualClock::jumping();
    let pacer = build("10/s", &clock).build();
    pacer.try_acquire().expect("due at once");
    let not_until = Err(Refused::NotUntil(at(100 * MILLI)));
    assert_eq!(pacer.acquire_timeout(Duration::ZERO), not_until);
    assert_eq!(pacer.acquire_timeout(span(100 * MILLI - 1)), not_until);
    assert_eq!(pacer.acquire_deadline(at(100 * MILLI - 1)), not_until);
    assert_eq!(pacer.ledger().granted, 1);
    assert_eq!(pacer.now(), at(0));
    assert_eq!(pacer.acquire_timeout(span(100 * MILLI)).map(intended_ns), Ok(100 * MILLI));
    assert_eq!(pacer.acquire_deadline(at(200 * MILLI)).map(intended_ns), Ok(200 * MILLI));
    assert_eq!(pacer.acquire_timeout(Duration::MAX).map(intended_ns), Ok(300 * MILLI));
}

#[test]
fn a_deadline_caller_gives_up_when_a_change_puts_its_slot_beyond() {
    let (_, pacer) = paced("10/s");
    pacer.try_acquire().expect("due at once");
    let caller = pacer.clone();
    let thread = thread::spawn(move || caller.acquire_deadline(at(150 * MILLI)));
    until("claim", || pacer.ledger().granted == 2, || ());
    pacer.set_rate(rate("1/s"));
    // The clock does not advance, so only the change can wake the caller.
    assert_eq!(finish("caller", vec![thread], || ()), [Err(Refused::NotUntil(at(SECOND)))]);
    assert_eq!(pacer.ledger().granted, 1);
    assert_eq!(put_off_to(&pacer), SECOND);
}

#[test]
fn a_paused_deadline_caller_gives_up_at_its_deadline() {
    let clock = ManualClock::new();
    let pacer = build("10/s", &clock).start_paused().build();
    let caller = pacer.clone();
    let thread = thread::spawn(move || caller.acquire_timeout(span(SECOND)));
    let results = finish("caller", vec![thread], || clock.advance(span(MILLI)));
    assert_eq!(results, [Err(Refused::Paused)]);
    pacer.resume();
    assert_eq!(pacer.try_acquire().map(wait_ns), Ok(0));
}

fn seconds_at_changing_rates(pieces: u64) -> (Pacer, Vec<u64>) {
    let (clock, pacer) = paced("10/s");
    let mut starts = Vec::new();
    for second in 0..pieces {
        let per_second = [10, 100][usize::from(second % 2 == 1)];
        if second > 0 {
            pacer.set_rate(rate(&format!("{per_second}/s")));
        }
        starts.extend((0..per_second).map(|k| second * SECOND + k * (SECOND / per_second)));
        clock.advance(span(SECOND - u64::from(second + 1 == pieces)));
    }
    (pacer, starts)
}

#[test]
fn a_backlog_keeps_every_intended_start_over_a_thousand_changes() {
    for pieces in [32, 40, 100, 1_000] {
        let (pacer, starts) = seconds_at_changing_rates(pieces);
        assert_eq!(
            drain(&pacer).into_iter().map(intended_ns).collect::<Vec<_>>(),
            starts,
            "{pieces} pieces"
        );
    }
}

/// At 10 G/s, ten slots start in each nanosecond.
#[test]
fn slots_that_were_due_at_a_rate_change_are_skipped_at_once_if_they_are_later_than_the_limit() {
    for (nanos_later, granted) in [(500, 5_010), (1_000, 10)] {
        let clock = ManualClock::new();
        let pacer = build("10G/s", &clock).skip_later_than(span(MICRO)).build();
        clock.set(at(1_000 * SECOND));
        pacer.set_rate(rate("1/s"));
        clock.advance(span(nanos_later));
        let grants = drain(&pacer);
        assert!(grants.iter().all(|&grant| wait_ns(grant) <= MICRO));
        assert_eq!(
            (grants.len(), pacer.ledger().skipped),
            (granted, 10_000 * SECOND + 1 - granted as u64)
        );
    }
}

#[test]
fn a_start_on_first_use_comes_with_a_claim_and_not_after_a_pause() {
    let clock = ManualClock::new();
    let start = || build("10/s", &clock).start_on_first_use().build();
    let (claimed, paused) = (start(), start());
    clock.advance(span(HOUR));
    let first = claimed.claim().expect("open");
    assert_eq!(first.due(), Ok(at(HOUR)));

    paused.pause();
    assert_eq!(paused.try_acquire(), Err(Refused::Paused));
    assert!(paused.is_paused());
}

/// The tag of a horizon has 16 bits, so the same tag occurs again after 65 536 states.
#[test]
fn after_seventy_thousand_changes_nothing_starts_early() {
    let (clock, pacer) = paced("1/s");
    (0..70_000).for_each(|_| pacer.set_rate(rate("1/s")));
    for slot in 0..3 {
        assert_eq!(intended_starts(drain(&pacer)), [slot * SECOND]);
        assert_eq!(put_off_to(&pacer), (slot + 1) * SECOND);
        clock.advance(span(SECOND));
    }
}
