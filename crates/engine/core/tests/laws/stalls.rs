//! Tests how grants report a stall, on a clock that the tests move. A wait time is exact under a late policy. In an
//! open loop it is at most 10 us too short while callers keep their pace, and the number of starts whose wait time
//! misses a stall is at most the number of starts that callers make in 10 us.

use crate::common::{MICRO, MILLI, SECOND, at, rate, span, strictness};
use nanopace::{Claim, Clock, Grant, Lane, ManualClock, Nanos, Pacer, PacerBuilder};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const YOUNG_NS: u64 = 10 * MICRO;

const MOST: u64 = 2048;

const RATES: [&str; 8] = ["1/s", "10/s", "100/s", "2.4k/s", "10k/s", "200k/s", "1M/s", "10M/s"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Acquire,
    TryAcquire,
    Timeout,
    Row,
    Claim,
    Lane,
    /// The worker alternates between a lane and the shared call. Neither uses an old reading of the other.
    Both,
}

const WAYS: [Way; 7] =
    [Way::Acquire, Way::TryAcquire, Way::Timeout, Way::Row, Way::Claim, Way::Lane, Way::Both];

struct Worker {
    clock: ManualClock,
    pacer: Pacer,
    lane: Lane,
    way: Way,
    starts: u64,
}

#[derive(Clone, Copy, Debug)]
struct Told {
    wait_ns: u64,
    truth_ns: u64,
}

impl Told {
    fn missing_ns(self) -> u64 {
        assert!(self.wait_ns <= self.truth_ns, "more than the true wait time: {self:?}");
        self.truth_ns - self.wait_ns
    }
}

impl Worker {
    fn new(way: Way, builder: PacerBuilder, behind: Duration) -> Worker {
        let clock = ManualClock::jumping();
        let pacer = builder.tolerance(Duration::ZERO).clock(clock.clone()).build();
        clock.advance(behind);
        let lane = pacer.lane();
        Worker { clock, pacer, lane, way, starts: 0 }
    }

    fn operate(&mut self, nanos: u64) -> Option<Told> {
        self.starts += 1;
        let told = self.start().map(|grant| {
            let (now, intended) = (self.clock.now(), grant.intended_start());
            assert!(intended <= now, "early: {grant:?}");
            Told { wait_ns: grant.wait_nanos(), truth_ns: now.as_nanos() - intended.as_nanos() }
        });
        self.clock.advance(span(nanos));
        told
    }

    fn operate_late(&mut self, nanos: u64) -> Told {
        self.operate(nanos).expect("a slot is due")
    }

    fn start(&mut self) -> Option<Grant> {
        let by_lane =
            self.way == Way::Lane || self.way == Way::Both && self.starts.is_multiple_of(2);
        match self.way {
            Way::TryAcquire => self.pacer.try_acquire().ok(),
            Way::Timeout => self.pacer.acquire_timeout(Duration::ZERO).ok(),
            Way::Claim => self.pacer.claim().ok().and_then(|mut claim: Claim| claim.start().ok()),
            Way::Row => self.pacer.acquire_many(2).ok(),
            _ if by_lane => self.lane.acquire().ok(),
            _ => self.pacer.acquire().ok(),
        }
    }
}

fn enough(text: &str, starts: u64) -> Duration {
    Duration::from_secs_f64(rate(text).interval_ns() * 1e-9).mul_f64(2.5)
        * u32::try_from(starts).expect("few")
}

#[test]
fn at_a_steady_pace_a_wait_time_is_at_most_ten_microseconds_short() {
    for way in WAYS {
        for text in RATES {
            for operation_ns in [7, 100, MICRO, 9 * MICRO, 20 * MICRO, 20 * MILLI] {
                let mut worker = Worker::new(way, Pacer::builder(rate(text)), enough(text, 3_000));
                for _ in 0..3_000 {
                    let missing = worker.operate_late(operation_ns).missing_ns();
                    assert!(
                        missing <= YOUNG_NS,
                        "{way:?} at {text}, {operation_ns} ns each: {missing} ns"
                    );
                    assert!(
                        missing == 0 || operation_ns < YOUNG_NS,
                        "{way:?} at {text}: {missing} ns"
                    );
                }
            }
        }
    }
}

