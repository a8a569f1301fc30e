//! Models of claims: the owner of each slot, and the published readings of the clock.

use loom_tests::{
    MICRO, SECOND, assert_balanced, drain, explore, explore_less, intended_ns, manual, paced, rate,
    slots, span, spawn_with, wait_ns,
};
use nanopace::{Claim, ManualClock, Nanos, Pacer, Refused};

/// Threads: two that each acquire two slots. Four slots are due, but the first clock reading serves only two of them.
/// Edit: the `fetch_add` of a claim is split into a load and a store.
#[test]
fn claims_are_unique() {
    explore("claims_are_unique", || {
        let (clock, pacer) = paced("1M/s");
        clock.advance(span(3 * MICRO));
        let other = spawn_with(&pacer, |pacer| [(); 2].map(|()| pacer.acquire().unwrap()));
        let mine = [(); 2].map(|()| pacer.acquire().unwrap());
        let grants = mine.into_iter().chain(other.join().unwrap());
        assert_eq!(slots(grants), [0, MICRO, 2 * MICRO, 3 * MICRO]);
        assert_eq!(pacer.ledger().granted, 4);
        assert_balanced(&pacer);
    });
}

/// Threads: one that calls `try_acquire` twice, one that calls `acquire` twice. Four slots are due. Edits: `exchange`
/// is split into a load, a comparison and a store; `try_claim_fast` grants the slot that it has checked, and not the
/// slot that it claims.
#[test]
fn tried_claims_are_unique() {
    explore("tried_claims_are_unique", || {
        let (clock, pacer) = paced("1M/s");
        clock.advance(span(3_500));
        let other = spawn_with(&pacer, |pacer| [(); 2].map(|()| pacer.try_acquire().unwrap()));
        let mine = [(); 2].map(|()| pacer.acquire().unwrap());
        let grants = mine.into_iter().chain(other.join().unwrap());
        assert_eq!(slots(grants), [0, MICRO, 2 * MICRO, 3 * MICRO]);
        assert_eq!(pacer.ledger().granted, 4);
    });
}

/// Threads: two that call `try_acquire`. One slot is due, and the last clock reading already shows that it is due.
/// Edits: the claimed slot is forgotten, or is not given back.
#[test]
fn a_tried_claim_that_is_not_due_goes_back() {
    explore("a_tried_claim_that_is_not_due_goes_back", || {
        let (clock, pacer) = paced("1M/s");
        clock.advance(span(1_500));
        pacer.acquire().unwrap();
        let other = spawn_with(&pacer, Pacer::try_acquire);
        let mine = pacer.try_acquire();
        let (granted, refused): (Vec<_>, Vec<_>) =
            [mine, other.join().unwrap()].into_iter().partition(Result::is_ok);
        assert_eq!(slots(granted.into_iter().flatten()), [MICRO]);
        let when = Nanos::from_nanos(2 * MICRO);
        assert_eq!(refused, [Err(Refused::NotUntil(when))]);
        clock.advance(span(500));
        assert_eq!(intended_ns(pacer.try_acquire().unwrap()), 2 * MICRO);
        assert_balanced(&pacer);
    });
}

/// Threads: one that acquires a slot; one that claims a slot. There is one slot, and a claim of it is dropped at the
/// end. Edits: a claim that was made without the lock is not checked under the lock; starts are not refused at the end;
/// slots claimed after the end are not given back; the published line continues after the end.
#[test]
fn the_last_slot_has_one_owner() {
    explore("the_last_slot_has_one_owner", || {
        let (_, builder) = manual("1M/s");
        let pacer = builder.slots(1).build();
        let other = spawn_with(&pacer, |pacer| pacer.claim().map(Claim::into_owned));
        let mine = pacer.acquire();
        let claim = other.join().unwrap();
        assert_eq!(mine.is_ok(), claim.is_err());
        drop(claim);
        assert_eq!(drain(&pacer).len(), usize::from(mine.is_err()));
        assert_eq!(pacer.ledger().granted, 1);
        assert!(pacer.is_finished());
        assert_balanced(&pacer);
    });
}

/// Threads: one that acquires two slots as one operation, one that acquires two slots. Edits: `acquire_many` moves the
/// word by one slot only; the `fetch_add` of a claim is split into a load and a store.
#[test]
fn rows_are_unique() {
    explore("rows_are_unique", || {
        let (clock, pacer) = paced("1M/s");
        clock.advance(span(3 * MICRO));
        let other = spawn_with(&pacer, |pacer| pacer.acquire_many(2).unwrap());
        let mine = [(); 2].map(|()| pacer.acquire().unwrap());
        let row = intended_ns(other.join().unwrap());
        let mut all = mine.map(intended_ns).to_vec();
        all.extend([row, row + MICRO]);
        all.sort_unstable();
        assert_eq!(all, [0, MICRO, 2 * MICRO, 3 * MICRO]);
        assert_eq!(pacer.ledger().granted, 4);
    });
}

