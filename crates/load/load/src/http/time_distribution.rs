//! Defines distributions of times: the latencies of the embedded target, and think times.
//!
//! The parameters are those that dashboards and other tools use. For example, a log-normal latency has a median and a
//! sigma, as in [WireMock](https://wiremock.org/docs/simulating-faults/).

use fastrand::Rng;
use std::f64::consts::TAU;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A distribution of times, such as latencies or think times. It can be parsed from a string such as `20ms`, `exp 2s`
/// or `lognormal 10ms 0.5`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimeDistribution {
    /// Always the same time.
    Constant(Duration),
    /// An exponential distribution. The median is 0.69 times the mean, and the 99th percentile is 4.6 times the mean.
    Exponential {
        /// The mean.
        mean: Duration,
    },
    /// A uniform distribution between two bounds.
    Uniform {
        /// The lower bound.
        min: Duration,
        /// The upper bound.
        max: Duration,
    },
    /// A normal distribution. Negative draws count as zero.
    Normal {
        /// The mean.
        mean: Duration,
        /// The standard deviation.
        deviation: Duration,
    },
    /// A log-normal distribution, which resembles the latencies of many servers. The 99th percentile is e^(2.33 sigma)
    /// times the median.
    LogNormal {
        /// The median.
        median: Duration,
        /// The standard deviation of the logarithm.
        sigma: f64,
    },
    /// A distribution with a heavy tail: for any x of at least 1, a share of x^-shape of the times is above x times the
    /// minimum. If the shape is 1 or less, there is no mean.
    Pareto {
        /// The shortest time.
        min: Duration,
        /// The exponent.
        shape: f64,
    },
}

use TimeDistribution::{Constant, Exponential, LogNormal, Normal, Pareto, Uniform};

impl TimeDistribution {
    /// Draws a time. A time that is too long for a [`Duration`] becomes [`Duration::MAX`].
    pub fn sample(&self, rng: &mut Rng) -> Duration {
        match *self {
            Constant(latency) => latency,
            Uniform { min, max } => min + max.saturating_sub(min).mul_f64(rng.f64()),
            Exponential { mean } => times(mean, -positive(rng).ln()),
            Normal { mean, deviation } => {
                seconds(mean.as_secs_f64() + deviation.as_secs_f64() * standard_normal(rng))
            }
            LogNormal { median, sigma } => times(median, (sigma * standard_normal(rng)).exp()),
            Pareto { min, shape } => times(min, positive(rng).powf(-shape.recip())),
        }
    }
}

/// Draws a uniform number above 0 and up to 1, so that its logarithm is finite.
fn positive(rng: &mut Rng) -> f64 {
    1.0 - rng.f64()
}

/// Draws from the standard normal distribution, by the Box-Muller method.
fn standard_normal(rng: &mut Rng) -> f64 {
    (-2.0 * positive(rng).ln()).sqrt() * (TAU * rng.f64()).cos()
}

fn times(duration: Duration, factor: f64) -> Duration {
    seconds(duration.as_secs_f64() * factor)
}

/// Converts seconds to a duration. Negative values and NaN (zero times infinity) become zero.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
}

impl Default for TimeDistribution {
    fn default() -> Self {
        Constant(Duration::ZERO)
    }
}

impl FromStr for TimeDistribution {
    type Err = String;

    /// Parses a time, or the name of a distribution followed by its parameters, separated by spaces.
    fn from_str(text: &str) -> Result<TimeDistribution, String> {
        let words: Vec<_> = text.split_whitespace().collect();
        match words[..] {
            ["exp", mean] => Ok(Exponential { mean: time(mean)? }),
            ["uniform", min, max] => uniform(time(min)?, time(max)?),
            ["normal", mean, deviation] => {
                Ok(Normal { mean: time(mean)?, deviation: time(deviation)? })
            }
            ["lognormal", median, sigma] => lognormal(time(median)?, sigma),
            ["pareto", min, shape] => pareto(time(min)?, shape),
            [name, ..] => {
                usage(name).map_or_else(|| constant(text), |it| Err(format!("write {it}")))
            }
            [] => constant(text),
        }
    }
}

