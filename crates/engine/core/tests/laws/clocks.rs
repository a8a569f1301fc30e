//! Tests that no slot starts early, and no burst occurs, on clocks that stop, jump ahead by years, or go back.

use crate::common::{
    DAY, HOUR, MICRO, MILLI, RoughClock, SECOND, WEEK, YEAR, actual_ns, assert_balanced, at, build,
    drain, intended_ns, put_off_to, rate, span, strictness,
};
use nanopace::{Claim, Clock, Lane, ManualClock, Nanos, Pacer, Parker};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

#[test]
fn the_policy_holds_after_a_week_or_a_year_of_suspension() {
    for suspended in [WEEK, YEAR, 100 * YEAR] {
        for text in ["1/d", "1/s", "1M/s", "10G/s"] {
            for number in [0.0, 0.5, 1.0, 1.1, 1000.0] {
                suspend(text, number, suspended);
            }
        }
    }
}

fn suspend(text: &str, number: f64, suspended: u64) {
    let clock = ManualClock::new();
    let pacer = build(text, &clock).strictness(strictness(number)).build();
    pacer.try_acquire().expect("due at once");
    clock.advance(span(suspended));
    assert_balanced(&pacer);
    for _ in 0..20 {
        let Ok(grant) = pacer.try_acquire() else { break };
        assert!(
            actual_ns(grant) <= suspended && intended_ns(grant) <= suspended,
            "{text} {number}: {grant:?}"
        );
        assert_balanced(&pacer);
    }
    if number >= 1.0 {
        assert!(put_off_to(&pacer) > suspended, "{text} {number}");
    }
    pacer.set_rate(rate("1/s"));
    assert_balanced(&pacer);
}

#[test]
fn the_maximum_backlog_makes_a_suspended_day_harmless() {
    let clock = ManualClock::new();
    let pacer = build("10G/s", &clock).max_backlog(span(10)).build();
    pacer.try_acquire().expect("due at once");
    clock.advance(span(DAY));
    // The backlog of 10 ns contains 100 slots. One more slot is due at the current time.
    assert_eq!(drain(&pacer).len(), 101);
}

#[test]
fn a_clock_that_does_not_advance_starts_nothing() {
    for number in [0.0, 0.5, 1.0, 1.1] {
        let clock = ManualClock::new();
        let pacer = build("10G/s", &clock).strictness(strictness(number)).build();
        assert_eq!(drain(&pacer).len(), 1, "strictness {number}");
        clock.advance(span(HOUR));
        pacer.acquire().expect("open");
        pacer.set_rate(rate("1/s"));
        assert_balanced(&pacer);
    }
}

#[test]
fn a_clock_that_goes_back_does_no_harm_beyond_a_late_start() {
    for number in [0.0, 0.5, 1.0, 1.1] {
        let clock = Arc::new(RoughClock::default());
        let pacer = Pacer::builder(rate("10/s"))
            .strictness(strictness(number))
            .clock(clock.clone())
            .build();
        let mut highest = 0;
        let mut starts = 0_u64;
        let mut elapsed = Duration::ZERO;
        for step in 0..3_000_u64 {
            let now = step * 50 * MILLI + (step * 7_919 % 31) * 20 * MILLI;
            clock.set(now);
            highest = highest.max(now);
            starts += drain(&pacer).len() as u64;
            assert!(
                starts <= highest / (100 * MILLI) + 1,
                "strictness {number}: {starts} by {highest}"
            );
            let before = std::mem::replace(&mut elapsed, pacer.ledger().elapsed);
            assert!(elapsed >= before, "strictness {number}: {before:?}, then {elapsed:?}");
        }
    }
}

#[test]
fn a_rate_change_on_a_clock_that_went_back_gives_no_credit() {
    let clock = Arc::new(RoughClock::default());
    let pacer = Pacer::builder(rate("1/s")).clock(clock.clone()).build();
    clock.set(10 * SECOND);
    assert_eq!(drain(&pacer).len(), 11);
    clock.set(5 * SECOND);
    pacer.set_rate(rate("1000/s"));
    clock.set(10 * SECOND);
    // Slot 11 is at most 1 ms away.
    assert_eq!(drain(&pacer).len(), 0);
    clock.set(10 * SECOND + 5 * MILLI);
    assert!((4..=6).contains(&drain(&pacer).len()));
}

