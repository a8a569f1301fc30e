//! The slotted ring without a lock: it admits no more than its limit, and what it rejects it takes
//! back.

#![cfg(loom)]

use loom_tests::{SECOND, at, explore, spawn};
use nanopace_limits::{AtomicRing, SlottedRing, TryAcquire};
use std::sync::Arc;

/// Slots of a second; guards two seconds.
fn ring(quota: &str) -> Arc<AtomicRing<3>> {
    Arc::new(AtomicRing::new(SlottedRing::new(quota.parse().unwrap())).unwrap())
}

fn second(second: u64) -> nanopace::Nanos {
    at(second * SECOND)
}

/// A ring that lets in one per two seconds lets in at most one of two requests that are a second
/// apart, even if the slot of one of them has taken the place of an older slot. Two requests that are
/// three slots apart may both get in.
///
/// Threads: two that ask, at seconds 4 and 5; the ring has let one in at second 1 or 2.
/// Edits: the count of readings with a weaker ordering, or by a load and a store.
#[test]
fn a_ring_admits_no_more() {
    explore("a_ring_admits_no_more", || {
        let ring = ring("1/3s");
        ring.try_acquire_at(second(1)).unwrap();
        let other = spawn({
            let ring = Arc::clone(&ring);
            move || ring.try_acquire_at(second(4)).is_ok()
        });
        let mine = ring.try_acquire_at(second(5)).is_ok();
        assert!(!(other.join().unwrap() && mine));
    });
}

/// Within one slot the word itself settles it: one of two gets in.
///
/// Threads: two that ask at the same second.
/// Edit: reservation by a load and a store.
#[test]
fn a_slot_admits_no_more() {
    explore("a_slot_admits_no_more", || {
        let ring = ring("1/3s");
        let other = spawn({
            let ring = Arc::clone(&ring);
            move || ring.try_acquire_at(second(4)).is_ok()
        });
        let mine = ring.try_acquire_at(second(4)).is_ok();
        assert_eq!(usize::from(other.join().unwrap()) + usize::from(mine), 1);
    });
}

/// What is left afterwards is the limit less what got in.
///
/// Threads: two that ask for two of three, at seconds 4 and 5.
/// Edits: a rejected request does not take itself back, or takes back one too few.
#[test]
fn a_ring_takes_back_what_it_rejects() {
    explore("a_ring_takes_back_what_it_rejects", || {
        let ring = ring("3/3s");
        let other = spawn({
            let ring = Arc::clone(&ring);
            move || ring.try_acquire_n_at(2, second(4)).is_ok()
        });
        let mine = ring.try_acquire_n_at(2, second(5)).is_ok();
        let admitted = 2 * (u64::from(other.join().unwrap()) + u64::from(mine));
        assert!(admitted < 4);
        ring.peek_n_at(3 - admitted, second(5)).unwrap();
        assert!(ring.peek_n_at(4 - admitted, second(5)).is_err());
    });
}

/// A request that was overtaken by a whole round of the ring does not go by what the ring no longer
/// knows.
///
/// Threads: one that asks at second 5, one at seconds 4 and 7; second 7 takes the place of second
/// 4. The request of second 5, if it finds that, asks again at second 7. Edit: a request does not look
/// whether a later slot than its own has begun.
#[test]
fn an_overtaken_request_comes_again() {
    explore("an_overtaken_request_comes_again", || {
        let ring = ring("1/3s");
        let other = spawn({
            let ring = Arc::clone(&ring);
            move || ring.try_acquire_at(second(5)).is_ok()
        });
        let [fourth, seventh] = [4, 7].map(|moment| ring.try_acquire_at(second(moment)).is_ok());
        let fifth = other.join().unwrap();
        assert!(!(fifth && seventh), "two seconds apart, or both at second 7");
        if fourth && fifth {
            // The request of second 5 has seen that it is second 7, and counts there.
            assert!(ring.peek_n_at(1, second(9)).is_err());
        }
    });
}
