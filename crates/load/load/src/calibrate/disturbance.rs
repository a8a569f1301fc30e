//! Measures how much other programs, interrupts and a hypervisor disturbed the measurements.
//!
//! If other programs take time from a thread that never sleeps, this time is missing from the thread's CPU time. Time
//! taken by interrupts and by a hypervisor appears as gaps between the thread's clock readings.

use crate::console::human;
use std::fmt::{self, Display, Formatter};

/// The maximum acceptable share of time taken. A larger share can lengthen the p99 times, from which the conclusions
/// are drawn, several times over.
const MOST_TAKEN: f64 = 0.05;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Disturbance {
    /// The largest share of a measurement's time that other programs took, or `None` if it is unknown.
    pub(crate) by_others: Option<f64>,
    /// The share of the spinning thread's time that passed in hiccups, or `None` if it was not measured.
    pub(crate) in_hiccups: Option<f64>,
}

impl Disturbance {
    pub(crate) fn is_too_much(self) -> bool {
        [self.by_others, self.in_hiccups].into_iter().flatten().any(|share| share > MOST_TAKEN)
    }
}

impl Display for Disturbance {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(share) = self.by_others.filter(|share| *share > MOST_TAKEN) {
            let share = human::percent(share);
            return write!(
                f,
                "other programs took up to {share} of the time of threads that never sleep"
            );
        }
        let lost = human::percent(self.in_hiccups.unwrap_or(0.0));
        write!(
            f,
            "a spinning thread lost {lost} of its time to interrupts, a hypervisor or other programs"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_a_twentieth_is_too_much() {
        for (by_others, in_hiccups, too_much) in [
            (None, None, false),
            (Some(0.0), Some(0.004), false),
            (Some(0.05), Some(0.05), false),
            (Some(0.051), Some(0.0), true),
            (Some(0.0), Some(0.051), true),
            (None, Some(0.5), true),
            (Some(0.3), None, true),
        ] {
            let taken = Disturbance { by_others, in_hiccups };
            assert_eq!(taken.is_too_much(), too_much, "{taken:?}");
        }
    }

    #[test]
    fn the_shares_are_named_where_they_are_known() {
        let taken = Disturbance { by_others: Some(0.31), in_hiccups: Some(0.4) };
        assert_eq!(
            taken.to_string(),
            "other programs took up to 31.0 % of the time of threads that never sleep"
        );
        for by_others in [None, Some(0.01)] {
            let told = Disturbance { by_others, in_hiccups: Some(0.125) }.to_string();
            assert!(
                told.starts_with("a spinning thread lost 12.5 % of its time to interrupts"),
                "{told}"
            );
        }
    }
}