#[test]
fn a_pause_on_a_clock_that_goes_back_is_no_panic() {
    let clock = Arc::new(RoughClock::default());
    let pacer =
        Pacer::builder(rate("10/s")).strictness(strictness(1.1)).clock(clock.clone()).build();
    for (paused, resumed) in [(5, 2), (7, 6), (1, 8), (9, 0), (20, 30)] {
        clock.set(paused * SECOND);
        drain(&pacer);
        pacer.pause();
        clock.set(resumed * SECOND);
        assert_eq!(drain(&pacer).len(), 0);
        let _ = pacer.ledger();
        pacer.resume();
    }
    clock.set(60 * SECOND);
    assert!(pacer.acquire().is_ok());
}

/// A line has a reach of 2^46 slots. 23 000 rows of 2^32 - 1 slots are more than that.
#[test]
fn slots_start_on_time_beyond_the_reach_of_a_line() {
    let clock = ManualClock::jumping();
    let pacer = build("10G/s", &clock).build();
    let taken = 23_000 * u64::from(u32::MAX);
    assert!((0..23_000).all(|_| pacer.acquire_many(u32::MAX).is_ok()));
    clock.advance(span(2 * SECOND));
    for slot in taken..taken + 10_000 {
        assert_eq!(intended_ns(pacer.acquire().expect("due")), slot.div_ceil(10));
    }
}

/// Every sleep ends 8 ms late. Under strictness 0.5 without a tolerance, half of each lateness is forfeited, so slot 2
/// is due at 20 + 4 ms. Under a ratio of 2 without a tolerance, slot 2 is due half an interval (5 ms) after the late
/// start of slot 1 at 18 ms.
#[test]
fn overruns_of_pauses_are_made_up_for_within_the_tolerance_unless_strict() {
    for (number, tolerance, starts) in [
        (0.0, 0, [18, 28, 38]),
        (0.5, 0, [18, 32, 46]),
        (2.0, 0, [18, 31, 44]),
        (0.5, 8 * MILLI, [18, 28, 38]),
        (2.0, 8 * MILLI, [18, 28, 38]),
        (1.0, 8 * MILLI, [18, 36, 54]),
    ] {
        let clock = Arc::new(RoughClock::default());
        let builder =
            Pacer::builder(rate("100/s")).strictness(strictness(number)).tolerance(span(tolerance));
        let pacer = builder.clock(clock.clone()).build();
        pacer.acquire().expect("due at once");
        clock.set_oversleep(8 * MILLI);
        let actual = starts.map(|_| actual_ns(pacer.acquire().expect("open")));
        assert_eq!(
            actual,
            starts.map(|ms| ms * MILLI),
            "strictness {number}, tolerance {tolerance}"
        );
    }
}

/// A clock on which every second reading is a microsecond too low. After about 10 000 readings, the clock panics, so
/// that no test hangs.
#[derive(Debug)]
struct AlternatingClock {
    base: AtomicU64,
    readings: AtomicU64,
}

impl Clock for AlternatingClock {
    fn now(&self) -> Nanos {
        let reading = self.readings.fetch_add(1, Ordering::Relaxed);
        assert!(reading < 10_000, "read without end");
        at(self.base.load(Ordering::Relaxed).saturating_sub(reading % 2 * MICRO))
    }

    fn park(&self, _: &Parker, _: Nanos) {}
}

#[test]
fn a_caller_that_has_seen_its_slot_due_does_not_wait_for_it_again() {
    for number in [0.0, 1.0, 1.1] {
        for first in 0..4 {
            let clock = Arc::new(AlternatingClock {
                base: AtomicU64::new(0),
                readings: AtomicU64::new(first),
            });
            let pacer = Pacer::builder(rate("1000/s"))
                .strictness(strictness(number))
                .clock(clock.clone())
                .build();
            pacer.acquire().expect("due at once");
            clock.base.store(MILLI + MICRO / 2, Ordering::Relaxed);
            let tried = pacer.try_acquire().is_ok();
            let started = pacer.acquire_deadline(pacer.now()).is_ok();
            assert!(tried != started, "strictness {number}, {first}: {tried}, {started}");
        }
    }
}

/// Simulates a clock whose readings differ between processors. In one thread, the readings are a microsecond too low.
#[derive(Debug, Default)]
struct SkewedClock(ManualClock);

thread_local! {
    static IS_BEHIND: Cell<bool> = const { Cell::new(false) };
}

impl Clock for SkewedClock {
    fn now(&self) -> Nanos {
        let behind = if IS_BEHIND.get() { 1_000 } else { 0 };
        at(self.0.now().as_nanos().saturating_sub(behind))
    }

