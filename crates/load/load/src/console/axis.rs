//! Chooses round numbers for the ticks of the axes of charts.

use super::chart::round_up;
use super::human;
use std::time::Duration;

/// The name of each unit, its length in nanoseconds, and the numbers of units that count as round steps.
const UNITS: [(&str, u64, &[u64]); 7] = [
    ("ns", 1, &[1, 2, 5, 10, 20, 50, 100, 200, 500]),
    ("us", 1_000, &[1, 2, 5, 10, 20, 50, 100, 200, 500]),
    ("ms", 1_000_000, &[1, 2, 5, 10, 20, 50, 100, 200, 500]),
    ("s", 1_000_000_000, &[1, 2, 5, 10, 20, 30]),
    ("min", 60_000_000_000, &[1, 2, 5, 10, 20, 30]),
    ("h", 3_600_000_000_000, &[1, 2, 3, 6, 12]),
    ("d", 86_400_000_000_000, &[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000, 100_000]),
];

/// Formats a count with three digits: `12.3k`.
pub(crate) fn short_count(count: f64) -> String {
    if count < 1e9 {
        human::short_hz(count).trim_end_matches("/s").to_owned()
    } else {
        format!("{count:.2e}")
    }
}

/// Formats a round count as a label of an axis. For example, the label is `2k`, where [`short_count`] returns `2.00k`.
pub(crate) fn round_count(count: f64) -> String {
    let short = short_count(count);
    let (number, unit) = short.split_at(short.find(['k', 'M', 'e']).unwrap_or(short.len()));
    let number = if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    };
    format!("{number}{unit}")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeAxis {
    end_ns: u64,
    step_ns: u64,
    unit: (&'static str, u64),
}

impl TimeAxis {
    /// Chooses at most `most` round times after zero, up to `end`.
    pub(crate) fn new(end: Duration, most: u64) -> TimeAxis {
        let end_ns = u64::try_from(end.as_nanos()).unwrap_or(u64::MAX).max(1);
        let steps = UNITS.iter().flat_map(|&(name, unit, steps)| {
            steps.iter().map(move |step| (step * unit, (name, unit)))
        });
        let fits = |&(step, _): &(u64, _)| end_ns / step <= most;
        let (step_ns, mut unit) = steps.into_iter().find(fits).unwrap_or((u64::MAX, ("ns", 1)));
        // If the axis is at least as long as the next larger unit, that unit is used: 0.5s, 1s and 1.5s are easier to
        // read than 500ms, 1000ms and 1500ms.
        let decimal = UNITS[..4].windows(2).find(|pair| pair[0].1 == unit.1 && end_ns >= pair[1].1);
        if let Some([_, next]) = decimal {
            unit = (next.0, next.1);
        }
        TimeAxis { end_ns, step_ns, unit }
    }

    pub(crate) fn unit(self) -> (&'static str, f64) {
        (self.unit.0, human::float(self.unit.1) * 1e-9)
    }

    pub(crate) fn ticks(self) -> impl Iterator<Item = (f64, String)> {
        (0..=self.end_ns / self.step_ns).map(move |tick| {
            let ns = tick * self.step_ns;
            let (name, unit) = self.unit;
            let label = if tick == 0 {
                "0".to_owned()
            } else {
                format!("{}{name}", human::float(ns) / human::float(unit))
            };
            (human::float(ns) / human::float(self.end_ns), label)
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ValueAxis {
    step: f64,
    steps: u64,
}

impl ValueAxis {
    /// Chooses a round step, and at most `wanted` of these steps, so that the axis ends at `most` or above.
    pub(crate) fn new(most: f64, wanted: u64) -> ValueAxis {
        let most = if most > 0.0 { most } else { 1.0 };
        let step = round_up(most / human::float(wanted), &[1.0, 2.0, 5.0, 10.0]);
        // The product of a round step and its count may be slightly too small because of rounding, so the comparison
        // has a tolerance.
        let steps = (1..wanted).find(|steps| human::float(*steps) * step > most * 0.999_999);
        ValueAxis { step, steps: steps.unwrap_or(wanted) }
    }

    pub(crate) fn part(self, value: f64) -> f64 {
        (value / self.step / human::float(self.steps)).clamp(0.0, 1.0)
    }

    pub(crate) fn ticks(self) -> impl Iterator<Item = f64> {
        (0..=self.steps).map(move |tick| human::float(tick) * self.step)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogTimeAxis {
    from_ns: u64,
    to_ns: u64,
}

impl LogTimeAxis {
    /// Chooses a round start of at most `least_ns`, and a round end of at least `most_ns` and at least ten times the
    /// start. The start is at least 1 us unless all times are below 1 us; shorter times are drawn at the start.
    pub(crate) fn new(least_ns: u64, most_ns: u64) -> LogTimeAxis {
        let least = least_ns.max(1_000).min(most_ns).max(1);
        let from_ns = round_times().take_while(|&time| time <= least).last().unwrap_or(1);
        let is_enough = |&time: &u64| time >= most_ns && time / 10 >= from_ns;
        let to_ns = round_times().find(is_enough).unwrap_or(u64::MAX);
        LogTimeAxis { from_ns, to_ns }
    }

    pub(crate) fn part(self, ns: u64) -> f64 {
        let [from, to, at] = [self.from_ns, self.to_ns, ns.max(1)].map(|ns| human::float(ns).ln());
        ((at - from) / (to - from)).clamp(0.0, 1.0)
    }

    /// Returns the ticks. If the end is more than 200 times the start, only powers of ten have ticks.
    pub(crate) fn ticks(self) -> impl Iterator<Item = (f64, String)> {
        let is_long = self.to_ns / self.from_ns > 200;
        round_times()
            .skip_while(move |&ns| ns < self.from_ns)
            .take_while(move |&ns| ns <= self.to_ns)
            .filter(move |ns| !is_long || 10_u64.pow(ns.ilog10()) == *ns)
            .map(move |ns| (self.part(ns), label(ns)))
    }
}

fn round_times() -> impl Iterator<Item = u64> {
    (0..19).flat_map(|tens| [1, 2, 5].map(|step| step * 10_u64.pow(tens)))
}

fn label(ns: u64) -> String {
    let units = UNITS[..4].iter().rev().find(|(_, unit, _)| ns >= *unit).unwrap_or(&UNITS[0]);
    format!("{}{}", ns / units.1, units.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(end: Duration, most: u64) -> Vec<String> {
        TimeAxis::new(end, most).ticks().map(|(_, label)| label).collect()
    }

    #[test]
    fn round_counts_are_short() {
        let shown = [0.0, 0.5, 20.0, 100.0, 2_000.0, 2_500.0, 5e6, 1e10].map(round_count);
        assert_eq!(shown, ["0", "0.5", "20", "100", "2k", "2.5k", "5M", "1e10"]);
    }

    #[test]
    fn moments_are_round() {
        for (ms, shown) in [
            (1, "0 0.2ms 0.4ms 0.6ms 0.8ms 1ms"),
            (2_000, "0 0.5s 1s 1.5s 2s"),
            (900, "0 200ms 400ms 600ms 800ms"),
            (150_000, "0 30s 60s 90s 120s 150s"),
            (90_000, "0 20s 40s 60s 80s"),
            (600_000, "0 2min 4min 6min 8min 10min"),
            (86_400_000, "0 6h 12h 18h 24h"),
            (3_000_000_000, "0 10d 20d 30d"),
        ] {
            assert_eq!(labels(Duration::from_millis(ms), 5).join(" "), shown);
        }
    }

    #[test]
    fn no_axis_has_more_than_fit_and_the_last_fits() {
        for end in (0..63).map(|bits| Duration::from_nanos(1 << bits)) {
            for most in 1..20 {
                let ticks: Vec<_> = TimeAxis::new(end, most).ticks().collect();
                assert!(ticks.len() as u64 <= most + 1, "{end:?} {most}: {ticks:?}");
                assert!(ticks.iter().all(|(part, _)| (0.0..=1.0).contains(part)), "{ticks:?}");
            }
        }
        assert_eq!(labels(Duration::ZERO, 1), ["0", "1ns"]);
    }

    #[test]
    fn values_end_at_a_round_one() {
        for (most, shown) in [
            (100.0, "0 20 40 60 80 100"),
            (101.0, "0 50 100 150"),
            (0.0, "0 0.2 0.4 0.6 0.8 1"),
            (7.0, "0 2 4 6 8"),
        ] {
            let axis = ValueAxis::new(most, 5);
            let ticks: Vec<_> =
                axis.ticks().map(|tick| format!("{}", (tick * 10.0).round() / 10.0)).collect();
            assert_eq!(ticks.join(" "), shown);
            assert!((0.5..=1.0).contains(&axis.part(most)) || most == 0.0, "{most}");
        }
    }

    #[test]
    fn times_are_round_and_include_the_least_and_the_most() {
        for (least, most, shown) in [
            (0, 0, "1ns 2ns 5ns 10ns"),
            (3_000, 4_000, "2us 5us 10us 20us"),
            (12_000, 2_100_000_000, "10us 100us 1ms 10ms 100ms 1s"),
            (5, 7_000, "1us 2us 5us 10us"),
        ] {
            let ticks: Vec<_> = LogTimeAxis::new(least, most).ticks().map(|tick| tick.1).collect();
            assert_eq!(ticks.join(" "), shown, "{least} {most}");
        }
        for bits in 0..64 {
            let axis = LogTimeAxis::new(1 << bits, u64::MAX);
            assert!(axis.part(1 << bits) >= 0.0 && axis.part(u64::MAX) <= 1.0, "{axis:?}");
        }
    }
}
