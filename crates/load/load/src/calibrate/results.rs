//! Stores the results of a calibration and derives figures from them.

use super::disturbance::Disturbance;
use super::recommend::{self, EvenRate, Facts, Recommendation};
use super::sleeping::Sleeping;
use hdrhistogram::Histogram;
use nanopace::Pause;
use std::num::NonZero;
use std::thread;
use std::time::Duration;

/// The results of all measurements, except those that an interrupt prevented.
#[derive(Debug)]
pub(crate) struct Results {
    /// Whether all measurements were made.
    pub(crate) complete: bool,
    /// The number of cores that this process may use.
    pub(crate) cores: usize,
    /// The timer slack of a thread that has not changed it, or `None` on systems without timer slack.
    pub(crate) timer_slack: Option<Duration>,
    /// The costs of reading the clocks and of a start.
    pub(crate) clock: Option<Clocks>,
    /// The sleeps that were measured, with their oversleep and their cost.
    pub(crate) sleeps: Vec<Sleeps>,
    /// The gaps between the clock readings of a spinning thread.
    pub(crate) spinning: Option<Spinning>,
    /// The starts by the engine that were measured, with their lateness.
    pub(crate) starts: Vec<Starts>,
}

/// The engine's clock, and the costs of a clock reading and of a start in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Clocks {
    /// Whether the engine reads the processor's counter instead of the operating system's clock.
    pub(crate) counter: bool,
    /// The cost of reading the engine's clock.
    pub(crate) reading_ns: f64,
    /// The cost of reading the operating system's clock.
    pub(crate) system_reading_ns: f64,
    /// The source of the operating system's clock, if it is known.
    pub(crate) system_source: Option<String>,
    /// The cost of a start that is not delayed: the cost of a grant and of a reading of the engine's clock.
    pub(crate) start_ns: f64,
}

/// Sleeps of one requested length.
#[derive(Clone, Debug)]
pub(crate) struct Sleeps {
    /// Whether the thread used the minimum timer slack.
    pub(crate) fine: bool,
    /// The requested length of a sleep.
    pub(crate) asked: Duration,
    /// The time by which sleeps took longer than requested, in nanoseconds.
    pub(crate) oversleep: Histogram<u64>,
    /// The mean CPU time of a sleep, if it is known.
    pub(crate) cpu_each: Option<Duration>,
}

/// A thread that only reads the clock. During a gap between two readings, something else used the core.
#[derive(Clone, Debug)]
pub(crate) struct Spinning {
    /// The times between consecutive readings, in nanoseconds.
    pub(crate) gaps: Histogram<u64>,
    /// The time for which the thread spun.
    pub(crate) duration: Duration,
    /// The total time in gaps above [`HICCUP`].
    pub(crate) in_hiccups: Duration,
    /// The share of one core that the thread used.
    pub(crate) cpu_share: Option<f64>,
}

/// The length of a sleep at 10 k/s. At this rate and above, the cost of sleeping matters.
pub(crate) const TYPICAL_SLEEP: Duration = Duration::from_micros(100);

/// The length above which a gap counts as a hiccup. Reading the clock takes less time.
pub(crate) const HICCUP: Duration = Duration::from_micros(1);

/// Starts by the engine with one way to pause, at one rate.
#[derive(Clone, Debug)]
pub(crate) struct Starts {
    /// The way in which the thread paused before each start.
    pub(crate) pause: Pause,
    /// The requested rate, in starts per second.
    pub(crate) hz: u32,
    /// The lateness in nanoseconds: from the intended start to the reading of the clock after the grant.
    pub(crate) lateness: Histogram<u64>,
    /// The share of gaps within 25 % of the interval.
    pub(crate) even: Option<f64>,
    /// The share of one core that the thread used.
    pub(crate) cpu_share: Option<f64>,
    /// The mean time spun for each start under [`Pause::Hybrid`], in nanoseconds.
    pub(crate) spun_each_ns: f64,
}

impl Results {
    /// Creates results without measurements.
    pub(crate) fn new() -> Results {
        Results {
            complete: false,
            cores: thread::available_parallelism().map_or(1, NonZero::get),
            timer_slack: super::thread::timer_slack(),
            clock: None,
            sleeps: Vec::new(),
            spinning: None,
            starts: Vec::new(),
        }
    }

    /// Returns the cost of a sleep from the measurement that is most similar to the engine's sleeps, or `None` if it
    /// is unknown.
    pub(crate) fn sleeping(&self) -> Option<Sleeping> {
        let alike = self.sleeps.iter().find(|sleeps| sleeps.fine && sleeps.asked == TYPICAL_SLEEP);
        alike.and_then(|sleeps| sleeps.cpu_each).map(|cost| Sleeping { cost })
    }

    /// Returns the share of a core that was used at `hz` starts per second with [`Pause::Sleep`].
    pub(crate) fn sleep_share_at(&self, hz: u32) -> Option<f64> {
        let starts =
            self.starts.iter().find(|starts| starts.pause == Pause::Sleep && starts.hz == hz);
        starts.and_then(|starts| starts.cpu_share)
    }

    /// Returns how much time was taken from the threads that never sleep.
    pub(crate) fn disturbance(&self) -> Disturbance {
        let starts =
            self.starts.iter().filter(|starts| matches!(starts.pause, Pause::Yield | Pause::Spin));
        let shares = starts.map(|starts| starts.cpu_share);
        let shares =
            shares.chain(self.spinning.iter().map(|spinning| spinning.cpu_share)).flatten();
        Disturbance {
            // CPU time and elapsed time are measured by different clocks, so a share can slightly exceed 1.
            by_others: shares.map(|share| (1.0 - share).max(0.0)).max_by(f64::total_cmp),
            in_hiccups: self.spinning.as_ref().map(Spinning::share_lost),
        }
    }

