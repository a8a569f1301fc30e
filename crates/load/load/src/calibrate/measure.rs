//! Performs the measurements. Each measurement runs in its own thread, so that its thread settings end with it.

use super::results::{Clocks, HICCUP, Sleeps, Spinning, Starts};
use super::thread::{clock_source, cpu_time, set_fine_timers};
use crate::console::human::float;
use crate::console::interrupt::Interrupt;
use crate::results::gaps::Gaps;
use hdrhistogram::Histogram;
use nanopace::{Clock, Nanos, Pacer, Pause, Rate, StdClock, TscClock};
use std::hint::black_box;
use std::panic;
use std::thread;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds<'run> {
    start: Instant,
    end: Instant,
    interrupt: &'run Interrupt,
}

impl<'run> Bounds<'run> {
    pub(crate) fn new(end: Instant, interrupt: &'run Interrupt) -> Bounds<'run> {
        Bounds { start: Instant::now(), end, interrupt }
    }

    fn go_on(&self) -> bool {
        !self.interrupt.is_triggered() && Instant::now() < self.end
    }

    /// Returns the bounds of a warm-up. During the warm-up, caches fill, and the pacer learns how long it can sleep.
    fn warm_up(&self) -> Bounds<'run> {
        Bounds { end: self.start + self.end.saturating_duration_since(self.start) / 10, ..*self }
    }
}

/// The number of clock readings or starts between two checks of whether the measurement must end.
const BATCH: u32 = 1_000;

pub(crate) fn clocks(bounds: Bounds<'_>) -> Clocks {
    in_a_thread(|| {
        let (tsc, system) = (TscClock::new(), StdClock::new());
        let behind = behind();
        let (mut tsc_ns, mut system_ns, mut start_ns) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            tsc_ns.push(each_ns(|| tsc.now()));
            system_ns.push(each_ns(|| system.now()));
            start_ns.push(each_ns(|| start(&behind)));
            if !bounds.go_on() {
                break;
            }
        }
        Clocks {
            counter: tsc.reads_counter(),
            reading_ns: median(tsc_ns),
            system_reading_ns: median(system_ns),
            system_source: clock_source(),
            start_ns: median(start_ns),
        }
    })
}

fn behind() -> Pacer {
    const FASTEST: u64 = 10_000_000_000;
    Pacer::new(
        Rate::per_second(FASTEST).unwrap_or_else(|_| unreachable!("the fastest rate there is")),
    )
}

fn each_ns<T>(work: impl Fn() -> T) -> f64 {
    let start = Instant::now();
    for _ in 0..BATCH {
        black_box(work());
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(BATCH)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Sleeps at least once, even if `bounds` end the measurement before the thread begins.
pub(crate) fn sleeps(asked: Duration, fine: bool, bounds: Bounds<'_>) -> Option<Sleeps> {
    in_a_thread(|| {
        if fine && !set_fine_timers() {
            return None;
        }
        let mut oversleep = histogram();
        let before = cpu_time();
        loop {
            let start = Instant::now();
            thread::sleep(asked);
            oversleep.saturating_record(nanos(start.elapsed().saturating_sub(asked)));
            if !bounds.go_on() {
                break;
            }
        }
        let cpu = cpu_since(before);
        let cpu_each = cpu.map(|cpu| cpu.div_f64(float(oversleep.len())));
        Some(Sleeps { fine, asked, oversleep, cpu_each })
    })
}

pub(crate) fn spinning(bounds: Bounds<'_>) -> Spinning {
    in_a_thread(|| {
        let clock = TscClock::new();
        let (mut gaps, mut in_hiccups) = (histogram(), Duration::ZERO);
        let (before, begin) = (cpu_time(), clock.now());
        while bounds.go_on() {
            // The clock is read again after the check of the bounds, so the duration of the check does not count as a
            // gap.
            let mut last = clock.now();
            for _ in 0..BATCH {
                let now = clock.now();
                let gap = now - last;
                gaps.saturating_record(nanos(gap));
                if gap >= HICCUP {
                    in_hiccups += gap;
                }
                last = now;
            }
        }
        let duration = clock.now() - begin;
        let cpu_share = cpu_since(before).map(|cpu| cpu.as_secs_f64() / duration.as_secs_f64());
        Spinning { gaps, duration, in_hiccups, cpu_share }
    })
}

/// Measures starts at `hz` per second. Returns `None` if the time is too short for two starts.
pub(crate) fn starts(pause: Pause, hz: u32, bounds: Bounds<'_>) -> Option<Starts> {
    in_a_thread(|| {
        let rate = Rate::per_second(u64::from(hz)).ok()?;
        let pacer = Pacer::builder(rate).pause(pause).build();
        let warm_up = bounds.warm_up();
        while warm_up.go_on() {
            start(&pacer)?;
        }
        let (mut lateness, mut gaps) = (histogram(), Gaps::default());
        let (before, spun_before, wall) = (cpu_time(), pacer.counters().spun, Instant::now());
        while bounds.go_on() {
            let (intended, actual) = start(&pacer)?;
            lateness.saturating_record(nanos(actual - intended));
            gaps.start((actual - Nanos::ZERO).as_secs_f64() * f64::from(hz));
        }
        let wall = wall.elapsed().as_secs_f64();
        let cpu_share = cpu_since(before).map(|cpu| cpu.as_secs_f64() / wall);
        let spun = pacer.counters().spun.saturating_sub(spun_before);
        let spun_each_ns = spun.as_secs_f64() * 1e9 / float(lateness.len()).max(1.0);
        let even = gaps.quality().map(|quality| quality.within_25_percent);
        (lateness.len() > 1).then_some(Starts {
            pause,
            hz,
            lateness,
            even,
            cpu_share,
            spun_each_ns,
        })
    })
}

fn start(pacer: &Pacer) -> Option<(Nanos, Nanos)> {
    let grant = pacer.acquire().ok()?;
    Some((grant.intended_start(), pacer.now()))
}

fn cpu_since(before: Option<Duration>) -> Option<Duration> {
    Some(cpu_time()?.saturating_sub(before?))
}

/// Returns a histogram whose memory is already allocated, so that recording causes no gaps.
fn histogram() -> Histogram<u64> {
    const MOST_NS: u64 = 3_600_000_000_000;
    Histogram::new_with_bounds(1, MOST_NS, 3)
        .unwrap_or_else(|_| unreachable!("an hour to three digits is a valid range"))
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn in_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        scope.spawn(work).join().unwrap_or_else(|payload| panic::resume_unwind(payload))
    })
}