#[test]
fn a_stall_goes_unnoticed_by_as_many_starts_as_were_made_in_ten_microseconds() {
    for way in WAYS {
        for text in RATES {
            for operation_ns in [7, 100, MICRO, 9 * MICRO, 20 * MICRO, 20 * MILLI] {
                for before in [1, 2, 3, 10, 100, 2_000] {
                    let mut worker =
                        Worker::new(way, Pacer::builder(rate(text)), enough(text, 7_000));
                    for _ in 1..before {
                        worker.operate_late(operation_ns);
                    }
                    worker.operate_late(10 * SECOND);
                    let unnoticed = (0..4_000)
                        .filter(|_| worker.operate_late(operation_ns).missing_ns() > YOUNG_NS);
                    // At most twice as many starts as the last reading served miss the stall.
                    let most = (YOUNG_NS / operation_ns).min(2 * before).min(MOST);
                    let unnoticed = unnoticed.count() as u64;
                    assert!(
                        unnoticed <= most,
                        "{way:?} at {text}, {before} x {operation_ns} ns: {unnoticed}"
                    );
                }
            }
        }
    }
}

/// The remaining starts with the last reading miss all the time since that reading, and not only one stall.
#[test]
fn slow_starts_have_their_own_readings_only_when_the_last_reading_is_used_up() {
    for way in WAYS {
        let mut worker = Worker::new(way, Pacer::builder(rate("1M/s")), Duration::from_secs(10));
        for _ in 0..2_000 {
            worker.operate_late(50);
        }
        let missing: Vec<u64> =
            (0..1_000).map(|_| worker.operate_late(MILLI).missing_ns()).collect();
        // A lane and the shared call have a reading each, for at most 200 starts.
        let most = 2 * usize::try_from(YOUNG_NS / 50).expect("few");
        assert!(missing[most..].iter().all(|&ns| ns == 0), "{way:?}: {missing:?}");
        let longest = missing.iter().max().expect("some");
        assert!(
            matches!(way, Way::Timeout | Way::Row | Way::Claim) || *longest > 10 * MILLI,
            "{way:?}: {longest} ns"
        );
    }
}

#[test]
fn the_starts_after_a_first_stall_report_it() {
    for way in WAYS {
        let mut worker = Worker::new(way, Pacer::builder(rate("200k/s")), Duration::ZERO);
        assert_eq!(worker.operate(10 * SECOND).expect("due").truth_ns, 0);
        let told: Vec<u64> = (0..2).map(|_| worker.operate(MILLI).expect("late").wait_ns).collect();
        let slots = if way == Way::Row { 2 } else { 1 };
        let truth =
            [0, 1].map(|start| 10 * SECOND + start * MILLI - (start + 1) * slots * 5 * MICRO);
        assert_eq!(told, truth, "{way:?}");
    }
}

/// A run of a lane does not count towards the pace after the reading of the run. The next reading therefore serves at
/// most two shared starts, and the third start reports a stall.
#[test]
fn the_run_of_a_lane_does_not_count_as_the_pace_of_others() {
    let mut worker = Worker::new(Way::Lane, Pacer::builder(rate("1M/s")), Duration::from_secs(1));
    for _ in 0..40 {
        worker.operate_late(0);
    }
    worker.way = Way::Acquire;
    worker.clock.advance(span(5 * MICRO));
    worker.operate_late(10 * SECOND);
    let missing = [(); 3].map(|()| worker.operate_late(0).missing_ns());
    assert_eq!(missing[1..], [0, 0], "{missing:?}");
}

/// A start of no slot, or of a row of slots, publishes the clock's reading for all callers.
#[test]
fn other_starts_in_between_make_no_caller_seem_faster() {
    for between in [0, 2] {
        let mut worker =
            Worker::new(Way::Acquire, Pacer::builder(rate("1M/s")), Duration::from_secs(20));
        for _ in 0..2 * MOST {
            worker.operate_late(1);
        }
        for _ in 0..MOST {
            worker.clock.advance(span(MILLI));
            worker.pacer.acquire_many(between).expect("open");
            worker.operate_late(1);
        }
        for _ in 0..MOST {
            let missing = worker.operate_late(MILLI).missing_ns();
            assert!(missing <= YOUNG_NS, "{between} between: {missing} ns");
        }
    }
}

