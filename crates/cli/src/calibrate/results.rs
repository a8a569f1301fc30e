//! What a calibration finds.

use super::recommend::{self, EvenRate, Facts, Recommendation};
use hdrhistogram::Histogram;
use nanopace::Pause;
use std::num::NonZero;
use std::thread;
use std::time::Duration;

/// Everything that was measured; what an interrupt left out is missing.
#[derive(Debug)]
pub(crate) struct Results {
    /// Whether it was not interrupted.
    pub(crate) complete: bool,
    /// Processors that this process may use.
    pub(crate) cores: usize,
    /// Of a thread that has not changed it; nothing where there is no such thing.
    pub(crate) timer_slack: Option<Duration>,
    /// What reading the time costs.
    pub(crate) clock: Option<Clocks>,
    /// What sleeping is like.
    pub(crate) sleeps: Vec<Sleeps>,
    /// What spinning is like.
    pub(crate) spinning: Option<Spinning>,
    /// What the engine makes of it.
    pub(crate) starts: Vec<Starts>,
}

/// Where time comes from, and nanoseconds per reading.
#[derive(Clone, Debug)]
pub(crate) struct Clocks {
    /// Whether the engine reads the processor's counter, and not the operating system's clock.
    pub(crate) counter: bool,
    /// Of the engine's clock.
    pub(crate) reading_ns: f64,
    /// Of the operating system's.
    pub(crate) system_reading_ns: f64,
    /// What the operating system's clock is made from, where it tells.
    pub(crate) system_source: Option<String>,
}

/// Sleeps of one length.
#[derive(Clone, Debug)]
pub(crate) struct Sleeps {
    /// Whether the thread had the least timer slack there is.
    pub(crate) fine: bool,
    /// The time asked for.
    pub(crate) asked: Duration,
    /// By how much more it took, in nanoseconds.
    pub(crate) oversleep: Histogram<u64>,
    /// Of the processor, for each sleep.
    pub(crate) cpu_each: Option<Duration>,
}

/// A thread that does nothing but read the clock: what it does not see, somebody else had.
#[derive(Clone, Debug)]
pub(crate) struct Spinning {
    /// Nanoseconds between consecutive readings.
    pub(crate) gaps: Histogram<u64>,
    /// How long it spun.
    pub(crate) span: Duration,
    /// The time in gaps above [`HICCUP`].
    pub(crate) in_hiccups: Duration,
}

/// A gap that no reading of the clock explains.
pub(crate) const HICCUP: Duration = Duration::from_micros(1);

/// Starts by the engine.
#[derive(Clone, Debug)]
pub(crate) struct Starts {
    /// How early callers were held back.
    pub(crate) pause: Pause,
    /// The rate asked for.
    pub(crate) hz: u32,
    /// Nanoseconds after the intended start, by the reading that follows the grant.
    pub(crate) lateness: Histogram<u64>,
    /// The share of gaps within 25 % of the interval.
    pub(crate) even: Option<f64>,
    /// Of one core.
    pub(crate) cpu_share: Option<f64>,
    /// Nanoseconds spun for each start under [`Pause::Hybrid`].
    pub(crate) spun_each_ns: f64,
}

impl Results {
    /// Nothing measured yet.
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

    /// The highest rates with even gaps, by the busiest measurement of each way to pause.
    pub(crate) fn even_rates(&self) -> Vec<EvenRate> {
        [Pause::Sleep, Pause::Hybrid, Pause::Yield, Pause::Spin]
            .into_iter()
            .filter_map(|pause| {
                let of_pause = self.starts.iter().filter(|starts| starts.pause == pause);
                of_pause.max_by_key(|starts| starts.hz).map(|starts| recommend::even_rate(&starts.facts()))
            })
            .collect()
    }

    /// The way to pause that suits this machine, once everything is measured.
    pub(crate) fn recommendation(&self) -> Option<Recommendation> {
        if self.complete { recommend::recommend(&self.even_rates(), self.cores) } else { None }
    }
}

impl Starts {
    fn facts(&self) -> Facts {
        let lateness_p99_ns = self.lateness.value_at_quantile(0.99);
        Facts { pause: self.pause, lateness_p99_ns, spun_each_ns: self.spun_each_ns }
    }
}

impl Spinning {
    /// How many gaps were at least so long.
    pub(crate) fn gaps_from(&self, least: Duration) -> u64 {
        let least_ns = u64::try_from(least.as_nanos()).unwrap_or(u64::MAX);
        self.gaps.count_between(least_ns, u64::MAX)
    }

    /// The share of the time that passed in gaps above [`HICCUP`].
    pub(crate) fn share_lost(&self) -> f64 {
        if self.span.is_zero() { 0.0 } else { self.in_hiccups.as_secs_f64() / self.span.as_secs_f64() }
    }
}
