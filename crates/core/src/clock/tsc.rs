//! The processor's own counter.

use super::Clock;
use crate::Nanos;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The time-stamp counter, calibrated and read by the crate `quanta`; the default.
///
/// A reading takes about 10 ns, where [`StdClock`](super::StdClock) takes 25. On a processor
/// without a counter that runs at one speed on all cores, `quanta` asks the operating system
/// instead. The first clock of a process takes up to 0.2 s to calibrate. Clones are the same clock.
///
/// Calibration in so short a time leaves the clock some tens of ppm fast or slow. So the first
/// reading after 0.2 s compares it with the operating system's clock once more. From there on it
/// runs within about 1 ppm, without a step.
///
/// ```
/// use nanopace::{Clock, TscClock};
///
/// let clock = TscClock::new();
/// let earlier = clock.now();
/// assert!(clock.now() >= earlier);
/// ```
#[derive(Clone, Debug)]
pub struct TscClock {
    clock: quanta::Clock,
    begun: Mark,
    refined: Arc<OnceLock<Refined>>,
}

/// The counter and the operating system's clock at one moment.
#[derive(Clone, Copy, Debug)]
struct Mark {
    raw: u64,
    time: Instant,
}

/// From the counter's reading `raw` on: the time at that reading, and the length of a tick, which
/// is `nanos_q32 / 2^32` nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Refined {
    raw: u64,
    nanos: u64,
    nanos_q32: u128,
}

/// Long enough for two readings that are 50 ns apart from the truth to show a quarter of a ppm.
const REFINED_AFTER_NS: u64 = 200_000_000;

impl Mark {
    /// The closest pair of a few, because an interrupt between the two readings would look like a
    /// difference in speed.
    fn new(clock: &quanta::Clock) -> Mark {
        let pair = || {
            let (before, time, after) = (clock.raw(), Instant::now(), clock.raw());
            let apart = after.saturating_sub(before);
            (apart, Mark { raw: before + apart / 2, time })
        };
        let closer =
            |best: (u64, Mark), next: (u64, Mark)| if next.0 < best.0 { next } else { best };
        (1..8).map(|_| pair()).fold(pair(), closer).1
    }
}

impl Refined {
    /// None if the two clocks do not agree to a thousandth: one of them stood still meanwhile, or
    /// was set.
    fn new(begun: Mark, mark: Mark, nanos: u64, rough: Duration) -> Option<Refined> {
        let elapsed = mark.time.duration_since(begun.time);
        let nanos_q32 =
            (elapsed.as_nanos() << 32) / u128::from(mark.raw.wrapping_sub(begun.raw).max(1));
        let agree = elapsed.abs_diff(rough) < rough / 1000;
        agree.then_some(Refined { raw: mark.raw, nanos, nanos_q32 })
    }

    /// None for a reading from before the refinement.
    #[inline]
    fn nanos(&self, raw: u64) -> Option<u64> {
        let ticks = raw.checked_sub(self.raw)?;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "less than 2^64 nanoseconds: 584 years"
        )]
        let passed = ((u128::from(ticks) * self.nanos_q32) >> 32) as u64;
        Some(self.nanos + passed)
    }
}

