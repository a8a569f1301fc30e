//! What clocks do: stand still, jump ahead by years, go back. No panic, no early start, no burst (DESIGN 2.9 and its traps).

mod common;

use common::{
    DAY, HOUR, MICRO, MILLI, RoughClock, SECOND, WEEK, YEAR, actual_ns, assert_balanced, at, build, drain,
    intended_ns, put_off_to, rate, span, strictness,
};
use nanopace::{Clock, ManualClock, Nanos, Pacer, PacerBuilder};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[test]
fn a_week_or_a_year_of_suspension_obeys_the_policy() {
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
    // 10 ns hold 100 slots and the one that is due just now.
    assert_eq!(drain(&pacer).len(), 101);
}

#[test]
fn a_clock_that_stands_still_starts_nothing() {
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
        let pacer = Pacer::builder(rate("10/s")).strictness(strictness(number)).clock(clock.clone()).build();
        let mut highest = 0;
        let mut starts = 0_u64;
        for step in 0..3_000_u64 {
            let now = step * 50 * MILLI + (step * 7_919 % 31) * 20 * MILLI;
            clock.set(now);
            highest = highest.max(now);
            starts += drain(&pacer).len() as u64;
            // 10/s up to the latest reading there was, and slot 0.
            assert!(starts <= highest / (100 * MILLI) + 1, "strictness {number}: {starts} by {highest}");
            let _ = pacer.ledger();
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
    // Slot 11 is at most 1 ms away; nothing is due.
    assert_eq!(drain(&pacer).len(), 0);
    clock.set(10 * SECOND + 5 * MILLI);
    assert!((4..=6).contains(&drain(&pacer).len()));
}

#[test]
fn a_pause_on_a_clock_that_goes_back_is_no_panic() {
    let clock = Arc::new(RoughClock::default());
    let pacer = Pacer::builder(rate("10/s")).strictness(strictness(1.1)).clock(clock.clone()).build();
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

/// A clock for one thread that counts how often it is read, and jumps to the end of a pause.
#[derive(Debug, Default)]
struct CountingClock {
    now: AtomicU64,
    readings: AtomicU64,
}

impl CountingClock {
    fn readings(&self) -> u64 {
        self.readings.load(Ordering::Relaxed)
    }

    /// A pacer of which slot 0 has started at 0, on a clock that has come to `now` since.
    fn started(builder: PacerBuilder, now: u64) -> (Arc<CountingClock>, Pacer) {
        let clock = Arc::new(CountingClock::default());
        let pacer = builder.clock(clock.clone()).build();
        pacer.acquire().expect("due at once");
        clock.now.store(now, Ordering::Relaxed);
        (clock, pacer)
    }

    /// How many slots start before the clock is read more than `times`.
    fn starts_on(&self, times: u64, pacer: &Pacer) -> usize {
        let before = self.readings();
        let starts_without = |_: &i32| pacer.acquire().is_ok() && self.readings() <= before + times;
        (0..10_000).take_while(starts_without).count()
    }
}

impl Clock for CountingClock {
    fn now(&self) -> Nanos {
        self.readings.fetch_add(1, Ordering::Relaxed);
        at(self.now.load(Ordering::Relaxed))
    }

    fn park(&self, _: &nanopace::clock::Parker, until: Nanos) {
        self.now.store(until.as_nanos(), Ordering::Relaxed);
    }
}

#[test]
fn one_reading_serves_ten_microseconds_of_schedule_or_a_64th_of_the_lateness() {
    // (rate, how late slot 1 is, how many slots behind it go on the same reading): 10 us hold 10 slots at 1 M/s, 1 at 100 k/s and
    // less than one at 99 k/s; a 64th of 64 ms holds 1 000 at 1 M/s; 2048 is the most.
    for (text, late, behind) in [
        ("1000/s", 10 * MICRO, 0),
        ("99k/s", 500 * MICRO, 0),
        ("100k/s", 500 * MICRO, 1),
        ("1M/s", 4 * MICRO, 4),
        ("1M/s", 320 * MICRO, 10),
        ("1M/s", 64 * MILLI, 1_000),
        ("1M/s", HOUR, 2_048),
        ("1/s", 640 * SECOND, 10),
        ("1G/s", MICRO, 1_000),
        ("1G/s", HOUR, 2_048),
    ] {
        let slot_1 = put_off_to_after_slot_0(text);
        let (clock, pacer) = CountingClock::started(Pacer::builder(rate(text)), slot_1 + late);
        assert_eq!(clock.starts_on(1, &pacer), 1 + behind, "{text}, {late} ns late");
    }
}

fn put_off_to_after_slot_0(text: &str) -> u64 {
    let pacer = build(text, &ManualClock::new()).build();
    pacer.try_acquire().expect("due at once");
    put_off_to(&pacer)
}

#[test]
fn where_lateness_matters_a_reading_serves_ten_microseconds_of_schedule() {
    // 1 M/s, and slot 1 is 64 ms late: that alone would let 1 000 go on one reading.
    let limit = span(SECOND);
    for builder in [
        Pacer::builder(rate("1M/s")).max_backlog(limit),
        Pacer::builder(rate("1M/s")).skip_later_than(limit),
        Pacer::builder(rate("1M/s")).strictness(strictness(0.5)).tolerance(limit),
        Pacer::builder(rate("1M/s")).strictness(strictness(1.1)).tolerance(limit),
    ] {
        let (clock, pacer) = CountingClock::started(builder, MICRO + 64 * MILLI);
        assert_eq!(clock.starts_on(1, &pacer), 1 + 10, "{pacer:?}");
    }
}

#[test]
fn what_a_change_reads_serves_the_backlog_from_before_it() {
    // At 1 M/s slots 1 to 64 000 are due, a 64th of which go on the reading of the change.
    let (clock, pacer) = CountingClock::started(Pacer::builder(rate("1M/s")), 64 * MILLI);
    pacer.set_rate(rate("1/s"));
    assert_eq!(clock.starts_on(0, &pacer), 1_000);
}

#[test]
fn a_reading_serves_whoever_asks_whether_a_slot_is_due() {
    // 1 M/s, and slot 1 is 64 ms late: 1 000 slots go on the reading that it starts on.
    let (clock, pacer) = CountingClock::started(Pacer::builder(rate("1M/s")), MICRO + 64 * MILLI);
    pacer.acquire().expect("due");
    let before = clock.readings();
    assert!((0..1_000).all(|_| pacer.try_acquire().is_ok()));
    assert_eq!(clock.readings(), before);
}

/// What others ask meanwhile changes nothing.
#[test]
fn a_lane_reads_the_clock_once_for_a_block() {
    // A 64th of what slot 2 is late, or 10 us of schedule.
    for (text, late, block) in
        [("1M/s", 64 * MILLI, 999), ("1M/s", 20 * MICRO, 10), ("2k/s", 640 * MILLI, 19)]
    {
        let slot_1 = put_off_to_after_slot_0(text);
        let (clock, pacer) = CountingClock::started(Pacer::builder(rate(text)), slot_1 + late);
        let mut lane = pacer.lane();
        lane.acquire().expect("due");
        pacer.try_acquire().expect("due");
        let before = clock.readings();
        assert!((1..block).all(|_| lane.acquire().is_ok()));
        assert_eq!(clock.readings(), before, "{text}, {late} ns late");
        lane.acquire().expect("due");
        assert!(clock.readings() > before, "{text}, {late} ns late");
    }
}

#[test]
fn one_reading_serves_many_again_when_what_came_back_is_taken() {
    let (clock, pacer) = CountingClock::started(Pacer::builder(rate("1M/s")), MICRO + 64 * MILLI);
    let [first, _second] = [(); 2].map(|()| pacer.claim().expect("open"));
    drop(first);
    assert!(pacer.acquire().is_ok());
    // A 64th of 64 000 go on the reading that there is, and as many of those left on the next.
    assert!(clock.starts_on(1, &pacer) >= 1_900);
}

#[test]
fn one_reading_serves_many_again_when_the_backlog_from_before_a_change_is_taken() {
    let (clock, pacer) = CountingClock::started(Pacer::builder(rate("1k/s")), 9 * MILLI);
    pacer.set_rate(rate("1M/s"));
    clock.now.store(73 * MILLI, Ordering::Relaxed);
    // Slots 1 to 9 from before the change, and the first of the 64 000 behind it.
    assert!((0..10).all(|_| pacer.acquire().is_ok()));
    // A 64th of 64 000 go on the reading that there is, and as many of those left on the next.
    assert!(clock.starts_on(1, &pacer) >= 1_900);
}

/// A line reaches 2^46 slots. Rows of 2^32 - 1 slots start in time, 23 000 of them.
#[test]
fn one_reading_serves_many_also_beyond_the_reach_of_a_line() {
    let (clock, pacer) = CountingClock::started(Pacer::builder(rate("10G/s")), 0);
    assert!((0..23_000).all(|_| pacer.acquire_many(u32::MAX).is_ok()));
    clock.now.fetch_add(2 * SECOND, Ordering::Relaxed);
    assert_eq!(clock.starts_on(1, &pacer), 1 + 2_048);
}

#[test]
fn only_strict_forfeits_what_its_pauses_overrun() {
    // 100/s, and every sleep takes 8 ms longer: 2 ms are left of the next interval.
    for (number, starts) in
        [(0.0, [18, 28, 38]), (0.5, [18, 28, 38]), (1.0, [18, 36, 54]), (2.0, [18, 28, 38])]
    {
        let clock = Arc::new(RoughClock::default());
        let builder = Pacer::builder(rate("100/s")).strictness(strictness(number)).tolerance(span(0));
        let pacer = builder.clock(clock.clone()).build();
        pacer.acquire().expect("due at once");
        clock.set_oversleep(8 * MILLI);
        let actual = starts.map(|_| actual_ns(pacer.acquire().expect("open")));
        assert_eq!(actual, starts.map(|ms| ms * MILLI), "strictness {number}");
    }
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
fn what_a_pacer_keeps_does_not_grow_with_its_sleeps() {
    let clock = Arc::new(RoughClock::default());
    let pacer = Pacer::builder(rate("1/s")).clock(clock.clone()).build();
    let size_after = |sleeps: u64| {
        (0..sleeps).for_each(|_| assert!(pacer.acquire().is_ok()));
        format!("{pacer:?}").len()
    };
    // Figures may grow by some digits; a thousand sleepers that are still remembered would be thousands.
    assert!(size_after(100) + 1_000 > size_after(1_000));
}
