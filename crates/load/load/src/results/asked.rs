//! Counts the slots that the load requires between two times of a run.

use nanopace::{Ledger, Nanos, Shape};
use std::time::Duration;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct AskedLoad {
    /// The number of slots whose intended start, in a schedule that no late policy has moved, is before a given time.
    pub(crate) slots: u64,
    /// The number of requested slots until the given time, including the elapsed fraction of the next one. For random
    /// arrivals, it is the expected number of slots. For a recording, there are no fractions.
    pub(crate) count: f64,
}

impl AskedLoad {
    pub(crate) fn since(self, earlier: AskedLoad) -> AskedLoad {
        AskedLoad {
            slots: self.slots.saturating_sub(earlier.slots),
            count: (self.count - earlier.count).max(0.0),
        }
    }
}

/// Returns whether a shape has its peak rate until it ends or `span` ends.
pub(crate) fn is_constant(shape: &Shape, span: Duration) -> bool {
    let span = shape.duration().map_or(span, |duration| duration.min(span));
    shape.count_at(span) >= shape.peak() * span.as_secs_f64() * (1.0 - 1e-6)
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct RunEnd {
    pub(crate) at: Nanos,
    /// The end of the load, or `at` if it has not ended. If the last slot starts late, the run ends later than its
    /// load.
    pub(crate) asked_until: Nanos,
    /// The load until `asked_until`, including the warm-up.
    pub(crate) asked: AskedLoad,
    pub(crate) recorded: AskedLoad,
    /// The number of recorded slots that would have started if no slot had been late.
    pub(crate) required: f64,
    pub(crate) is_paused: bool,
    /// The pacer's ledger. It was read when the end of the run was noticed, and does not include the time after the
    /// end. If the run ended when the last recorded slot was admitted, the ledger's time ends up to one interval before
    /// the run.
    pub(crate) ledger: Ledger,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_constant_if_its_rate_is_the_same_throughout() {
        for (shape, expected) in [
            ("hold 33.3/s 7s", true),
            ("(hold 100/s 1s, hold 100/s 2s) forever", true),
            ("ramp 10/s..300/s 10s", false),
            ("hold 100/s 9s, hold 0/s 1s", false),
        ] {
            let is_constant = is_constant(&shape.parse().unwrap(), Duration::from_secs(10));
            assert_eq!(is_constant, expected, "{shape}");
        }
    }
}
