//! Implements a clock that reads the processor's time-stamp counter.

use crate::{Clock, Nanos};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The default clock: it reads the processor's time-stamp counter, which the crate `quanta` calibrates.
///
/// A reading takes about 10 ns, compared with 25 ns for [`StdClock`](crate::StdClock). On a processor without a counter
/// of constant speed (an invariant TSC on x86-64, the system counter on `AArch64`), `quanta` reads the operating system's
/// clock instead. The first clock of a process takes up to 0.2 s to calibrate. Clones share the same origin and
/// calibration.
///
/// After such a short calibration, the clock is some tens of ppm fast or slow. The first reading at least 0.2 s after
/// the clock was created therefore compares the clock with the operating system's clock again. After that, the two
/// speeds differ by about 1 ppm. The comparison corrects the clock's speed, and its time does not jump. If the speeds
/// of the two clocks differ by a thousandth or more, the calibration of `quanta` is kept.
///
/// ```
/// use nanopace_nanos::{Clock, TscClock};
///
/// let clock = TscClock::new();
/// let earlier = clock.now();
/// assert!(clock.now() >= earlier);
/// ```
#[derive(Clone, Debug)]
pub struct TscClock {
    clock: quanta::Clock,
    begun: Mark,
    /// The second calibration. `Some(None)` means that the clocks disagreed, so the first calibration is kept.
    refined: Arc<OnceLock<Option<Refined>>>,
}

/// A reading of the counter, and a reading of the operating system's clock at the same time.
#[derive(Clone, Copy, Debug)]
struct Mark {
    raw: u64,
    time: Instant,
}

/// Converts counter readings at or after `raw`, which corresponds to `nanos`. A tick lasts `nanos_q32 / 2^32` ns.
#[derive(Clone, Copy, Debug)]
struct Refined {
    raw: u64,
    nanos: u64,
    nanos_q32: u128,
}

/// The minimum time between the two calibrations. If each reading is off by up to 50 ns, the error of the speed is at
/// most 0.5 ppm.
const REFINED_AFTER_NS: u64 = 200_000_000;

const MARK_TRIES: usize = 8;

impl Mark {
    /// Returns the try whose two counter readings are closest together, because an interrupt between them would make
    /// the two clocks seem to run at different speeds.
    fn new(clock: &quanta::Clock) -> Mark {
        let pair = || {
            let (before, time, after) = (clock.raw(), Instant::now(), clock.raw());
            let apart = after.saturating_sub(before);
            (apart, Mark { raw: before + apart / 2, time })
        };
        let closer =
            |best: (u64, Mark), next: (u64, Mark)| if next.0 < best.0 { next } else { best };
        (1..MARK_TRIES).map(|_| pair()).fold(pair(), closer).1
    }
}

impl Refined {
    /// Returns `None` if the two clocks differ by a thousandth or more, for example because one of them was stopped.
    fn new(begun: Mark, mark: Mark, nanos: u64, rough: Duration) -> Option<Refined> {
        let elapsed = mark.time.duration_since(begun.time);
        let nanos_q32 =
            (elapsed.as_nanos() << 32) / u128::from(mark.raw.wrapping_sub(begun.raw).max(1));
        let agree = elapsed.abs_diff(rough) < rough / 1000;
        agree.then_some(Refined { raw: mark.raw, nanos, nanos_q32 })
    }

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
    /// Creates a clock whose origin is the time of this call. The first clock of a process takes up to 0.2 s to
    /// calibrate.
    #[must_use]
    pub fn new() -> TscClock {
        let clock = quanta::Clock::new();
        let begun = Mark::new(&clock);
        TscClock { clock, begun, refined: Arc::default() }
    }

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
        let refined = self.refined.get_or_init(|| {
            let mark = Mark::new(&self.clock);
            let nanos = self.rough(mark.raw);
            Refined::new(self.begun, mark, nanos, Duration::from_nanos(nanos))
        });
        // A thread that waited while another thread refined the clock may have read the counter after the mark. The
        // rough time of that reading could be later than the refined time of the thread's next reading.
        refined.and_then(|refined| refined.nanos(raw)).unwrap_or(rough)
    }

    /// Returns whether this clock reads a counter of the processor, and not the operating system's clock.
    ///
    /// The result is derived from the ticks: a counter's ticks are converted to nanoseconds, while the operating
    /// system's ticks are nanoseconds already. A counter that ticks exactly once per nanosecond is therefore reported
    /// as the operating system's clock. In practice, only a 1 GHz counter of an ARM processor ticks at that rate.
    #[must_use]
    pub fn reads_counter(&self) -> bool {
        // `quanta` stores a counter's rate with at most about 30 bits. Over this number of ticks, any stored difference
        // from 1 GHz shows.
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
            Some(Some(refined)) => refined.nanos(raw).unwrap_or_else(|| self.rough(raw)),
            Some(None) => self.rough(raw),
            None => self.refine(raw),
        })
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::{Clock, Duration, Instant, Mark, Refined, TscClock};
    use std::thread;

    /// `quanta` converts 10^9 ticks of 0.4 ns each to 400.04 ms.
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
        // The duration of a tick is stored in units of 2^-32 ns.
        assert!(refined.nanos(2_000_000_007).is_some_and(|nanos| nanos.abs_diff(800_040_000) <= 1));
        assert!(
            Refined::new(begun, mark, 400_040_000, rough * 2).is_none(),
            "one of the clocks was stopped"
        );
    }

    #[test]
    fn it_never_goes_back_while_it_is_refined() {
        let clock = TscClock::new();
        let read = || {
            let mut last = clock.now();
            while clock.refined.get().is_none() {
                let now = clock.now();
                assert!(now >= last);
                last = now;
            }
            assert!(clock.now() >= last);
        };
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(read);
            }
        });
        assert!(clock.refined.get().is_some_and(Option::is_some), "{clock:?}");
    }

    /// The thread read the counter after the other thread's mark. At the refined speed a tick is 0.5 ns.
    #[test]
    fn a_thread_that_waited_for_the_refinement_uses_it() {
        let clock = TscClock::new();
        let (mark, raw) = (clock.begun.raw + (1 << 39), clock.begun.raw + (1 << 40));
        let refined = Refined { raw: mark, nanos: clock.rough(mark), nanos_q32: 1 << 31 };
        clock.refined.set(Some(refined)).expect("the new clock is not refined");
        assert_eq!(clock.refine(raw), clock.rough(mark) + (1 << 38));
        assert_eq!(clock.refine(mark - 1), clock.rough(mark - 1));
    }

    #[test]
    fn clocks_that_disagree_leave_the_calibration_unchanged() {
        let clock = TscClock::new();
        clock.refined.set(None).expect("the new clock is not refined");
        let (before, now, after) =
            (clock.rough(clock.clock.raw()), clock.now(), clock.rough(clock.clock.raw()));
        assert!((before..=after).contains(&now.as_nanos()));
        let raw = clock.begun.raw + (1 << 40);
        assert_eq!(clock.refine(raw), clock.rough(raw));
    }

    /// Only the `Debug` output of `quanta` shows which clock it chose.
    #[test]
    fn the_reported_clock_is_the_one_that_quanta_chose() {
        let clock = TscClock::new();
        let shown = format!("{clock:?}");
        assert_eq!(clock.reads_counter(), shown.contains("Counter"), "{shown}");
        assert_ne!(clock.reads_counter(), shown.contains("{ inner: Monotonic"), "{shown}");
    }
}
