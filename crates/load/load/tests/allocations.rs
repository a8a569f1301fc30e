//! Tests that a successful call allocates nothing. Four times as many calls in the same time must not cause more
//! allocations.

use nanopace_load::{BlockingTarget, Done, Failure, Load, Slot, Target};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;
use std::thread;
use std::time::Duration;
use tokio::task::yield_now;

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The number of calls of the smaller load, which lasts a second.
const CALLS: u64 = 4_000;

struct Nothing;

impl Target for Nothing {
    type Session = ();

    async fn connect(&self, _index: usize) -> Result<(), Failure> {
        Ok(())
    }

    async fn call(&self, (): &mut (), slot: Slot) -> Result<Done, Failure> {
        yield_now().await;
        Ok(answer(slot))
    }
}

struct Blocking;

impl BlockingTarget for Blocking {
    type Session = ();

    fn connect(&self, _index: usize) -> Result<(), Failure> {
        Ok(())
    }

    fn call(&self, (): &mut (), slot: Slot) -> Result<Done, Failure> {
        thread::yield_now();
        Ok(answer(slot))
    }
}

fn answer(slot: Slot) -> Done {
    match slot.number() % 3 {
        0 => Done::new().label("read").bytes(1, 2),
        1 => Done::new().label("write").status(200),
        _ => Done::new(),
    }
}

fn allocations(calls: u64, target: impl Target) -> u64 {
    let before = HEAP.stats().allocations;
    let rate = format!("{calls}/s").parse().unwrap();
    let load = Load::new(rate).sessions(8).duration(Duration::from_secs(1));
    let report = load.run_blocking(target).unwrap();
    assert_eq!(report.started() + report.unstarted(), calls);
    (HEAP.stats().allocations - before) as u64
}

/// Allocations that do not belong to a call occur when the load begins and ends, at checks of the clock and the
/// machine, and when slots of preempted tasks are given back. A busy machine causes more of them, so it is enough if
/// one of five pairs of loads has few.
#[test]
fn a_call_allocates_nothing() {
    for target in [|calls| allocations(calls, Nothing), |calls| allocations(calls, Blocking)] {
        let others = || {
            let [fewer, more] = [target(CALLS), target(4 * CALLS)];
            more.saturating_sub(fewer)
        };
        let mut pairs = (0..5).map(|_| others());
        let are_few = pairs.any(|others| others < 3 * CALLS / 20);
        assert!(are_few, "allocations for {} calls, five times", 3 * CALLS);
    }
}