impl TscClock {
    /// A clock whose origin is now. The first one of a process takes up to 0.2 s to calibrate.
    ///
    /// ```
    /// use nanopace::{Clock, Pacer, TscClock};
    ///
    /// let clock = TscClock::new();
    /// let before = clock.now();
    /// // Two pacers on one clock: their moments can be compared.
    /// let reads = Pacer::builder("9k/s".parse()?).clock(clock.clone()).build();
    /// let writes = Pacer::builder("1k/s".parse()?).clock(clock).build();
    /// assert!(reads.acquire()?.intended_start() >= before);
    /// assert!(writes.acquire()?.intended_start() >= before);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new() -> TscClock {
        let clock = quanta::Clock::new();
        let begun = Mark::new(&clock);
        TscClock { clock, begun, refined: Arc::default() }
    }

    /// The time as `quanta` has calibrated it.
    #[inline]
    fn rough(&self, raw: u64) -> u64 {
        self.clock.delta_as_nanos(self.begun.raw, raw)
    }

    #[cold]
    fn refine(&self, raw: u64) -> u64 {
        let rough = self.rough(raw);
        if rough < REFINED_AFTER_NS {
            return rough;
        }
        self.refined.get_or_init(|| {
            let mark = Mark::new(&self.clock);
            let nanos = self.rough(mark.raw);
            let unrefined = Refined { raw: u64::MAX, nanos: 0, nanos_q32: 0 };
            Refined::new(self.begun, mark, nanos, Duration::from_nanos(nanos)).unwrap_or(unrefined)
        });
        rough
    }

    /// Whether this reads a counter of the processor, and not the operating system's clock.
    ///
    /// The answer comes from the ticks: a counter's ticks are converted to nanoseconds, while the
    /// operating system's are nanoseconds already. So a counter that was found to tick exactly once
    /// a nanosecond is taken for the operating system's clock. Only 1 GHz counters on ARM can be
    /// like that.
    ///
    /// ```
    /// use nanopace::TscClock;
    ///
    /// let source = if TscClock::new().reads_counter() { "counter" } else { "operating system" };
    /// println!("time comes from the {source}");
    /// ```
    #[must_use]
    pub fn reads_counter(&self) -> bool {
        // A counter's rate is known to some 30 bits, and with this many ticks any difference shows.
        const TICKS: u64 = 1 << 40;
        self.clock.delta_as_nanos(0, TICKS) != TICKS
    }
}

impl Default for TscClock {
    fn default() -> TscClock {
        TscClock::new()
    }
}

impl Clock for TscClock {
    #[inline]
    fn now(&self) -> Nanos {
        let raw = self.clock.raw();
        Nanos::from_nanos(match self.refined.get() {
            Some(refined) => refined.nanos(raw).unwrap_or_else(|| self.rough(raw)),
            None => self.refine(raw),
        })
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::{Clock, Duration, Instant, Mark, Refined, TscClock};

    /// 1000 ticks take 400 ns by the operating system's clock and were taken for 400.04 ns: from
    /// tick 1000 on a tick is 0.4 ns.
    #[test]
    fn refining_changes_the_speed_and_not_the_time() {
        let time = Instant::now();
        let (begun, mark) = (
            Mark { raw: 7, time },
            Mark { raw: 1_000_000_007, time: time + Duration::from_millis(400) },
        );
        let rough = Duration::from_micros(400_040);
        let refined =
            Refined::new(begun, mark, 400_040_000, rough).expect("a ten-thousandth apart");
        assert_eq!(refined.nanos(1_000_000_006), None);
        assert_eq!(refined.nanos(1_000_000_007), Some(400_040_000));
        // 2^-32 of a nanosecond is a tick's resolution.
        assert!(refined.nanos(2_000_000_007).is_some_and(|nanos| nanos.abs_diff(800_040_000) <= 1));
        assert!(
            Refined::new(begun, mark, 400_040_000, rough * 2).is_none(),
            "one of them stood still"
        );
    }

    #[test]
    fn it_never_goes_back_while_it_is_refined() {
        let clock = TscClock::new();
        let mut last = clock.now();
        while clock.refined.get().is_none() {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
        assert!(clock.now() >= last);
        assert!(clock.refined.get().is_some_and(|refined| refined.raw < u64::MAX), "{clock:?}");
    }

    /// `quanta` tells which of its clocks it chose only when debugged.
    #[test]
    fn what_is_read_is_what_quanta_chose() {
        let clock = TscClock::new();
        let shown = format!("{clock:?}");
        assert_eq!(clock.reads_counter(), shown.contains("Counter"), "{shown}");
        assert_ne!(clock.reads_counter(), shown.contains("{ inner: Monotonic"), "{shown}");
    }
}