/// Threads: one that acquires two slots, one that moves the clock forward and acquires a slot. The clock shows only 1.5
/// us and 4.5 us, so there is one correct wait time for slots 2 and 3. Edits: the reading is reported after the horizon
/// has been moved, or goes back; the horizon is moved `Relaxed`; `window` loads the reading first, or loads the horizon
/// `Relaxed`.
#[test]
fn the_reading_never_goes_back() {
    explore("the_reading_never_goes_back", || {
        let (clock, pacer) = paced("1M/s");
        pacer.acquire().unwrap();
        clock.advance(span(1_500));
        let other = spawn_with(&pacer, |pacer| [(); 2].map(|()| pacer.acquire().unwrap()));
        clock.advance(span(3 * MICRO));
        let mine = pacer.acquire().unwrap();
        let others = other.join().unwrap();
        let grants = [mine, others[0], others[1]];
        assert_eq!(slots(grants), [MICRO, 2 * MICRO, 3 * MICRO]);
        for grant in grants {
            let start = intended_ns(grant) + wait_ns(grant);
            assert!(start == 4_500 || start == 1_500 && intended_ns(grant) == MICRO, "{grant:?}");
        }
        assert!(wait_ns(others[1]) >= 500);
    });
}

/// Threads: one that drops a claim, one that acquires a slot. All slots are due. Edit: `make_free` stores the slot as
/// returned although it has undone the claim, which was the latest one.
#[test]
fn a_dropped_claim_is_handed_out_once() {
    explore_less(1, "a_dropped_claim_is_handed_out_once", || {
        let (clock, pacer) = paced("1M/s");
        clock.advance(span(2 * MICRO));
        let claim = pacer.claim().unwrap();
        let other = spawn_with(&pacer, |pacer| pacer.acquire().unwrap());
        drop(claim);
        let other = other.join().unwrap();
        assert_eq!(slots(drain(&pacer).into_iter().chain([other])), [0, MICRO, 2 * MICRO]);
        assert_eq!(pacer.ledger().granted, 3);
        assert_balanced(&pacer);
    });
}

/// Threads: one that drops the claim of a slot that is due in an hour, and moves the clock forward by an hour; one that
/// acquires a slot: the dropped slot, or slot 3, which is due in three hours. Edits: `make_free` wakes no sleeper, or
/// wakes sleepers before it has withdrawn the published state; `prefer_returned` does nothing.
#[test]
fn a_dropped_claim_reaches_a_sleeper() {
    explore_less(1, "a_dropped_claim_reaches_a_sleeper", || {
        let (clock, pacer) = paced("1/h");
        pacer.acquire().unwrap();
        let [first, next] = [(); 2].map(|()| pacer.claim().unwrap());
        let other = spawn_with(&pacer, |pacer| pacer.acquire().unwrap());
        drop(first);
        clock.advance(span(3_600 * SECOND));
        assert_eq!(intended_ns(other.join().unwrap()), 3_600 * SECOND);
        drop(next);
        assert_eq!(pacer.ledger().granted, 2);
    });
}

/// Runs `act` in another thread while this thread drops a claim. The claimed slot is due in 1 us. The rate was changed
/// after the claim.
fn while_a_claim_is_dropped<T: Send + 'static>(
    act: impl FnOnce(&Pacer) -> T + Send + 'static,
    done: impl FnOnce(&ManualClock),
) -> T {
    let (clock, pacer) = paced("2M/s");
    pacer.acquire().unwrap();
    let claim = pacer.claim().unwrap();
    pacer.set_rate(rate("1M/s"));
    let other = spawn_with(&pacer, act);
    drop(claim);
    done(&clock);
    other.join().unwrap()
}

/// Threads: one that acquires or tries to acquire, one that drops the claim of a slot that is due in a microsecond.
/// Edit: `write` sets the horizon to the position that claims have reached.
#[test]
fn a_slot_that_comes_back_is_not_due() {
    explore("a_slot_that_comes_back_is_not_due", || {
        let acquire = |pacer: &Pacer| pacer.acquire().unwrap();
        let grant = while_a_claim_is_dropped(acquire, |clock| clock.advance(span(3 * MICRO)));
        assert!(grant.actual_start() >= grant.intended_start());
    });
    explore("a_slot_that_comes_back_is_not_due", || {
        let tried = while_a_claim_is_dropped(Pacer::try_acquire, |_| ());
        assert!(matches!(tried, Err(Refused::NotUntil(_))));
    });
}
