//! Counts what has been claimed and started.

use crate::position::{SLOT, ticks_between};
use std::collections::VecDeque;

/// The rate of starts is computed from samples this far apart, over the last second and a little
/// more.
const SAMPLE_NS: i64 = 100_000_000;
const MOST_SAMPLES: usize = 11;

/// Counts slots beyond the range of positions.
#[derive(Debug, Default)]
pub(super) struct SlotCounter {
    position: u64,
    slots: u64,
}

impl SlotCounter {
    /// The slots before `next`, the next position to be claimed. To be called before positions wrap
    /// around.
    pub(super) fn count(&mut self, next: u64) -> u64 {
        let slots = ticks_between(self.position, next) / SLOT.cast_signed();
        self.slots = self.slots.saturating_add_signed(slots);
        self.position = next;
        self.slots
    }
}

/// How many slots had started, at some moments of the last second.
#[derive(Debug)]
pub(super) struct Samples(VecDeque<(i64, u64)>);

impl Samples {
    pub(super) fn new() -> Samples {
        Samples(VecDeque::with_capacity(MOST_SAMPLES))
    }

    pub(super) fn is_due(&self, now: i64) -> bool {
        self.0.back().is_none_or(|&(time, _)| now.saturating_sub(time) >= SAMPLE_NS)
    }

    pub(super) fn add(&mut self, now: i64, started: u64) {
        if self.0.len() == MOST_SAMPLES {
            self.0.pop_front();
        }
        self.0.push_back((now, started));
    }

    /// Starts per second, over the last second or since the first sample.
    #[expect(clippy::cast_precision_loss, reason = "a figure to be shown")]
    pub(super) fn per_second(&self, now: i64, started: u64) -> f64 {
        let a_second_ago = |&&(time, _): &&(i64, u64)| now.saturating_sub(time) >= 1_000_000_000;
        let since = self.0.iter().rev().find(a_second_ago).or(self.0.front());
        let Some(&(time, before)) = since else { return 0.0 };
        let nanos = now.saturating_sub(time);
        if nanos <= 0 { 0.0 } else { started.saturating_sub(before) as f64 * 1e9 / nanos as f64 }
    }
}
