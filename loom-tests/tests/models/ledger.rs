//! A model of the ledger.

use loom_tests::{explore, paced, span, spawn_with};

/// Threads: one that acquires two slots, one that reads the ledger after each of its own two slots. Edit: the
/// `fetch_add` of a claim is split into a load and a store.
#[test]
fn the_ledger_counts_each_grant_once() {
    explore("the_ledger_counts_each_grant_once", || {
        let (clock, pacer) = paced("1M/s");
        clock.advance(span(3_500));
        let other = spawn_with(&pacer, |pacer| [(); 2].map(|()| pacer.acquire().unwrap()));
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