fn policies(text: &str) -> [PacerBuilder; 6] {
    [
        Pacer::builder(rate(text)).strictness(strictness(0.5)),
        Pacer::builder(rate(text)).strictness(strictness(1.0)),
        Pacer::builder(rate(text)).strictness(strictness(1.1)),
        Pacer::builder(rate(text)).max_backlog(span(MILLI)),
        Pacer::builder(rate(text)).skip_later_than(span(MILLI)),
        Pacer::builder(rate(text)).strictness(strictness(1.5)).skip_later_than(span(MILLI)),
    ]
}

#[test]
fn wait_times_are_exact_if_a_policy_is_set() {
    for way in WAYS {
        for text in RATES {
            for operation_ns in [7, MICRO, 20 * MILLI] {
                for (number, builder) in policies(text).into_iter().enumerate() {
                    let mut worker = Worker::new(way, builder, 10 * enough(text, 1));
                    for start in 0..200_u64 {
                        let stall = [0, 0, 0, 2 * MILLI, 0, 0, SECOND]
                            [usize::try_from(start % 7).expect("small")];
                        let told = worker.operate(operation_ns + stall);
                        let missing = told.map_or(0, Told::missing_ns);
                        assert_eq!(
                            missing, 0,
                            "{way:?} at {text}, {operation_ns} ns, policy {number}: {told:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn nothing_starts_later_than_the_limit_whatever_stalls() {
    for way in WAYS.into_iter().filter(|&way| way != Way::Row) {
        for text in RATES {
            let builder = Pacer::builder(rate(text)).skip_later_than(span(MILLI));
            let mut worker = Worker::new(way, builder, 3 * enough(text, 1));
            for start in 0..400_u64 {
                let operation_ns =
                    [MICRO, 3 * MICRO, 60 * MILLI][usize::try_from(start % 3).expect("small")];
                let late = worker.operate(operation_ns);
                assert!(
                    late.is_none_or(|told| told.truth_ns <= MILLI),
                    "{way:?} at {text}: {late:?}"
                );
            }
        }
    }
}

/// Every slot is too late at the reading after its claim, because each reading takes 500 ns and the limit is 200 ns.
#[test]
fn a_limit_that_is_shorter_than_a_reading_of_the_clock_hangs_no_caller() {
    let clock = Arc::new(SlowClock(AtomicU64::new(0)));
    let pacer = Pacer::builder(rate("100M/s")).skip_later_than(span(200)).clock(clock).build();
    let mut lane = pacer.lane();
    for _ in 0..1_000 {
        assert!(pacer.acquire().expect("open").wait_nanos() <= 200);
        assert!(lane.acquire().expect("open").wait_nanos() <= 200);
        assert!(pacer.try_acquire().is_ok_and(|grant| grant.wait_nanos() <= 200));
    }
}

#[derive(Debug)]
struct SlowClock(AtomicU64);

impl Clock for SlowClock {
    fn now(&self) -> Nanos {
        at(self.0.fetch_add(500, Ordering::Relaxed))
    }

    fn park(&self, _: &nanopace::Parker, until: Nanos) {
        self.0.fetch_max(until.as_nanos(), Ordering::Relaxed);
    }
}

#[derive(Clone, Debug, Default)]
struct CountingClock(ManualClock, Arc<AtomicU64>);

impl Clock for CountingClock {
    fn now(&self) -> Nanos {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.now()
    }
}

/// A clock on which each reading is 1 ns later than the one before, however many starts come in between.
#[derive(Debug, Default)]
struct TickingClock(AtomicU64);

impl Clock for TickingClock {
    fn now(&self) -> Nanos {
        at(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

#[test]
fn a_reading_serves_no_more_than_the_most() {
    for by_lane in [false, true] {
        let clock = Arc::new(TickingClock::default());
        let pacer = Pacer::builder(rate("1G/s")).clock(clock.clone()).build();
        clock.0.store(3_600 * SECOND, Ordering::Relaxed);
        let mut lane = pacer.lane();
        let mut served = HashMap::<Nanos, u64>::new();
        for _ in 0..50_000 {
            let grant = if by_lane { lane.acquire() } else { pacer.acquire() };
            *served.entry(grant.expect("open").actual_start()).or_default() += 1;
        }
        assert_eq!(served.into_values().max(), Some(MOST), "by a lane: {by_lane}");
    }
}

#[test]
fn a_reading_serves_all_slots_that_are_due_within_less_than_ten_microseconds() {
    for operation_ns in [5, 100, MICRO, 2_500, 20 * MICRO] {
        for by_lane in [false, true] {
            let clock = CountingClock::default();
            let pacer = Pacer::builder(rate("1G/s")).clock(clock.clone()).build();
            clock.0.advance(span(3_600 * SECOND));
            let mut lane = pacer.lane();
            let mut start = || {
                let grant = if by_lane { lane.acquire() } else { pacer.acquire() };
                assert!(grant.is_ok());
                clock.0.advance(span(operation_ns));
            };
            // At first, a reading serves twice as many starts as the reading before.
            (0..20_000).for_each(|_| start());
            let before = clock.1.load(Ordering::Relaxed);
            (0..20_000).for_each(|_| start());
            let readings = clock.1.load(Ordering::Relaxed) - before;
            let each = ((YOUNG_NS - 1) / operation_ns).clamp(1, MOST);
            let (least, most) = (20_000 / (each + 1), 20_000 / each + 2);
            assert!(
                (least..=most).contains(&readings),
                "{operation_ns} ns, by a lane {by_lane}: {readings}"
            );
        }
    }
}

/// The last run of a lane that becomes slow is as long as its runs before. After that, the lane claims slots one by
/// one.
#[test]
fn a_lane_that_becomes_slow_holds_no_slots_that_others_could_start() {
    let mut worker = Worker::new(Way::Lane, Pacer::builder(rate("1M/s")), enough("1M/s", 50_000));
    for _ in 0..20_000 {
        worker.operate_late(10);
    }
    let granted = |worker: &Worker| worker.pacer.ledger().granted - worker.starts;
    assert!(granted(&worker) <= YOUNG_NS / 10);
    while granted(&worker) > 0 {
        worker.operate_late(20 * MILLI);
    }
    for _ in 0..100 {
        worker.operate_late(20 * MILLI);
        assert_eq!(granted(&worker), 0);
    }
}

/// Returns the maximum lateness of a start, and the number of starts.
fn worst_lateness(workers: usize, by_lane: bool) -> (Duration, usize) {
    const OPERATION: Duration = Duration::from_millis(20);
    let clock = ManualClock::jumping();
    let pacer = Pacer::builder(rate("2.4k/s")).clock(clock.clone()).build();
    let mut crew: Vec<(Nanos, Lane)> = (0..workers).map(|_| (at(0), pacer.lane())).collect();
    let (mut worst, mut starts) = (Duration::ZERO, 0);
    let stall = (at(SECOND), at(3 * SECOND));
    while clock.now() < at(12 * SECOND) {
        let next = (0..crew.len()).min_by_key(|&index| crew[index].0).expect("some");
        clock.set(crew[next].0);
        let grant = if by_lane { crew[next].1.acquire() } else { pacer.acquire() }.expect("open");
        let now = clock.now();
        worst = worst.max(now - grant.intended_start());
        starts += 1;
        crew[next].0 = if (stall.0..stall.1).contains(&now) { stall.1 } else { now } + OPERATION;
    }
    (worst, starts)
}

#[test]
fn lanes_start_no_later_than_the_shared_call_after_a_stall() {
    for workers in [1, 2, 50, 64, 200] {
        let (shared, lanes) = (worst_lateness(workers, false), worst_lateness(workers, true));
        assert_eq!(lanes, shared, "{workers} workers");
    }
    // In 2 s, 4800 slots become due. Each of 64 workers starts one of them and stalls. The other 4736 are late when the
    // stall ends, and are started at 3.2 k/s. The first of them is almost 2 s late, and the later ones are less late.
    assert!(worst_lateness(64, true).0 <= Duration::from_secs(2));
}
