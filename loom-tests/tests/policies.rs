//! Models of the late policies: what two callers who come late at once do to the schedule.

#![cfg(loom)]

use loom_tests::{SECOND, assert_balanced, at, drain, explore, manual, span, spawn};
use nanopace::{Claim, ManualClock, Pacer, PacerBuilder, Strictness};

/// Two threads claim at once, 10 s after the start of a schedule of one per second; the two claims, earlier first.
fn claim_late(builder: PacerBuilder, clock: &ManualClock) -> (Pacer, [Claim; 2]) {
    let pacer = builder.build();
    clock.advance(span(10 * SECOND));
    let other = spawn({
        let pacer = pacer.clone();
        move || pacer.claim().unwrap()
    });
    let mut claims = [pacer.claim().unwrap(), other.join().unwrap()];
    claims.sort_by_key(|claim| claim.due().unwrap());
    (pacer, claims)
}

/// When they may start, in whole milliseconds.
fn due_ms(claims: &[Claim; 2]) -> [u128; 2] {
    [0, 1].map(|index| (claims[index].due().unwrap() - at(0)).as_millis())
}

/// Two late callers under the strict policy forfeit the gap between them once, however their claims and the policy's
/// judgement of them come in turn.
///
/// Threads: two that claim, 10 s late.
/// Edit: `late` without the check of `anchored`.
#[test]
fn a_strict_gap_is_forfeited_once() {
    explore("a_strict_gap_is_forfeited_once", || {
        let (clock, builder) = manual("1/s");
        let (pacer, claims) = claim_late(builder.strictness(Strictness::STRICT), &clock);
        let idle = pacer.ledger().idle.as_secs();
        // Slot 0 gives 10 s away, and slot 1 follows a second after it; or slot 1 gives 9 s away, and slot 0, which was
        // claimed before, nothing. A late slot keeps its start: those behind it move.
        let expected = if idle == 10 { [0, 11_000] } else { [0, 1_000] };
        assert!(idle == 10 || idle == 9, "{idle} s forfeited");
        assert_eq!(due_ms(&claims), expected);
        assert_eq!(pacer.ledger().granted, 2);
        assert_balanced(&pacer);
        drop(claims);
    });
}

/// Under a partial strictness each late claim closes its part of the gap as the one before has left it.
///
/// Threads: two that claim, 10 s late, at strictness 0.5.
/// Edits: `late` without the check of `anchored`; `judge` judges under one lock and enters the result under another.
#[test]
fn a_partial_gap_is_closed_in_turn() {
    explore("a_partial_gap_is_closed_in_turn", || {
        let (clock, builder) = manual("1/s");
        let (pacer, claims) = claim_late(builder.strictness(Strictness::new(0.5).unwrap()), &clock);
        let idle_ms = pacer.ledger().idle.as_millis();
        // Slot 0: 5 s of 10 s; slot 1, then at 6 s: 2 s of 4 s. Or slot 1: 4.5 s of 9 s, and slot 0 nothing.
        let expected = if idle_ms == 7_000 { [0, 6_000] } else { [0, 1_000] };
        assert!(idle_ms == 7_000 || idle_ms == 4_500, "{idle_ms} ms forfeited");
        assert_eq!(due_ms(&claims), expected);
        assert_balanced(&pacer);
    });
}

/// A limit on the backlog forfeits what is beyond it once.
///
/// Threads: two that claim, 10 s late, where 3 s of backlog are allowed.
/// Edit: `late` without the check of `anchored`.
#[test]
fn a_backlog_is_cut_once() {
    explore("a_backlog_is_cut_once", || {
        let (clock, builder) = manual("1/s");
        let (pacer, claims) = claim_late(builder.max_backlog(span(3 * SECOND)), &clock);
        let idle = pacer.ledger().idle.as_secs();
        // Slot 0: 7 s, and slot 1 is within the limit. Or slot 1: 6 s, and slot 0 keeps its start.
        let expected = if idle == 7 { [0, 8_000] } else { [0, 1_000] };
        assert!(idle == 7 || idle == 6, "{idle} s forfeited");
        assert_eq!(due_ms(&claims), expected);
        assert_balanced(&pacer);
    });
}

/// What is owed under a burst ratio is booked once: whoever of two late callers is judged first, the second slot has to
/// wait for its share of the ratio, and intended starts stay where they were.
///
/// Threads: two that claim, 10 s late, at burst ratio 2.
/// Edits: `late` reckons lateness from the intended start instead of the release; `judge` judges under one lock and enters the
/// result under another.
#[test]
fn owed_time_is_booked_once() {
    explore("owed_time_is_booked_once", || {
        let (clock, builder) = manual("1/s");
        let (pacer, mut claims) = claim_late(builder.strictness(Strictness::new(2.0).unwrap()), &clock);
        assert_eq!(due_ms(&claims), [10_000, 10_500]);
        assert!(pacer.ledger().waiting.as_secs() >= 7, "{:?}", pacer.ledger());
        assert_eq!(pacer.ledger().idle.as_secs(), 0);
        assert_balanced(&pacer);
        clock.advance(span(SECOND / 2));
        let intended = claims.each_mut().map(|claim| claim.start().unwrap().intended_start());
        assert_eq!(intended, [at(0), at(SECOND)]);
    });
}

/// Owed time is paid back once, at the ratio, by whatever threads come: then the schedule is where it would be without
/// the stall. Two that come late at once may start at once; what the second takes in advance is not paid again.
///
/// Threads: two that try to acquire, 2 s late, at burst ratio 2; the rest is paid back after both.
/// Edits: `late` reckons lateness from the intended start instead of the release; `judge` judges under one lock and enters the
/// result under another.
#[test]
fn owed_time_is_paid_back_once() {
    explore("owed_time_is_paid_back_once", || {
        let (clock, builder) = manual("1/s");
        let pacer = builder.strictness(Strictness::new(2.0).unwrap()).build();
        clock.advance(span(2 * SECOND));
        let other = spawn({
            let pacer = pacer.clone();
            move || usize::from(pacer.try_acquire().is_ok())
        });
        let mut started = usize::from(pacer.try_acquire().is_ok()) + other.join().unwrap();
        assert!((1..=2).contains(&started), "{started}");
        assert_balanced(&pacer);
        // At 2 s slots 0, 1 and 2 were due; at twice the rate slot 4 closes the gap at 4 s.
        for half_seconds in 1..=4 {
            clock.advance(span(SECOND / 2));
            started += drain(&pacer).len();
            assert_eq!(started, 1 + half_seconds);
            assert_balanced(&pacer);
        }
        assert_eq!(pacer.ledger().waiting.as_nanos(), 0);
        clock.advance(span(SECOND));
        assert_eq!(drain(&pacer).len(), 1);
    });
}

/// Slots that are too late are skipped and counted once, and nothing is granted that was skipped.
///
/// Threads: two that claim, 10 s late, where 3 s are allowed.
/// Edits: `skip` counts what it meant to pass over, whether or not its exchange took place; or moves the word
/// by a store.
#[test]
fn skips_are_counted_once() {
    explore("skips_are_counted_once", || {
        let (clock, builder) = manual("1/s");
        let (pacer, claims) = claim_late(builder.skip_later_than(span(3 * SECOND)), &clock);
        assert_eq!(due_ms(&claims), [7_000, 8_000]);
        let ledger = pacer.ledger();
        assert_eq!((ledger.skipped, ledger.granted, ledger.backlog_slots), (7, 2, 2), "{ledger:?}");
        assert_balanced(&pacer);
    });
}