    fn park(&self, _: &Parker, until: Nanos) {
        self.0.set(until);
    }
}

#[test]
fn no_reading_by_a_thread_that_knows_of_a_start_is_before_it() {
    for number in [0.0, 1.0] {
        let clock = Arc::new(SkewedClock::default());
        let pacer = Pacer::builder(rate("1M/s"))
            .strictness(strictness(number))
            .clock(clock.clone())
            .build();
        let mut lane = pacer.lane();
        let ways: [&mut dyn FnMut() -> u64; 6] = [
            &mut || actual_ns(pacer.acquire().expect("late")),
            &mut || actual_ns(lane.acquire().expect("late")),
            &mut || actual_ns(pacer.claim().expect("open").start().expect("late")),
            &mut || actual_ns(pacer.acquire_many(7).expect("late")),
            &mut || actual_ns(pacer.acquire_many(0).expect("open")),
            &mut || {
                while pacer.try_acquire().is_ok() {}
                actual_ns(pacer.acquire().expect("open"))
            },
        ];
        for way in ways {
            clock.0.advance(span(SECOND));
            let start = way();
            let now = thread::scope(|scope| {
                let behind = scope.spawn(|| {
                    IS_BEHIND.set(true);
                    pacer.now().as_nanos()
                });
                behind.join().expect("no panic")
            });
            assert!(now >= start, "{now} after {start}");
        }
    }
}

#[derive(Debug, Default)]
struct PanickingClock {
    clock: ManualClock,
    panics: AtomicBool,
}

impl Clock for PanickingClock {
    fn now(&self) -> Nanos {
        assert!(!self.panics.load(Ordering::Relaxed), "a clock that can't be read");
        self.clock.now()
    }
}

#[test]
fn a_clock_that_panics_leaves_the_pacer_whole() {
    let clock = Arc::new(PanickingClock::default());
    let pacer = Pacer::builder(rate("10/s")).clock(clock.clone()).build();
    let mut lane = pacer.lane();
    pacer.acquire().expect("due at once");
    clock.clock.advance(span(SECOND));
    clock.panics.store(true, Ordering::Relaxed);
    let mut calls: [&mut (dyn FnMut() + UnwindSafe); 6] = [
        &mut || assert!(pacer.acquire_timeout(span(0)).is_ok()),
        &mut || assert_balanced(&pacer),
        &mut || pacer.set_rate(rate("20/s")),
        &mut || pacer.pause(),
        &mut || pacer.close(),
        &mut || assert!(pacer.acquire_many(2).is_ok()),
    ];
    for call in &mut calls {
        assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
    }
    clock.panics.store(false, Ordering::Relaxed);
    let mut starts: Vec<u64> = (0..5).map(|_| intended_ns(lane.acquire().expect("open"))).collect();
    lane.give_back();
    starts.extend(drain(&pacer).into_iter().map(intended_ns));
    assert_eq!(starts, (1..=10).map(|slot| slot * 100 * MILLI).collect::<Vec<_>>());
    assert_balanced(&pacer);
}

#[test]
fn handles_may_be_carried_through_a_panic() {
    fn is_unwind_safe<T: UnwindSafe + RefUnwindSafe + Send + Sync>() {}
    is_unwind_safe::<Pacer>();
    is_unwind_safe::<Lane>();
    is_unwind_safe::<Claim<'_>>();
}

#[test]
fn moments_end_where_the_range_does() {
    let last = Nanos::from_nanos(i64::MAX.unsigned_abs());
    assert_eq!(last, Nanos::MAX);
    assert_eq!(Nanos::from_nanos(i64::MAX.unsigned_abs() + 1), last);
    assert_eq!(Nanos::from_nanos(u64::MAX), last);
    assert_eq!(last + span(1), last);
    assert_eq!((at(5) - at(7), at(7) - at(5)), (span(0), span(2)));
}

#[test]
fn memory_of_a_pacer_does_not_grow_with_its_sleeps() {
    let clock = Arc::new(RoughClock::default());
    let pacer = Pacer::builder(rate("1/s")).clock(clock.clone()).build();
    let size_after = |sleeps: u64| {
        (0..sleeps).for_each(|_| assert!(pacer.acquire().is_ok()));
        format!("{pacer:?}").len()
    };
    // If a thousand sleepers were still stored, the string would grow by thousands of characters.
    assert!(size_after(100) + 1_000 > size_after(1_000));
}
