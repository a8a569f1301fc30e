//! Measures the cost of calls on a single thread.

use crate::pacers;
use crate::rounds::{Samples, alternate, per_call};
use nanopace::{Grant, Pacer};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A round of cheap calls lasts about 10 ms.
const CALLS: u64 = 1 << 21;

/// The costs of calls in nanoseconds per call, on one thread, with slots that are due.
#[derive(Debug)]
pub struct Costs {
    /// The cost of one relaxed `fetch_add`.
    pub bare: Samples,
    /// The cost of a plain counter in memory: a load, an addition and a store.
    pub counter: Samples,
    /// The cost of `Pacer::acquire`.
    pub shared: Samples,
    /// The cost of `Pacer::acquire` and of reading the wait time from the grant.
    pub shared_wait: Samples,
    /// The cost of `Lane::acquire`.
    pub lane: Samples,
    /// The cost of `Lane::acquire` and of reading the wait time from the grant.
    pub lane_wait: Samples,
    /// The cost of `Pacer::claim` and of starting the claim.
    pub claim: Samples,
    /// The cost of `Pacer::claim` for a slot that is not due, and of dropping the claim at once.
    pub dropped_claim: Samples,
}

impl Costs {
    /// Measures all costs in alternating rounds.
    ///
    /// # Panics
    /// Panics if a slot is lost.
    #[must_use]
    pub fn measure(rounds: usize) -> Costs {
        let (word, counter) = (AtomicU64::new(0), AtomicU64::new(0));
        let (pacer, pacer_of_lanes) = (pacers::behind(), pacers::behind());
        let (pacer_of_claims, ahead) = (pacers::behind(), Pacer::new(pacers::rate("1/d")));
        assert!(ahead.try_acquire().is_ok(), "slot 0 is due");
        let mut lane = pacer_of_lanes.lane();
        let mut lane_too = pacer_of_lanes.lane();
        let all = alternate(
            rounds,
            &mut [
                &mut || per_call(CALLS, || word.fetch_add(1, Relaxed)),
                &mut || per_call(CALLS, || count(&counter)),
                &mut || per_call(CALLS, || pacer.acquire()),
                &mut || per_call(CALLS, || pacer.acquire().map(Grant::wait_nanos)),
                &mut || per_call(CALLS, || lane.acquire()),
                &mut || per_call(CALLS, || lane_too.acquire().map(Grant::wait_nanos)),
                &mut || {
                    per_call(CALLS, || {
                        pacer_of_claims.claim().is_ok_and(|mut it| it.start().is_ok())
                    })
                },
                &mut || per_call(CALLS, || ahead.claim().is_ok()),
            ],
        );
        drop((lane, lane_too));
        let calls = 2 * CALLS * (rounds as u64 + 1);
        assert_eq!(pacer.ledger().granted, calls, "a slot was lost");
        assert_eq!(pacer_of_lanes.ledger().granted, calls, "a slot was lost");
        assert_eq!(pacer_of_claims.ledger().granted, calls / 2, "a slot was lost");
        assert_eq!(ahead.ledger().granted, 1, "a slot was granted early");
        let [bare, counter, shared, shared_wait, lane, lane_wait, claim, dropped_claim] =
            all.try_into().expect("eight candidates");
        Costs { bare, counter, shared, shared_wait, lane, lane_wait, claim, dropped_claim }
    }
}

/// Increments the counter without a locked instruction, and returns the old value like `fetch_add`.
fn count(counter: &AtomicU64) -> u64 {
    let before = counter.load(Relaxed);
    counter.store(before + 1, Relaxed);
    before
}
