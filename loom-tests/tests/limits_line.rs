//! Models of the line of those who wait for a limit: no call is lost.

#![cfg(loom)]

use loom_tests::{explore, explore_less, spawn};
use nanopace::ManualClock;
use nanopace_limits::Limiter;

/// Two a day, both of them gone; and who has them.
fn exhausted() -> (Limiter, nanopace_limits::Reservation) {
    let limiter = Limiter::with_clock("2/day".parse().unwrap(), ManualClock::new());
    let reservation = limiter.reserve(2).unwrap();
    (limiter, reservation)
}

/// A reservation that is taken back reaches a thread that waits, or is about to: it gets in without
/// any time passing.
///
/// Threads: one that waits, one that takes the reservation back. Edits: `settle` calls nobody; who
/// comes to an empty line looks before it stands in line, and not again.
#[test]
fn a_refund_reaches_who_waits() {
    explore("a_refund_reaches_who_waits", || {
        let (limiter, reservation) = exhausted();
        let waiting = spawn({
            let limiter = limiter.clone();
            move || limiter.until_ready().is_ok()
        });
        drop(reservation);
        assert!(waiting.join().unwrap());
    });
}

/// Of two that wait, the second gets in when the first has.
///
/// Threads: two that wait, one that takes the reservation back. Edit: who leaves the line calls
/// nobody.
#[test]
fn the_next_in_line_is_called() {
    explore_less(0, "the_next_in_line_is_called", || {
        let (limiter, reservation) = exhausted();
        let waiting: Vec<_> = (0..2)
            .map(|_| {
                let limiter = limiter.clone();
                spawn(move || limiter.until_ready().is_ok())
            })
            .collect();
        drop(reservation);
        assert!(waiting.into_iter().all(|waiting| waiting.join().unwrap()));
    });
}
