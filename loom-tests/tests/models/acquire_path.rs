//! Models of the lock-free path: callers read the published window while a writer moves or closes it. A slot is *known
//! to be due* if a clock reading that a caller has published shows that it is due.

use loom::sync::atomic::{AtomicU64, Ordering};
use loom_tests::{
    MICRO, SECOND, drain, explore, explore_less, intended_ns, paced, paced_by_shape, rate, span,
    spawn, spawn_with, wait_ns,
};
use nanopace::driver::Drive as _;
use nanopace::{Clock, ManualClock, Nanos, Pacer, Parker, Refused};
use std::cell::Cell;
use std::sync::Arc;

/// A ramp: slots 0 to 2 are on a chord, and the next slots on a parabola.
const RAMP: &str = "ramp 1M/s..2M/s 1ms";

/// Returns a pacer at 1M/s whose clock shows 3.5 us. Slot 0 has started, and slot 1 is known to be due.
fn behind() -> (ManualClock, Pacer) {
    let (clock, pacer) = paced("1M/s");
    clock.advance(span(3_500));
    pacer.acquire().unwrap();
    (clock, pacer)
}

/// Threads: one that calls `try_acquire`; one that changes the rate while it holds a claim, so that the next slot is on
/// the new piece, and then drops the claim, so that the next slot is on the old piece again. Edits: `window` loads the
/// version, the mantissa or the base `Relaxed`; `window` does not check the version again; `window` reads while a
/// writer is at work.
#[test]
fn a_window_is_read_whole() {
    explore_less(2, "a_window_is_read_whole", || {
        let (clock, pacer) = behind();
        clock.advance(span(4 * MICRO));
        for _ in 1..=6 {
            pacer.acquire().unwrap();
        }
        let seventh = pacer.claim().unwrap();
        let other = spawn_with(&pacer, Pacer::try_acquire);
        pacer.set_rate(rate("3M/s"));
        drop(seventh);
        match other.join().unwrap() {
            Ok(grant) => {
                assert_eq!((intended_ns(grant), wait_ns(grant)), (7 * MICRO, 500));
                assert_eq!(grant.slot(), 7);
            }
            Err(refused) => assert!(matches!(refused, Refused::NotUntil(_)), "{refused}"),
        }
    });
}

/// Threads: one that acquires a slot, while slot 4, on the new piece, is known to be due; one that holds slots 3 and 4,
/// and drops them, so that the next slot is on the old piece. Edit: `window` loads the anchor `Relaxed`.
#[test]
fn a_window_that_goes_back_is_read_whole() {
    explore_less(2, "a_window_that_goes_back_is_read_whole", || {
        let (clock, pacer) = behind();
        pacer.acquire().unwrap();
        pacer.acquire().unwrap();
        let third = pacer.claim().unwrap();
        pacer.set_rate(rate("3M/s"));
        clock.advance(span(MICRO));
        let fourth = pacer.claim().unwrap();
        let other = spawn_with(&pacer, |pacer| pacer.acquire().unwrap());
        drop(fourth);
        drop(third);
        let grant = other.join().unwrap();
        let intended = [3_000, 3_667, 4_000][usize::try_from(grant.slot() - 3).unwrap()];
        assert_eq!(intended_ns(grant), intended, "{grant:?}");
    });
}

/// Threads: as in `a_window_is_read_whole`, on a ramp. Without a bend, slot 7 would be at 6988 ns. Edits: `bent_window`
/// loads the bend `Relaxed`, or does not check the version again.
#[test]
fn a_bent_window_is_read_whole() {
    explore_less(2, "a_bent_window_is_read_whole", || {
        let (clock, pacer) = paced_by_shape(RAMP);
        clock.advance(span(7_500));
        for _ in 0..=6 {
            pacer.acquire().unwrap();
        }
        let seventh = pacer.claim().unwrap();
        let other = spawn_with(&pacer, Pacer::try_acquire);
        pacer.set_rate(rate("3M/s"));
        drop(seventh);
        match other.join().unwrap() {
            Ok(grant) => {
                assert!(intended_ns(grant).abs_diff(6_976) <= 1, "{grant:?}");
                assert_eq!(grant.slot(), 7);
            }
            Err(refused) => assert!(matches!(refused, Refused::NotUntil(_)), "{refused}"),
        }
    });
}

