//! Models of claiming: who gets which slot, and what is known of time.

#![cfg(loom)]

use loom_tests::{MICRO, assert_balanced, drain, explore, intended_ns, manual, slots, span, spawn, wait_ns};
use nanopace::{LazyGrant, Refused};

/// Slots are unique and leave no gap, claimed without a lock by two threads at once.
///
/// Threads: two that acquire twice; four slots are due, two of them as far as anyone has seen.
/// Edit: `add` as a load and a store.
#[test]
fn claims_are_unique() {
    explore("claims_are_unique", || {
        let (clock, builder) = manual("1M/s");
        let pacer = builder.build();
        clock.advance(span(3 * MICRO));
        let other = spawn({
            let pacer = pacer.clone();
            move || [(); 2].map(|()| pacer.acquire().unwrap().settled())
        });
        let mine = [(); 2].map(|()| pacer.acquire().unwrap().settled());
        let grants = mine.into_iter().chain(other.join().unwrap());
        assert_eq!(slots(grants), [0, MICRO, 2 * MICRO, 3 * MICRO]);
        assert_eq!(pacer.ledger().granted, 4);
        assert_balanced(&pacer);
    });
}

/// So they are when one thread takes a slot only if it is due: nobody's slot is taken a second time.
///
/// Threads: one that tries, one that acquires twice; three slots are due, one of them as far as anyone has seen.
/// Edits: `exchange` as a load, a comparison and a store; `try_claim` adds instead of exchanging what it has looked at.
#[test]
fn tried_claims_are_unique() {
    explore("tried_claims_are_unique", || {
        let (clock, builder) = manual("1M/s");
        let pacer = builder.build();
        clock.advance(span(2 * MICRO));
        let other = spawn({
            let pacer = pacer.clone();
            move || [(); 2].map(|()| pacer.acquire().unwrap().settled())
        });
        let mine = pacer.try_acquire().ok().map(LazyGrant::settled);
        let grants = mine.into_iter().chain(other.join().unwrap()).chain(drain(&pacer));
        assert_eq!(slots(grants), [0, MICRO, 2 * MICRO]);
        assert_eq!(pacer.ledger().granted, 3);
    });
}

/// A row of slots that one operation takes is nobody else's.
///
/// Threads: one that takes two as one operation, one that acquires twice.
/// Edits: `claim_row` adds one slot only; `add` as a load and a store.
#[test]
fn rows_are_unique() {
    explore("rows_are_unique", || {
        let (clock, builder) = manual("1M/s");
        let pacer = builder.build();
        clock.advance(span(3 * MICRO));
        let other = spawn({
            let pacer = pacer.clone();
            move || pacer.acquire_many(2).unwrap().settled()
        });
        let mine = [(); 2].map(|()| pacer.acquire().unwrap().settled());
        let row = intended_ns(other.join().unwrap());
        let mut all = mine.map(intended_ns).to_vec();
        all.extend([row, row + MICRO]);
        all.sort_unstable();
        assert_eq!(all, [0, MICRO, 2 * MICRO, 3 * MICRO]);
        assert_eq!(pacer.ledger().granted, 4);
    });
}

/// A slot is never stamped earlier than it was known to be due, and the last-seen clock never goes back: a caller who
/// read the clock early and reports it late changes nothing.
///
/// Threads: one that acquires, one that moves the clock on and acquires, the first then once more. The clock stands at
/// 1.5 us and at 4.5 us only, so there is one right wait time for slots 2 and 3.
/// Edits: `extend` stores `seen` last; or lets it go back; or moves the horizon `Relaxed`; `last_seen` reads `seen` first; or
/// reads the horizon `Relaxed`.
#[test]
fn last_seen_never_goes_back() {
    explore("last_seen_never_goes_back", || {
        let (clock, builder) = manual("1M/s");
        let pacer = builder.build();
        pacer.acquire().unwrap();
        clock.advance(span(1_500));
        let other = spawn({
            let pacer = pacer.clone();
            move || {
                clock.advance(span(3 * MICRO));
                pacer.acquire().unwrap().settled()
            }
        });
        let mine = [(); 2].map(|()| pacer.acquire().unwrap().settled());
        let other = other.join().unwrap();
        assert_eq!(slots(mine.into_iter().chain([other])), [MICRO, 2 * MICRO, 3 * MICRO]);
        for grant in mine.into_iter().chain([other]) {
            let start = intended_ns(grant) + wait_ns(grant);
            assert!(start == 4_500 || start == 1_500 && intended_ns(grant) == MICRO, "{grant:?}");
        }
        assert!(wait_ns(mine[1]) >= 500);
    });
}

/// A slot that is given back is handed out again, once, to a caller who comes then or is on the way.
///
/// Threads: one that drops a claim, one that acquires; all slots are due.
/// Edit: `give_back` puts the slot aside even though it was the latest claim and is taken back.
#[test]
fn a_dropped_claim_is_handed_out_once() {
    explore("a_dropped_claim_is_handed_out_once", || {
        let (clock, builder) = manual("1M/s");
        let pacer = builder.build();
        clock.advance(span(2 * MICRO));
        let claim = pacer.claim().unwrap();
        let other = spawn({
            let pacer = pacer.clone();
            move || pacer.acquire().unwrap().settled()
        });
        drop(claim);
        let other = other.join().unwrap();
        assert_eq!(slots(drain(&pacer).into_iter().chain([other])), [0, MICRO, 2 * MICRO]);
        assert_eq!(pacer.ledger().granted, 3);
        assert_balanced(&pacer);
    });
}

/// A slot that is given back reaches a caller who sleeps, or is about to, for a later one.
///
/// Threads: one that drops the claim of a slot that is due, one that acquires the slot after it, due in an hour.
/// Edits: `give_back_range` wakes nobody; `pace` does not look for such a slot after it has made its plan.
#[test]
fn a_dropped_claim_reaches_a_sleeper() {
    explore("a_dropped_claim_reaches_a_sleeper", || {
        let (_clock, builder) = manual("1/h");
        let pacer = builder.build();
        let claim = pacer.claim().unwrap();
        let other = spawn({
            let pacer = pacer.clone();
            move || pacer.acquire().unwrap().settled()
        });
        drop(claim);
        assert_eq!(intended_ns(other.join().unwrap()), 0);
        assert_eq!(pacer.ledger().granted, 1);
        assert!(matches!(pacer.try_acquire(), Err(Refused::NotUntil(_))));
    });
}
