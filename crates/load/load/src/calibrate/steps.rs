//! Lists the measurements in their order, and divides the time among them.

use super::measure::{self, Bounds};
use super::results::{Results, TYPICAL_SLEEP};
use crate::console::human;
use nanopace::Pause;
use std::fmt;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    /// Measures the cost of clock readings and of starts.
    Clocks,
    /// If `fine` is set, the timer slack is 1 ns instead of the thread's default.
    Sleeps { asked: Duration, fine: bool },
    /// Reads the clock continuously.
    Spinning,
    /// Starts operations at `hz` per second.
    Starts { pause: Pause, hz: u32 },
}

pub(crate) fn all() -> Vec<Step> {
    let mut steps = vec![Step::Clocks];
    for asked in [Duration::from_micros(1), TYPICAL_SLEEP, Duration::from_millis(2)] {
        steps.push(Step::Sleeps { asked, fine: false });
        if super::thread::timer_slack().is_some() {
            steps.push(Step::Sleeps { asked, fine: true });
        }
    }
    steps.push(Step::Spinning);
    for pause in [Pause::Sleep, Pause::Hybrid, Pause::Yield, Pause::Spin] {
        steps.extend([1_000, 10_000].map(|hz| Step::Starts { pause, hz }));
    }
    steps
}

impl Step {
    pub(crate) fn weight(self) -> u32 {
        match self {
            Step::Clocks | Step::Sleeps { .. } => 1,
            // At 1 k/s, it takes longer to collect enough values, so this measurement gets a larger share of the time.
            Step::Starts { hz, .. } if hz > 1_000 => 1,
            Step::Starts { .. } | Step::Spinning => 2,
        }
    }

    pub(crate) fn perform(self, bounds: Bounds<'_>, results: &mut Results) {
        match self {
            Step::Clocks => results.clock = Some(measure::clocks(bounds)),
            Step::Sleeps { asked, fine } => {
                results.sleeps.extend(measure::sleeps(asked, fine, bounds));
            }
            Step::Spinning => results.spinning = Some(measure::spinning(bounds)),
            Step::Starts { pause, hz } => results.starts.extend(measure::starts(pause, hz, bounds)),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Step::Clocks => f.write_str("reading clocks"),
            Step::Sleeps { asked, fine } => f.write_str(&sleeps_name(asked, fine)),
            Step::Spinning => f.write_str("a spinning thread"),
            Step::Starts { pause, hz } => f.write_str(&starts_name(pause, hz)),
        }
    }
}

pub(crate) fn sleeps_name(asked: Duration, fine: bool) -> String {
    let slack = if fine { "1ns" } else { "default" };
    format!("sleep of {}, {slack} slack", human::time(asked))
}

pub(crate) fn starts_name(pause: Pause, hz: u32) -> String {
    format!("pause {pause} at {}", human::short_hz(f64::from(hz)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_pause_is_measured_after_the_clock() {
        let steps = all();
        assert_eq!(steps[0], Step::Clocks);
        for pause in [Pause::Sleep, Pause::Hybrid, Pause::Yield, Pause::Spin] {
            assert!(steps.contains(&Step::Starts { pause, hz: 10_000 }), "{pause}");
        }
    }
}