fn usage(name: &str) -> Option<&'static str> {
    Some(match name {
        "exp" => "exp MEAN, as in 'exp 1ms'",
        "uniform" => "uniform MIN MAX, as in 'uniform 1ms 5ms'",
        "normal" => "normal MEAN DEVIATION, as in 'normal 10ms 2ms'",
        "lognormal" => "lognormal MEDIAN SIGMA, as in 'lognormal 10ms 0.5'",
        "pareto" => "pareto MIN SHAPE, as in 'pareto 1ms 2'",
        _ => return None,
    })
}

fn constant(text: &str) -> Result<TimeDistribution, String> {
    humantime::parse_duration(text).map(Constant).map_err(|error| {
        let others = "exp, uniform, normal, lognormal or pareto";
        format!("{error}; write a time such as 1ms, or {others} and its parameters in quotes")
    })
}

fn uniform(min: Duration, max: Duration) -> Result<TimeDistribution, String> {
    if min > max {
        return Err("the minimum is above the maximum; write 'uniform MIN MAX'".to_owned());
    }
    Ok(Uniform { min, max })
}

fn lognormal(median: Duration, sigma: &str) -> Result<TimeDistribution, String> {
    match sigma.parse() {
        Ok(sigma) if (0.0..f64::INFINITY).contains(&sigma) => Ok(LogNormal { median, sigma }),
        _ => Err(format!("{sigma:?}: sigma is a number of at least 0, such as 0.5")),
    }
}

fn pareto(min: Duration, shape: &str) -> Result<TimeDistribution, String> {
    match shape.parse() {
        Ok(shape) if shape > 0.0 && shape < f64::INFINITY => Ok(Pareto { min, shape }),
        _ => Err(format!("{shape:?}: the shape is a number above 0, such as 2")),
    }
}

fn time(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| format!("{text:?}: {error}"))
}

impl fmt::Display for TimeDistribution {
    /// Writes the distribution in the form that [`TimeDistribution::from_str`] parses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Constant(latency) => write!(f, "{}", word(latency)),
            Exponential { mean } => write!(f, "exp {}", word(mean)),
            Uniform { min, max } => write!(f, "uniform {} {}", word(min), word(max)),
            Normal { mean, deviation } => write!(f, "normal {} {}", word(mean), word(deviation)),
            LogNormal { median, sigma } => write!(f, "lognormal {} {sigma}", word(median)),
            Pareto { min, shape } => write!(f, "pareto {} {shape}", word(min)),
        }
    }
}

