//! Defines the duration of a run.

use std::time::Duration;

#[derive(Clone, Copy)]
pub enum Interval {
    Count(u64),
    Time(Duration),
    Unbounded,
}

impl Interval {
    pub fn is_bounded(&self) -> bool {
        !matches!(self, Interval::Unbounded)
    }

    pub fn count(&self) -> Option<u64> {
        if let Interval::Count(count) = *self { Some(count) } else { None }
    }

    pub fn period(&self) -> Option<Duration> {
        if let Interval::Time(period) = *self { Some(period) } else { None }
    }
}
