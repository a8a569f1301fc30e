//! What a single thread pays.

use crate::pacers;
use crate::rounds::{Samples, alternate, per_call};
use nanopace::Grant;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A round of cheap calls lasts some 10 ms.
const CALLS: u64 = 1 << 21;

/// Nanoseconds per call, one thread, slots due.
#[derive(Debug)]
pub struct Costs {
    /// One relaxed `fetch_add`.
    pub bare: Samples,
    /// `Pacer::acquire`.
    pub shared: Samples,
    /// `Pacer::acquire`, and the wait time read from the grant.
    pub shared_wait: Samples,
    /// `Lane::acquire`.
    pub lane: Samples,
    /// `Lane::acquire`, and the wait time read.
    pub lane_wait: Samples,
}

impl Costs {
    /// All of them in alternating rounds.
    ///
    /// # Panics
    /// When a slot is lost.
    #[must_use]
    pub fn measure(rounds: usize) -> Costs {
        let word = AtomicU64::new(0);
        let (pacer, pacer_of_lanes) = (pacers::behind(0.0), pacers::behind(0.0));
        let mut lane = pacer_of_lanes.lane();
        let mut lane_too = pacer_of_lanes.lane();
        let all = alternate(
            rounds,
            &mut [
                &mut || per_call(CALLS, || word.fetch_add(1, Relaxed)),
                &mut || per_call(CALLS, || pacer.acquire()),
                &mut || per_call(CALLS, || pacer.acquire().map(Grant::wait_nanos)),
                &mut || per_call(CALLS, || lane.acquire()),
                &mut || per_call(CALLS, || lane_too.acquire().map(Grant::wait_nanos)),
            ],
        );
        drop((lane, lane_too));
        let calls = 2 * CALLS * (rounds as u64 + 1);
        assert_eq!(pacer.ledger().granted, calls, "a slot was lost");
        assert_eq!(pacer_of_lanes.ledger().granted, calls, "a slot was lost");
        let [bare, shared, shared_wait, lane, lane_wait] = all.try_into().expect("five candidates");
        Costs { bare, shared, shared_wait, lane, lane_wait }
    }
}
