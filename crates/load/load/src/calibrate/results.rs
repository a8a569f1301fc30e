//! Stores the results of a calibration and derives figures from them.

use super::disturbance::Disturbance;
use super::recommend::{self, EvenRate, Facts, Recommendation};
use super::sleeping::Sleeping;
use hdrhistogram::Histogram;
use nanopace::Pause;
use std::num::NonZero;
use std::thread;
use std::time::Duration;

/// The measurements of a calibration. After an interrupt, the later measurements are missing.
#[derive(Debug)]
pub(crate) struct Results {
    pub(crate) complete: bool,
    pub(crate) cores: usize,
    pub(crate) timer_slack: Option<Duration>,
    pub(crate) clock: Option<Clocks>,
    pub(crate) sleeps: Vec<Sleeps>,
    pub(crate) spinning: Option<Spinning>,
    pub(crate) starts: Vec<Starts>,
}

#[derive(Clone, Debug)]
pub(crate) struct Clocks {
    /// Whether the engine reads the CPU's counter instead of the operating system's clock.
    pub(crate) counter: bool,
    pub(crate) reading_ns: f64,
    pub(crate) system_reading_ns: f64,
    pub(crate) system_source: Option<String>,
    /// The cost of a start that is not delayed: a grant and a reading of the engine's clock.
    pub(crate) start_ns: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct Sleeps {
    pub(crate) fine: bool,
    pub(crate) asked: Duration,
    /// The time by which sleeps exceeded the requested length, in nanoseconds.
    pub(crate) oversleep: Histogram<u64>,
    pub(crate) cpu_each: Option<Duration>,
}

/// The gaps between the clock readings of a thread that never sleeps. A long gap means that something else used the
/// core.
#[derive(Clone, Debug)]
pub(crate) struct Spinning {
    /// The times between consecutive readings, in nanoseconds.
    pub(crate) gaps: Histogram<u64>,
    pub(crate) duration: Duration,
    pub(crate) in_hiccups: Duration,
    pub(crate) cpu_share: Option<f64>,
}

/// The interval at 10 k/s. From this rate on, the cost of a sleep is significant compared with the interval.
pub(crate) const TYPICAL_SLEEP: Duration = Duration::from_micros(100);

/// The minimum length of a gap that counts as a hiccup. Reading the clock takes less time.
pub(crate) const HICCUP: Duration = Duration::from_micros(1);

#[derive(Clone, Debug)]
pub(crate) struct Starts {
    pub(crate) pause: Pause,
    pub(crate) hz: u32,
    /// The time from the intended start to the clock reading after the grant, in nanoseconds.
    pub(crate) lateness: Histogram<u64>,
    /// The share of gaps that differ from the interval by at most 25 %.
    pub(crate) even: Option<f64>,
    pub(crate) cpu_share: Option<f64>,
    /// The mean time spent spinning for each start under [`Pause::Hybrid`].
    pub(crate) spun_each_ns: f64,
}

impl Results {
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

    pub(crate) fn sleeping(&self) -> Option<Sleeping> {
        let alike = self.sleeps.iter().find(|sleeps| sleeps.fine && sleeps.asked == TYPICAL_SLEEP);
        alike.and_then(|sleeps| sleeps.cpu_each).map(|cost| Sleeping { cost })
    }

    pub(crate) fn sleep_share_at(&self, hz: u32) -> Option<f64> {
        let starts =
            self.starts.iter().find(|starts| starts.pause == Pause::Sleep && starts.hz == hz);
        starts.and_then(|starts| starts.cpu_share)
    }

    pub(crate) fn disturbance(&self) -> Disturbance {
        let starts =
            self.starts.iter().filter(|starts| matches!(starts.pause, Pause::Yield | Pause::Spin));
        let shares = starts.map(|starts| starts.cpu_share);
        let shares =
            shares.chain(self.spinning.iter().map(|spinning| spinning.cpu_share)).flatten();
        Disturbance {
            // CPU time and elapsed time come from different clocks, so the CPU time can slightly exceed the elapsed
            // time.
            by_others: shares.map(|share| (1.0 - share).max(0.0)).max_by(f64::total_cmp),
            in_hiccups: self.spinning.as_ref().map(Spinning::share_lost),
        }
    }

    /// Returns the highest rate with even gaps for each way to pause, derived from its measurement at the highest rate.
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
    pub(crate) fn gaps_from(&self, least: Duration) -> u64 {
        let least_ns = u64::try_from(least.as_nanos()).unwrap_or(u64::MAX);
        self.gaps.count_between(least_ns, u64::MAX)
    }

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

    #[test]
    fn time_taken_is_missing_from_threads_that_never_sleep() {
        let Disturbance { by_others, in_hiccups } = quiet().disturbance();
        assert!((by_others.unwrap() - 0.02).abs() < 1e-9, "{by_others:?}");
        assert_eq!(in_hiccups, Some(0.01));
        assert_eq!(Results::new().disturbance(), Disturbance { by_others: None, in_hiccups: None });
    }

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
