//! Tests how even and how late starts are when sleeps overrun, with simulated wake-ups.

use crate::common::{MICRO, SECOND, at, wait_ns};
use nanopace::{Clock, Nanos, Pacer, Parker, Pause, Rate};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// The oversleep in microseconds: `usual`, and up to `tail.1` more for `tail.0` % of the sleeps.
#[derive(Clone, Debug)]
struct WakeUps {
    usual: Range<u64>,
    tail: (u64, u64),
}

const BARE_METAL: WakeUps = WakeUps { usual: 2..4, tail: (5, 20) };
const VIRTUAL: WakeUps = WakeUps { usual: 25..35, tail: (5, 60) };
const WIDE: WakeUps = WakeUps { usual: 15..45, tail: (10, 100) };
const SLOW: WakeUps = WakeUps { usual: 45..55, tail: (5, 100) };
const SLOW_AND_STEADY: WakeUps = WakeUps { usual: 49..51, tail: (1, 60) };
const SLOW_AND_WIDE: WakeUps = WakeUps { usual: 25..75, tail: (10, 100) };

/// A clock for one thread. A reading takes 20 ns.
#[derive(Debug)]
struct Simulated {
    now: AtomicU64,
    wake_ups: WakeUps,
    random: AtomicU64,
}

impl Simulated {
    fn random(&self, end: u64) -> u64 {
        let last = self.random.load(Ordering::Relaxed);
        let next = last.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.random.store(next, Ordering::Relaxed);
        (next >> 33) % end
    }

    fn overrun(&self) -> u64 {
        let WakeUps { usual: Range { start, end }, tail: (percent, most) } = self.wake_ups;
        let usual = start * MICRO + self.random((end - start) * MICRO);
        if self.random(100) < percent { usual + self.random(most * MICRO) } else { usual }
    }
}

impl Clock for Simulated {
    fn now(&self) -> Nanos {
        at(self.now.fetch_add(20, Ordering::Relaxed))
    }

    fn park(&self, _: &Parker, until: Nanos) {
        let now = self.now.load(Ordering::Relaxed);
        self.now.store(until.as_nanos().max(now) + self.overrun(), Ordering::Relaxed);
    }

    /// Moves the clock to shortly before the end of the pause. One call replaces many rounds of spinning.
    fn relax(&self, _: Nanos, until: Nanos) {
        self.now.fetch_max(until.as_nanos().saturating_sub(100), Ordering::Relaxed);
    }
}

/// `median` is the median lateness in nanoseconds. The other fields are percentages of the starts or of the time.
#[derive(Debug)]
struct Measured {
    median: u64,
    even: f64,
    punctual: f64,
    spun: f64,
}

const LEARNT: usize = 1_000;
const STARTS: usize = 5_000;

fn measure(wake_ups: WakeUps, starts_per_s: u64, pause: Pause) -> Measured {
    let in_a_new_thread = move || {
        let [now, random] = [0, starts_per_s].map(AtomicU64::new);
        let clock = Arc::new(Simulated { now, wake_ups, random });
        let rate = Rate::per_second(starts_per_s).expect("a rate");
        let pacer = Pacer::builder(rate).pause(pause).clock(clock).build();
        let start = |_| {
            let late = wait_ns(pacer.acquire().expect("open"));
            (pacer.now().as_nanos(), late)
        };
        let starts: Vec<_> = (0..LEARNT + STARTS).map(start).skip(LEARNT).collect();
        let interval = SECOND / starts_per_s;
        let is_even = |gap: u64| gap.abs_diff(interval) <= interval / 4;
        let even = starts.windows(2).filter(|pair| is_even(pair[1].0 - pair[0].0)).count();
        let [spun, all] =
            [pacer.counters().spun, pacer.now() - Nanos::ZERO].map(|span| span.as_secs_f64());
        let mut late: Vec<u64> = starts.iter().map(|start| start.1).collect();
        late.sort_unstable();
        Measured {
            median: late[STARTS / 2],
            even: percent(even),
            punctual: percent(late.iter().filter(|late| **late < MICRO).count()),
            spun: spun / all * 100.0,
        }
    };
    thread::spawn(in_a_new_thread).join().expect("no panic")
}

fn percent(starts: usize) -> f64 {
    let [starts, all] = [starts, STARTS].map(|count| u32::try_from(count).expect("few"));
    f64::from(starts) / f64::from(all) * 100.0
}

#[test]
fn hybrid_is_never_less_even_than_sleeping() {
    for wake_ups in [BARE_METAL, VIRTUAL, WIDE, SLOW, SLOW_AND_STEADY, SLOW_AND_WIDE] {
        for starts_per_s in
            [1_000, 2_000, 5_000, 10_000, 20_000, 25_000, 40_000, 100_000, 1_000_000]
        {
            let [hybrid, sleep] = [Pause::Hybrid, Pause::Sleep]
                .map(|pause| measure(wake_ups.clone(), starts_per_s, pause));
            let row = format!("{wake_ups:?}, {starts_per_s}/s: {hybrid:?}, {sleep:?}");
            assert!(hybrid.even >= sleep.even - 0.5, "{row}");
            assert!(hybrid.median <= sleep.median, "{row}");
        }
    }
}

/// In the last two rows, sleeps overrun by about the interval, so each start is a little later than the one before,
/// until two starts follow each other immediately.
#[test]
fn hybrid_is_even_and_punctual() {
    for (wake_ups, starts_per_s, even, punctual) in [
        (BARE_METAL, 1_000, 99, 93),
        (BARE_METAL, 20_000, 95, 93),
        (BARE_METAL, 100_000, 88, 91),
        (VIRTUAL, 1_000, 99, 93),
        (VIRTUAL, 10_000, 93, 93),
        (VIRTUAL, 20_000, 91, 92),
        (VIRTUAL, 25_000, 90, 90),
        (WIDE, 1_000, 98, 91),
        (WIDE, 10_000, 88, 90),
        (WIDE, 20_000, 82, 78),
        (SLOW, 1_000, 99, 93),
        (SLOW, 10_000, 90, 92),
        (SLOW_AND_WIDE, 10_000, 88, 85),
        (SLOW, 20_000, 80, 25),
        (SLOW_AND_STEADY, 20_000, 94, 10),
    ] {
        let hybrid = measure(wake_ups.clone(), starts_per_s, Pause::Hybrid);
        let row = format!("{wake_ups:?}, {starts_per_s}/s: {hybrid:?}");
        assert!(hybrid.even >= f64::from(even), "{row}");
        assert!(hybrid.punctual >= f64::from(punctual), "{row}");
    }
}

#[test]
fn where_no_sleep_keeps_up_hybrid_spins_for_all_of_its_budget_in_long_stretches() {
    for wake_ups in [VIRTUAL, SLOW, SLOW_AND_STEADY] {
        for starts_per_s in [50_000, 100_000] {
            let hybrid = measure(wake_ups.clone(), starts_per_s, Pause::Hybrid);
            let row = format!("{wake_ups:?}, {starts_per_s}/s: {hybrid:?}");
            assert!((23.0..28.0).contains(&hybrid.spun), "{row}");
            assert!(hybrid.even >= 22.0, "{row}");
        }
    }
}
