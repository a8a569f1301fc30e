//! Models of the late policies. Two late starts at the same time must change the schedule consistently.

use loom_tests::{
    MICRO, SECOND, assert_balanced, drain, explore, intended_ns, manual, paced, slots, span,
    spawn_with,
};
use nanopace::{Claim, Grant, ManualClock, Pacer, PacerBuilder, Refused, Strictness};

type Start = (Claim<'static>, Result<Grant, Refused>);

fn claim_and_start(pacer: &Pacer) -> Start {
    let mut claim = pacer.claim().unwrap();
    let start = claim.start();
    (claim.into_owned(), start)
}

/// Claims and starts a slot in each of two threads, 10 s after the start of a schedule of 1/s. Returns the two starts
/// in the order of their intended starts. Refused starts come last.
fn start_late(builder: PacerBuilder, clock: &ManualClock) -> (Pacer, [Start; 2]) {
    let pacer = builder.build();
    clock.advance(span(10 * SECOND));
    let other = spawn_with(&pacer, claim_and_start);
    let mut starts = [claim_and_start(&pacer), other.join().unwrap()];
    starts.sort_by_key(|(_, start)| start.map_or(u64::MAX, intended_ns));
    (pacer, starts)
}

/// Returns the intended starts in milliseconds. An error is the time at which a refused caller may start.
fn starts_ms(starts: &[Start; 2]) -> [Result<u64, u64>; 2] {
    let ms = |nanos: u64| nanos / 1_000_000;
    [0, 1].map(|index| match starts[index].1 {
        Ok(grant) => Ok(ms(intended_ns(grant))),
        Err(Refused::NotUntil(due)) => Err(ms(due.as_nanos())),
        Err(refused) => panic!("{refused}"),
    })
}

/// Threads: two that claim and start a slot, 10 s after the start of the schedule. Edit: `Schedule::start` lets a
/// settled slot forfeit time too.
#[test]
fn a_strict_gap_is_forfeited_once() {
    explore("a_strict_gap_is_forfeited_once", || {
        let (clock, builder) = manual("1/s");
        let (pacer, starts) = start_late(builder.strictness(Strictness::STRICT), &clock);
        // Slot 0 forfeits 10 s if it starts first, and slot 1 is then refused until 11 s. Slot 1 forfeits 9 s if it
        // starts first, and slot 0 then forfeits nothing.
        let expected = match pacer.ledger().idle.as_secs() {
            10 => [Ok(0), Err(11_000)],
            9 => [Ok(0), Ok(1_000)],
            idle => panic!("{idle} s forfeited"),
        };
        assert_eq!(starts_ms(&starts), expected);
        assert_eq!(pacer.ledger().granted, 2);
        assert_balanced(&pacer);
    });
}

/// Threads: two that call `try_acquire` 2 s after the start of the schedule, at strictness 2. After both threads have
/// ended, this thread starts the remaining late slots. Edit: `release` returns the intended start.
#[test]
fn owed_time_is_paid_back_once() {
    explore("owed_time_is_paid_back_once", || {
        let (clock, builder) = manual("1/s");
        let pacer = builder.strictness(Strictness::new(2.0).unwrap()).build();
        clock.advance(span(2 * SECOND));
        let other = spawn_with(&pacer, |pacer| usize::from(pacer.try_acquire().is_ok()));
        let mut started = usize::from(pacer.try_acquire().is_ok()) + other.join().unwrap();
        assert_eq!(started, 1);
        assert_balanced(&pacer);
        // At 2 s, slots 0 to 2 are due. The pacer catches up at twice the rate, so slot 4 starts on schedule at 4 s.
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

/// Threads: two that claim and start a slot, 10 s after the start of the schedule, with a limit of 3 s. Edit: `skip`
/// does not count the slot that the caller holds.
#[test]
fn skips_are_counted_once() {
    explore("skips_are_counted_once", || {
        let (clock, builder) = manual("1/s");
        let (pacer, starts) = start_late(builder.skip_later_than(span(3 * SECOND)), &clock);
        assert_eq!(starts_ms(&starts), [Ok(7_000), Ok(8_000)]);
        let ledger = pacer.ledger();
        assert_eq!((ledger.skipped, ledger.granted, ledger.backlog_slots), (7, 2, 2), "{ledger:?}");
        assert_balanced(&pacer);
    });
}

/// Threads: one that acquires a slot that a published clock reading shows to be due; one that sets the limit for
/// skipping and acquires a slot. Eleven slots are due; seven of them are too late. Edits: `skip` moves the word by a
/// store, or counts the slots that it tried to skip even if its exchange failed; `exchange` is split into a load, a
/// comparison and a store.
#[test]
fn a_skip_loses_no_slot() {
    explore("a_skip_loses_no_slot", || {
        let (clock, pacer) = paced("1M/s");
        clock.advance(span(10 * MICRO));
        let first = pacer.acquire().unwrap();
        let other = spawn_with(&pacer, |pacer| pacer.acquire().unwrap());
        pacer.set_skip_later_than(Some(span(3 * MICRO)));
        let mine = pacer.acquire().unwrap();
        let other = other.join().unwrap();
        let started = slots(drain(&pacer).into_iter().chain([first, mine, other]));
        let in_time: Vec<u64> =
            started.iter().copied().filter(|start| *start >= 7 * MICRO).collect();
        assert_eq!(in_time, [7, 8, 9, 10].map(|slot| slot * MICRO));
        let ledger = pacer.ledger();
        let granted = u64::try_from(started.len()).unwrap();
        assert_eq!((ledger.granted, ledger.skipped), (granted, 11 - granted), "{started:?}");
        assert_balanced(&pacer);
    });
}