/// Threads: one that reads the due time of the next slot; one that changes the rate. Without a bend, slot 8 would be
/// due at 7987 ns. Edits: `Hot::stretch` loads the bend `Relaxed`, or `Hot::store` stores it `Relaxed`.
#[test]
fn a_parabola_is_read_whole() {
    explore("a_parabola_is_read_whole", || {
        let (clock, pacer) = paced_by_shape(RAMP);
        clock.advance(span(2_100));
        for _ in 0..=2 {
            pacer.acquire().unwrap();
        }
        let claims = [(); 5].map(|()| pacer.claim().unwrap());
        let other = spawn_with(&pacer, |pacer| pacer.next_due().unwrap());
        pacer.set_rate(rate("3M/s"));
        let due = other.join().unwrap().as_nanos();
        assert!([7_969, 4_067].iter().any(|moment| due.abs_diff(*moment) <= 1), "{due}");
        drop(claims);
    });
}

/// Threads: one that calls `try_acquire`; one that pauses the pacer for a second and resumes it. Edits: `report_at`
/// stores the reading `Relaxed`; `window` loads the reading or the time `Relaxed`; `window` does not check the version
/// again.
#[test]
fn a_window_closes_with_a_pause() {
    explore_less(1, "a_window_closes_with_a_pause", || {
        let (clock, pacer) = behind();
        let other = spawn_with(&pacer, Pacer::try_acquire);
        pacer.pause();
        clock.advance(span(SECOND));
        pacer.resume();
        let started = match other.join().unwrap() {
            Ok(grant) => {
                assert_eq!(wait_ns(grant), 2_500);
                assert!([MICRO, SECOND + MICRO].contains(&intended_ns(grant)), "{grant:?}");
                1
            }
            Err(refused) => {
                assert_eq!(refused, Refused::Paused);
                0
            }
        };
        assert_eq!(drain(&pacer).len(), 3 - started);
    });
}

loom::thread_local! {
    static IS_BEHIND: Cell<bool> = Cell::new(false);
}

/// A clock with a settable time. A thread that has set `IS_BEHIND` always reads 3.5 us, even if the clock was set to a
/// later time.
#[derive(Clone, Debug)]
struct TwoClocks(Arc<AtomicU64>);

impl Clock for TwoClocks {
    fn now(&self) -> Nanos {
        let is_behind = IS_BEHIND.with(Cell::get);
        let nanos = if is_behind { 3_500 } else { self.0.load(Ordering::Relaxed) };
        Nanos::from_nanos(nanos)
    }

    fn park(&self, _: &Parker, _: Nanos) {
        loom::thread::yield_now();
    }
}

/// Threads: one that reads 3.5 us from its clock and calls `try_acquire`, which prefers the latest reading of all
/// threads; one that pauses the pacer for a second and resumes it. Edit: `reading` loads the latest reading `Relaxed`.
#[test]
fn a_reading_comes_with_its_change() {
    explore_less(1, "a_reading_comes_with_its_change", || {
        let clock = TwoClocks(Arc::new(AtomicU64::new(0)));
        let pacer = Pacer::builder(rate("1M/s")).clock(clock.clone()).build();
        clock.0.store(3_500, Ordering::Relaxed);
        let other = spawn_with(&pacer, |pacer| {
            IS_BEHIND.with(|is_behind| is_behind.set(true));
            pacer.try_acquire()
        });
        pacer.pause();
        clock.0.store(SECOND + 3_500, Ordering::Relaxed);
        pacer.resume();
        match other.join().unwrap() {
            Ok(grant) => assert_eq!(wait_ns(grant), 3_500),
            Err(refused) => assert_eq!(refused, Refused::Paused),
        }
    });
}

#[derive(Clone, Debug)]
struct SetClock(Arc<AtomicU64>);

impl Clock for SetClock {
    fn now(&self) -> Nanos {
        Nanos::from_nanos(self.0.load(Ordering::Acquire))
    }

    fn park(&self, _: &Parker, _: Nanos) {
        loom::thread::yield_now();
    }
}

/// Threads: one that acquires two slots, after which the clock goes back by 100 ns; one that reads the start of the
/// second slot, and then the time. Edit: `Timeline::now` trusts the clock.
#[test]
fn now_is_never_before_a_start() {
    explore("now_is_never_before_a_start", || {
        let clock = SetClock(Arc::new(AtomicU64::new(0)));
        let pacer = Pacer::builder(rate("1M/s")).clock(clock.clone()).build();
        clock.0.store(3_500, Ordering::Release);
        let started = Arc::new(AtomicU64::new(0));
        let other = spawn({
            let (pacer, started) = (pacer.clone(), Arc::clone(&started));
            move || {
                let grants = [(); 2].map(|()| pacer.acquire().unwrap());
                clock.0.store(3_400, Ordering::Release);
                started.store(grants[1].actual_start().as_nanos(), Ordering::Release);
            }
        });
        let known = started.load(Ordering::Acquire);
        assert!(pacer.now().as_nanos() >= known);
        other.join().unwrap();
    });
}