fn word(time: Duration) -> String {
    humantime::format_duration(time).to_string().replace(' ', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn latency(text: &str) -> TimeDistribution {
        text.parse().unwrap()
    }

    fn draw(latency: TimeDistribution, count: usize) -> Vec<Duration> {
        let mut rng = Rng::with_seed(1);
        (0..count).map(|_| latency.sample(&mut rng)).collect()
    }

    #[test]
    fn reads_times_and_distributions() {
        for (text, latency) in [
            ("0s", Constant(ms(0))),
            ("1.5ms", Constant(Duration::from_micros(1_500))),
            ("1m 30s", Constant(ms(90_000))),
            ("exp 1ms", Exponential { mean: ms(1) }),
            ("  exp \t 1ms ", Exponential { mean: ms(1) }),
            ("uniform 1ms 5ms", Uniform { min: ms(1), max: ms(5) }),
            ("uniform 5ms 5ms", Uniform { min: ms(5), max: ms(5) }),
            ("normal 10ms 2ms", Normal { mean: ms(10), deviation: ms(2) }),
            ("lognormal 10ms 0.5", LogNormal { median: ms(10), sigma: 0.5 }),
            ("pareto 1ms 1.5", Pareto { min: ms(1), shape: 1.5 }),
        ] {
            assert_eq!(text.parse(), Ok(latency), "{text}");
        }
    }

    #[test]
    fn refuses_everything_else_and_says_what_to_write() {
        for (text, what) in [
            ("", "write a time such as 1ms"),
            ("5", "write a time such as 1ms"),
            ("-1ms", "write a time such as 1ms"),
            ("weibull 1ms 2", "exp, uniform, normal, lognormal or pareto"),
            ("exp", "write exp MEAN"),
            ("exp 1ms 2ms", "write exp MEAN"),
            ("exp 5", "\"5\""),
            ("uniform 1ms", "write uniform MIN MAX"),
            ("uniform 5ms 1ms", "above the maximum"),
            ("normal 10ms", "write normal MEAN DEVIATION"),
            ("lognormal 10ms", "write lognormal MEDIAN SIGMA"),
            ("lognormal 10ms 50ms", "sigma is a number"),
            ("lognormal 10ms -1", "sigma is a number"),
            ("lognormal 10ms inf", "sigma is a number"),
            ("pareto 1ms", "write pareto MIN SHAPE"),
            ("pareto 1ms 0", "above 0"),
            ("pareto 1ms nan", "above 0"),
        ] {
            let error = text.parse::<TimeDistribution>().unwrap_err();
            assert!(error.contains(what), "{text}: {error}");
        }
    }

    #[test]
    fn a_displayed_latency_can_be_read() {
        for text in [
            "0s",
            "1ms500us",
            "exp 1ms",
            "uniform 1ms 5ms",
            "normal 10ms 2ms500us",
            "lognormal 10ms 0.5",
            "pareto 1ms 1.5",
        ] {
            assert_eq!(latency(text).to_string(), text);
        }
    }

    /// The number of draws that do not exceed a quantile has a binomial distribution. The tolerance is five of its
    /// standard deviations.
    #[test]
    fn draws_follow_the_distribution() {
        const DRAWS: usize = 200_000;
        // In a normal distribution, the 90th and the 99th percentile are 1.281_552 and 2.326_348 standard deviations
        // above the mean.
        for (text, quantiles) in [
            ("exp 10ms", [(0.5, 6.931_472), (0.9, 23.025_851), (0.99, 46.051_702)]),
            ("uniform 10ms 20ms", [(0.1, 11.0), (0.5, 15.0), (0.99, 19.9)]),
            ("normal 10ms 2ms", [(0.1, 7.436_897), (0.5, 10.0), (0.99, 14.652_696)]),
            ("normal 1ms 10ms", [(0.5, 1.0), (0.9, 13.815_516), (0.99, 24.263_479)]),
            ("lognormal 10ms 0.5", [(0.1, 5.268_846), (0.5, 10.0), (0.99, 32.002_417)]),
            ("pareto 10ms 2", [(0.5, 14.142_136), (0.9, 31.622_777), (0.99, 100.0)]),
        ] {
            let drawn = draw(latency(text), DRAWS);
            for (share, quantile) in quantiles {
                let below = drawn.iter().filter(|it| it.as_secs_f64() * 1e3 <= quantile).count();
                let below = f64::from(u32::try_from(below).unwrap());
                let expected: f64 = share * 200_000.0;
                let tolerance = 5.0 * (expected * (1.0 - share)).sqrt();
                assert!((below - expected).abs() <= tolerance, "{text}, {share}: {below}");
            }
        }
    }

    #[test]
    fn draws_stay_within_their_bounds() {
        for (text, min, max) in [
            ("uniform 10ms 11ms", ms(10), ms(11)),
            ("uniform 10ms 10ms", ms(10), ms(10)),
            ("normal 0s 1ms", ms(0), ms(10)),
            ("normal 5ms 0s", ms(5), ms(5)),
            ("lognormal 5ms 0", ms(5), ms(5)),
            ("pareto 5ms 1", ms(5), Duration::MAX),
            // In these distributions, the factor by which a time is multiplied can be infinite.
            ("pareto 1ns 0.001", ms(0), Duration::MAX),
            ("lognormal 0s 1000", ms(0), ms(0)),
        ] {
            for drawn in draw(latency(text), 10_000) {
                assert!((min..=max).contains(&drawn), "{text}: {drawn:?}");
            }
        }
    }
}