    /// Returns the highest rate with even gaps for each way to pause. It is computed from the measurement at the
    /// highest rate.
    pub(crate) fn even_rates(&self) -> Vec<EvenRate> {
        let start_ns = self.clock.as_ref().map(|clocks| clocks.start_ns);
        [Pause::Sleep, Pause::Hybrid, Pause::Yield, Pause::Spin]
            .into_iter()
            .filter_map(|pause| {
                let of_pause = self.starts.iter().filter(|starts| starts.pause == pause);
                let busiest = of_pause.max_by_key(|starts| starts.hz)?;
                Some(recommend::even_rate(&busiest.facts(), self.sleeping(), start_ns))
            })
            .collect()
    }

    /// Returns the recommended way to pause, or `None` if not everything has been measured or if the disturbance was
    /// too strong.
    pub(crate) fn recommendation(&self) -> Option<Recommendation> {
        if !self.complete || self.disturbance().is_too_much() {
            return None;
        }
        recommend::recommend(&self.even_rates(), self.cores)
    }
}

impl Starts {
    fn facts(&self) -> Facts {
        let lateness_p99_ns = self.lateness.value_at_quantile(0.99);
        Facts { pause: self.pause, lateness_p99_ns, spun_each_ns: self.spun_each_ns }
    }
}

impl Spinning {
    /// Returns the number of gaps of at least this length.
    pub(crate) fn gaps_from(&self, least: Duration) -> u64 {
        let least_ns = u64::try_from(least.as_nanos()).unwrap_or(u64::MAX);
        self.gaps.count_between(least_ns, u64::MAX)
    }

    /// Returns the share of the thread's time that passed in gaps above [`HICCUP`].
    pub(crate) fn share_lost(&self) -> f64 {
        if self.duration.is_zero() {
            0.0
        } else {
            self.in_hiccups.as_secs_f64() / self.duration.as_secs_f64()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram() -> Histogram<u64> {
        let mut times = Histogram::new(3).unwrap();
        times.record(5_000).unwrap();
        times
    }

    fn starts(pause: Pause, hz: u32, cpu_share: f64) -> Starts {
        Starts {
            pause,
            hz,
            lateness: histogram(),
            even: None,
            cpu_share: Some(cpu_share),
            spun_each_ns: 0.0,
        }
    }

    /// Returns the results of a machine without disturbance.
    fn quiet() -> Results {
        let ways =
            [(Pause::Sleep, 0.2), (Pause::Hybrid, 0.3), (Pause::Yield, 0.99), (Pause::Spin, 1.001)];
        let second = Duration::from_secs(1);
        let in_hiccups = Duration::from_millis(10);
        let sleeps = [(TYPICAL_SLEEP, false, 50), (TYPICAL_SLEEP, true, 20), (second, true, 30)];
        Results {
            complete: true,
            cores: 2,
            sleeps: sleeps.map(|(asked, fine, us)| sleep(asked, fine, us)).into(),
            spinning: Some(Spinning {
                gaps: histogram(),
                duration: second,
                in_hiccups,
                cpu_share: Some(0.98),
            }),
            starts: ways.map(|(pause, cpu_share)| starts(pause, 10_000, cpu_share)).into(),
            ..Results::new()
        }
    }

    fn sleep(asked: Duration, fine: bool, cpu_us: u64) -> Sleeps {
        Sleeps {
            fine,
            asked,
            oversleep: histogram(),
            cpu_each: Some(Duration::from_micros(cpu_us)),
        }
    }

    #[test]
    fn a_sleep_costs_what_one_of_100_us_with_fine_timers_does() {
        let results = quiet();
        assert_eq!(results.sleeping(), Some(Sleeping { cost: Duration::from_micros(20) }));
        assert_eq!(
            (results.sleep_share_at(10_000), results.sleep_share_at(1_000)),
            (Some(0.2), None)
        );
    }

    /// Only threads that never sleep show how much time is taken from them. In this test, the spinning thread misses
    /// 2 %, and the yielding thread 1 %.
    #[test]
    fn time_taken_is_missing_from_threads_that_never_sleep() {
        let Disturbance { by_others, in_hiccups } = quiet().disturbance();
        assert!((by_others.unwrap() - 0.02).abs() < 1e-9, "{by_others:?}");
        assert_eq!(in_hiccups, Some(0.01));
        assert_eq!(Results::new().disturbance(), Disturbance { by_others: None, in_hiccups: None });
    }

    /// If starts cost nothing, a lateness of 5 us allows 50 k/s.
    #[test]
    fn the_cost_of_a_start_limits_every_way_to_pause() {
        let clock = Clocks {
            counter: true,
            reading_ns: 10.0,
            system_reading_ns: 20.0,
            system_source: None,
            start_ns: 1e6,
        };
        let even_rates = Results { clock: Some(clock), ..quiet() }.even_rates();
        assert_eq!(even_rates.iter().map(|even| even.hz).collect::<Vec<_>>(), [1e3; 4]);
        assert!(quiet().even_rates().iter().all(|even| even.hz > 1e3));
    }

    #[test]
    fn nothing_is_recommended_that_was_not_measured_in_peace() {
        assert!(quiet().recommendation().is_some());
        assert_eq!(Results { complete: false, ..quiet() }.recommendation(), None);
        let mut disturbed = quiet();
        disturbed.starts.push(starts(Pause::Spin, 1_000, 0.7));
        assert_eq!(disturbed.recommendation(), None);
    }
}
