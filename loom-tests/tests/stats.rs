//! Models of the statistics.

#![cfg(loom)]

use loom_tests::{MICRO, explore, manual, span, spawn};

/// A snapshot counts each grant of a lane at most once, and the last one, after the lane is gone,
/// all of them.
///
/// Threads: one whose lane starts three slots and is dropped, one that takes two snapshots.
/// Edit: `collect` copies a lane's notes and empties them under another lock.
#[test]
fn a_snapshot_counts_each_grant_once() {
    explore("a_snapshot_counts_each_grant_once", || {
        let (clock, builder) = manual("1M/s");
        let pacer = builder.build();
        clock.advance(span(2_500));
        let lane = pacer.lane();
        let other = spawn(move || {
            let mut lane = lane;
            for _ in 0..3 {
                lane.acquire().unwrap();
            }
        });
        let counts = [(); 2].map(|()| pacer.stats().wait_time().len());
        assert!(counts[0] <= counts[1] && counts[1] <= 3, "{counts:?}");
        other.join().unwrap();
        let stats = pacer.stats();
        assert_eq!(stats.wait_time().len(), 3);
        assert!(stats.wait_time().max() >= 2 * MICRO);
        assert_eq!(pacer.ledger().granted, 3);
    });
}

/// Two snapshots at once count nothing twice and lose nothing between them.
///
/// Threads: two that take a snapshot, after a lane has started two slots and while it starts
/// another. Edit: `collect` adds to a copy of the totals and puts that back.
#[test]
fn snapshots_share_what_they_take() {
    explore("snapshots_share_what_they_take", || {
        let (clock, builder) = manual("1M/s");
        let pacer = builder.build();
        clock.advance(span(2_500));
        let mut lane = pacer.lane();
        for _ in 0..2 {
            lane.acquire().unwrap();
        }
        lane.give_back();
        let others = [(); 2].map(|()| {
            let pacer = pacer.clone();
            spawn(move || pacer.stats().wait_time().len())
        });
        lane.acquire().unwrap();
        let counts = others.map(|other| other.join().unwrap());
        assert!(counts.iter().all(|count| (2..=3).contains(count)), "{counts:?}");
        drop(lane);
        assert_eq!(pacer.stats().wait_time().len(), 3);
    });
}

/// The ledger's count never runs behind what has been started before it was asked, and never ahead
/// of what was claimed.
///
/// Threads: one that acquires two slots, one that reads the ledger between two slots of its own.
/// Edit: the addition as a load and a store.
#[test]
fn the_ledger_counts_each_grant_once() {
    explore("the_ledger_counts_each_grant_once", || {
        let (clock, builder) = manual("1M/s");
        let pacer = builder.build();
        clock.advance(span(3_500));
        let other = spawn({
            let pacer = pacer.clone();
            move || [(); 2].map(|()| pacer.acquire().unwrap())
        });
        let counts = [(); 2].map(|()| {
            pacer.acquire().unwrap();
            let ledger = pacer.ledger();
            assert_eq!(
                ledger.elapsed,
                ledger.allocated + ledger.idle + ledger.waiting + ledger.backlog
            );
            ledger.granted
        });
        assert!((1..=3).contains(&counts[0]) && (2..=4).contains(&counts[1]), "{counts:?}");
        other.join().unwrap();
        assert_eq!(pacer.ledger().granted, 4);
    });
}
