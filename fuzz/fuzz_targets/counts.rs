//! The rolling counts with any numbers, on a clock that jumps forth and back, are the sums over all
//! that was added, cut at the largest number.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use nanopace::Nanos;
use nanopace_fuzz::{AnyQuota, Move, Number};
use nanopace_limits::{RingCount, RollingCount};
use std::time::Duration;

const SLOTS: usize = 5;

#[derive(Arbitrary, Debug)]
enum Step {
    Move(Move),
    Add(Number),
    Look,
}

/// What was added, each at the latest moment that had been seen by then, and how much of it found
/// room.
#[derive(Default)]
struct Added(Vec<(u64, u64)>);

impl Added {
    /// Adds `n` where `total` are counted already; says how many are now.
    fn add(&mut self, moment: u64, n: u64, total: u64) -> u64 {
        let n = n.min(u64::MAX - total);
        self.0.push((moment, n));
        total + n
    }

    fn sum(&self, counts: impl Fn(u64) -> bool) -> u64 {
        self.0.iter().filter(|(moment, _)| counts(*moment)).map(|(_, n)| n).sum()
    }
}

fuzz_target!(|input: (Number, AnyQuota, Vec<Step>)| {
    let (interval, quota, steps) = input;
    let (interval_ns, slot_ns) = (interval.get(), interval.up_to(Nanos::MAX.as_nanos()));
    let mut exact = RollingCount::new(Duration::from_nanos(interval_ns));
    let mut ring =
        RingCount::<SLOTS>::new(Duration::from_nanos(slot_ns)).expect("within its range");
    let (mut to_exact, mut to_ring) = (Added::default(), Added::default());
    let (mut now, mut latest) = (Nanos::ZERO, 0);
    for step in steps {
        let n = match step {
            Step::Move(change) => {
                now = change.from(now, quota.get());
                continue;
            }
            Step::Add(n) => n.get(),
            Step::Look => 0,
        };
        latest = now.as_nanos().max(latest);
        let within = to_exact.sum(|moment| latest - moment <= interval_ns);
        assert_eq!(exact.advance(now), within);
        assert_eq!(exact.add(now, n), to_exact.add(latest, n, within));
        let within = to_ring.sum(|moment| latest / slot_ns - moment / slot_ns < SLOTS as u64);
        assert_eq!(ring.advance(now), within);
        assert_eq!(ring.add(now, n), to_ring.add(latest, n, within));
    }
});
