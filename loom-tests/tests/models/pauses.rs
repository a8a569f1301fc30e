//! Models of callers that spin or yield, which changes must also reach.

use loom_tests::{
    MICRO, MILLI, Watched, assert_balanced, explore, intended_ns, rate, span, spawn_with, wait_ns,
};
use nanopace::{Ended, Pacer, Pause};

fn pacer(clock: &Watched, text: &str, pause: Pause) -> Pacer {
    Pacer::builder(rate(text)).clock(clock.clone()).pause(pause).build()
}

/// Threads: one that acquires a slot due in an hour, one that closes the pacer as soon as the other spins. Edit: a
/// caller that spins does not check whether the plan is current.
#[test]
fn a_close_reaches_a_spinner() {
    explore("a_close_reaches_a_spinner", || {
        let clock = Watched::default();
        let pacer = pacer(&clock, "1/h", Pause::Spin);
        pacer.acquire().unwrap();
        let spinner = spawn_with(&pacer, |pacer| pacer.acquire().map(drop));
        clock.wait_for(Watched::spun, 1);
        pacer.close();
        assert_eq!(spinner.join().unwrap(), Err(Ended::Closed));
        assert_eq!(pacer.ledger().granted, 1);
        assert_balanced(&pacer);
    });
}

/// Threads: one that acquires a slot due in an hour, one that sets the rate to 1000/s as soon as the other yields, and
/// moves the clock forward by 1 ms. Edit: a caller that spins does not check whether the plan is current.
#[test]
fn a_rate_change_reaches_a_yielder() {
    explore("a_rate_change_reaches_a_yielder", || {
        let clock = Watched::default();
        let pacer = pacer(&clock, "1/h", Pause::Yield);
        pacer.acquire().unwrap();
        let other = spawn_with(&pacer, |pacer| pacer.acquire().unwrap());
        clock.wait_for(Watched::spun, 1);
        pacer.set_rate(rate("1k/s"));
        clock.manual.advance(span(MILLI));
        let grant = other.join().unwrap();
        assert_eq!((intended_ns(grant), wait_ns(grant)), (MILLI, 0));
        assert_eq!(pacer.ledger().granted, 2);
    });
}

/// Threads: one that acquires a slot due in half a microsecond, too soon to sleep; one that sets the rate from 1M/s to
/// 10M/s as soon as the other spins, and moves the clock forward by the remaining 50 ns. Edit: a caller that spins
/// does not check whether the plan is current.
#[test]
fn a_rate_change_reaches_a_hybrid_spinner() {
    explore("a_rate_change_reaches_a_hybrid_spinner", || {
        let clock = Watched::default();
        let pacer = pacer(&clock, "1M/s", Pause::Hybrid);
        pacer.acquire().unwrap();
        clock.manual.advance(span(MICRO / 2));
        let other = spawn_with(&pacer, |pacer| pacer.acquire().unwrap());
        clock.wait_for(Watched::spun, 1);
        pacer.set_rate(rate("10M/s"));
        clock.manual.advance(span(50));
        let grant = other.join().unwrap();
        assert_eq!((intended_ns(grant), wait_ns(grant)), (550, 0));
        assert_eq!(pacer.ledger().granted, 2);
    });
}

/// Threads: one that acquires two slots from a paused pacer whose callers spin; one that resumes the pacer. Edits: a
/// caller that waits for the end of a pause spins; `wake_moved` wakes no sleeper.
#[test]
fn no_caller_spins_while_paused() {
    explore("no_caller_spins_while_paused", || {
        let clock = Watched::default();
        let pacer = pacer(&clock, "1/h", Pause::Spin);
        pacer.pause();
        let other = spawn_with(&pacer, |pacer| pacer.acquire_many(2).unwrap());
        pacer.resume();
        assert_eq!(intended_ns(other.join().unwrap()), 0);
        assert_eq!(clock.spun(), 0);
        assert_eq!(pacer.ledger().granted, 2);
    });
}
