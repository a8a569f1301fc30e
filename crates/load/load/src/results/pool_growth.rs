//! Describes how far a growing pool of connections has grown.

use crate::console::human;
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct PoolGrowth {
    pub(crate) first: usize,
    pub(crate) most: usize,
    /// The number of connections at the end, including added ones that failed to open.
    pub(crate) opened: usize,
    /// The time from the start of the load until the last added connection was open. `None` if the pool did not grow.
    pub(crate) last_opened_seconds: Option<f64>,
}

impl PoolGrowth {
    pub(crate) fn plus(self, other: PoolGrowth) -> PoolGrowth {
        let [last, other_last] = [self, other].map(|pool| pool.last_opened_seconds);
        PoolGrowth {
            first: self.first.saturating_add(other.first),
            most: self.most.saturating_add(other.most),
            opened: self.opened.saturating_add(other.opened),
            last_opened_seconds: last.into_iter().chain(other_last).reduce(f64::max),
        }
    }

    /// Describes the growth. The `unit` is "connection" or "stream".
    pub(crate) fn describe(self, unit: &str) -> String {
        let PoolGrowth { first, most, opened, .. } = self;
        let Some(seconds) = self.last_opened_seconds else {
            return format!("the first {} sufficed", human::count(first, unit));
        };
        // The number comes from a file if results are merged.
        let after = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        let after = human::time(after);
        if opened == most {
            return format!("all {most} {unit}s were opened, the last after {after}");
        }
        format!("at most {opened} {unit}s were needed; the last was opened after {after}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_numbers_of_a_file_can_be_added_and_shown() {
        for seconds in [f64::MAX, -1.0, 0.5] {
            let (opened, last_opened_seconds) = (usize::MAX, Some(seconds));
            let pool = PoolGrowth { first: 1, most: usize::MAX, opened, last_opened_seconds };
            let told = pool.plus(pool).describe("connection");
            assert!(told.contains("connections were opened, the last after "), "{told}");
        }
    }
}
