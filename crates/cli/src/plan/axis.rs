//! Round numbers along the axes of a chart.

use nanopace_console::human;
use std::time::Duration;

/// Units of time: how long they are in nanoseconds, and which steps are round. A step may also be
/// ten times as large, and so on, if the next unit is far.
const UNITS: [(&str, u64, &[u64]); 7] = [
    ("ns", 1, &[1, 2, 5, 10, 20, 50, 100, 200, 500]),
    ("us", 1_000, &[1, 2, 5, 10, 20, 50, 100, 200, 500]),
    ("ms", 1_000_000, &[1, 2, 5, 10, 20, 50, 100, 200, 500]),
    ("s", 1_000_000_000, &[1, 2, 5, 10, 20, 30]),
    ("min", 60_000_000_000, &[1, 2, 5, 10, 20, 30]),
    ("h", 3_600_000_000_000, &[1, 2, 3, 6, 12]),
    ("d", 86_400_000_000_000, &[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000, 100_000]),
];

/// A count to three digits: `12.3k`.
pub(crate) fn short_count(count: f64) -> String {
    if count < 1e9 {
        human::short_hz(count).trim_end_matches("/s").to_owned()
    } else {
        format!("{count:.2e}")
    }
}

/// Round moments along an axis of time that begins at zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeAxis {
    end_ns: u64,
    step_ns: u64,
    unit: (&'static str, u64),
}

impl TimeAxis {
    /// At most `most` moments after zero, up to `end`.
    pub(crate) fn new(end: Duration, most: u64) -> TimeAxis {
        let end_ns = u64::try_from(end.as_nanos()).unwrap_or(u64::MAX).max(1);
        let steps = UNITS.iter().flat_map(|&(name, unit, steps)| {
            steps.iter().map(move |step| (step * unit, (name, unit)))
        });
        let fits = |&(step, _): &(u64, _)| end_ns / step <= most;
        let (step_ns, unit) = steps.into_iter().find(fits).unwrap_or((u64::MAX, ("ns", 1)));
        TimeAxis { end_ns, step_ns, unit }
    }

    /// The unit that suits the axis, and how many seconds it has.
    pub(crate) fn unit(self) -> (&'static str, f64) {
        (self.unit.0, human::float(self.unit.1) * 1e-9)
    }

    /// The moments, each as a part of the axis and with its label.
    pub(crate) fn ticks(self) -> impl Iterator<Item = (f64, String)> {
        (0..=self.end_ns / self.step_ns).map(move |tick| {
            let ns = tick * self.step_ns;
            let (name, unit) = self.unit;
            let label = if tick == 0 { "0".to_owned() } else { format!("{}{name}", ns / unit) };
            (human::float(ns) / human::float(self.end_ns), label)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(end: Duration, most: u64) -> Vec<String> {
        TimeAxis::new(end, most).ticks().map(|(_, label)| label).collect()
    }

    #[test]
    fn moments_are_round() {
        for (ms, shown) in [
            (1, "0 200us 400us 600us 800us 1000us"),
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
}
