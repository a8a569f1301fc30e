//! Measures how exact starts are (lateness, gaps and rate), and their CPU time.

use crate::float;
use crate::os;
use nanopace::{Lane, Nanos, Pacer, Pause, Rate};
use std::thread;
use std::time::{Duration, Instant};

/// The measurements of a series of starts.
#[derive(Clone, Debug, Default)]
pub struct Starts {
    /// The lateness of each start, in nanoseconds.
    pub late_ns: Vec<f64>,
    /// The gaps between starts, as multiples of the interval.
    pub gaps: Vec<f64>,
    /// The CPU time as a share of one core.
    pub cpu: f64,
}

impl Starts {
    fn new(late_ns: Vec<f64>, starts_ns: &[u64], interval_ns: f64, cpu: f64) -> Starts {
        let gaps =
            starts_ns.windows(2).map(|pair| float(pair[1] - pair[0]) / interval_ns).collect();
        Starts { late_ns, gaps, cpu }
    }

    /// Returns the share of gaps that differ from the interval by at most 25 %.
    #[must_use]
    pub fn even(&self) -> f64 {
        let even = self.gaps.iter().filter(|gap| (0.75..=1.25).contains(*gap)).count();
        float(even as u64) / float(self.gaps.len() as u64)
    }
}

/// Runs `work` in a new thread, because a pause strategy changes settings of its thread.
fn fresh<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(work).join().expect("a worker that does not panic"))
}

/// The unrecorded time at the start of each series, in which the thread learns how late it wakes.
const LEARNING: Duration = Duration::from_millis(300);

/// Measures starts with a lane of a pacer, after an unrecorded time of 0.3 s.
///
/// # Panics
/// Panics if a slot is lost.
#[must_use]
pub fn paced(rate: Rate, pause: Pause, count: usize) -> Starts {
    fresh(|| {
        let pacer = Pacer::builder(rate).pause(pause).build();
        let mut lane = pacer.lane();
        let learning = (LEARNING.as_secs_f64() * rate.as_hz()).ceil();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let learning = learning as usize;
        for _ in 0..learning {
            lane.acquire().expect("an open pacer");
        }
        let (mut late_ns, mut starts_ns) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let usage = Usage::new();
        for _ in 0..count {
            let grant = lane.acquire().expect("an open pacer");
            let now = pacer.now();
            late_ns.push((now - grant.intended_start()).as_secs_f64() * 1e9);
            starts_ns.push(now.as_nanos());
        }
        let cpu = usage.share();
        drop(lane);
        assert_eq!(pacer.ledger().granted, (learning + count) as u64, "a slot was lost");
        Starts::new(late_ns, &starts_ns, rate.interval_ns(), cpu)
    })
}

/// Measures the bare baseline: absolute sleeps with a timer slack of 1 ns.
///
/// # Panics
/// Panics if a thread may not set its own timer slack.
#[must_use]
pub fn bare(interval: Duration, count: u32) -> Starts {
    fresh(|| {
        os::least_slack();
        let (mut late_ns, mut starts_ns) = (Vec::new(), Vec::new());
        let usage = Usage::new();
        let origin = os::now();
        for index in 1..=count {
            let intended = origin + interval * index;
            os::sleep_until(intended);
            let now = os::now();
            late_ns.push(now.saturating_sub(intended).as_secs_f64() * 1e9);
            starts_ns.push(u64::try_from(now.as_nanos()).expect("a clock of this century"));
        }
        Starts::new(late_ns, &starts_ns, interval.as_secs_f64() * 1e9, usage.share())
    })
}

/// Returns the achieved rate over `span` divided by the target rate, on the operating system's clock.
///
/// # Panics
/// Panics if a slot is lost.
#[must_use]
pub fn achieved(rate: Rate, span: Duration) -> f64 {
    fresh(|| {
        let intervals = (rate.as_hz() * span.as_secs_f64()).round();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let count = intervals as u64;
        let pacer = Pacer::new(rate);
        let mut lane = pacer.lane();
        start_one(&mut lane);
        let first = Instant::now();
        for _ in 0..count {
            start_one(&mut lane);
        }
        let elapsed = first.elapsed();
        drop(lane);
        assert_eq!(pacer.ledger().granted, count + 1, "a slot was lost");
        intervals / elapsed.as_secs_f64() / rate.as_hz()
    })
}

fn start_one(lane: &mut Lane) {
    std::hint::black_box(lane.acquire()).expect("an open pacer");
}

/// Returns, for each of `count` callers in turn, the time in nanoseconds from a change of the rate until the sleeping
/// caller has started.
#[must_use]
pub fn reached(count: usize) -> Vec<f64> {
    (0..count).map(|_| reach_one()).collect()
}

fn reach_one() -> f64 {
    let pacer = Pacer::new("1/h".parse().expect("a rate"));
    pacer.acquire().expect("slot 0");
    let (changed, started): (Nanos, Nanos) = thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            pacer.acquire().expect("slot 1");
            pacer.now()
        });
        thread::sleep(Duration::from_millis(2));
        assert!(!sleeper.is_finished(), "a slot an hour away was granted");
        let changed = pacer.now();
        pacer.set_rate("10G/s".parse().expect("a rate"));
        (changed, sleeper.join().expect("a sleeper that does not panic"))
    });
    (started - changed).as_secs_f64() * 1e9
}

/// Lets `sleepers` callers wait for slots that are hours away, and changes the rate to 10 k/s. Returns the lateness of
/// each start in nanoseconds, in the order of the schedule.
///
/// # Panics
/// Panics if a slot is started twice.
#[must_use]
pub fn herd(sleepers: usize) -> Vec<f64> {
    let pacer = Pacer::new("1/h".parse().expect("a rate"));
    pacer.acquire().expect("slot 0");
    let mut starts: Vec<(Nanos, Duration)> = thread::scope(|scope| {
        let sleeper = || {
            let intended = pacer.acquire().expect("an open pacer").intended_start();
            (intended, pacer.now() - intended)
        };
        let start = |_| {
            let thread = thread::Builder::new().stack_size(64 << 10);
            thread.spawn_scoped(scope, sleeper).expect("a thread")
        };
        let threads: Vec<_> = (0..sleepers).map(start).collect();
        while pacer.ledger().granted <= sleepers as u64 {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(200));
        pacer.set_rate("10k/s".parse().expect("a rate"));
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a sleeper that does not panic"))
            .collect()
    });
    starts.sort_unstable();
    assert!(starts.windows(2).all(|pair| pair[0].0 < pair[1].0), "a slot was started twice");
    starts.iter().map(|(_, late)| late.as_secs_f64() * 1e9).collect()
}

struct Usage {
    wall: Instant,
    cpu: Duration,
}

impl Usage {
    fn new() -> Usage {
        Usage { wall: Instant::now(), cpu: os::thread_time() }
    }

    fn share(&self) -> f64 {
        (os::thread_time().saturating_sub(self.cpu)).as_secs_f64()
            / self.wall.elapsed().as_secs_f64()
    }
}
