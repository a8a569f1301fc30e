//! Draws the late policy of a round.

use fastrand::Rng;
use nanopace::Strictness;
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    pub(crate) strictness: Strictness,
    pub(crate) max_backlog: Option<Duration>,
    pub(crate) skip_later_than: Option<Duration>,
}

impl Policy {
    pub(crate) fn draw(rng: &mut Rng) -> Policy {
        let average =
            Policy { strictness: Strictness::AVERAGE, max_backlog: None, skip_later_than: None };
        match rng.u8(0..10) {
            0..4 => average,
            4..7 => Policy { strictness: draw_strictness(rng), ..average },
            7 => Policy { max_backlog: Some(draw_limit(rng)), ..average },
            8 => Policy { skip_later_than: Some(draw_limit(rng)), ..average },
            _ => Policy {
                strictness: draw_strictness(rng),
                max_backlog: rng.bool().then(|| draw_limit(rng)),
                skip_later_than: rng.bool().then(|| draw_limit(rng)),
            },
        }
    }

    /// Returns whether the policy acts on lateness. If so, the pacer reads the clock for each start.
    pub(crate) fn is_late(&self) -> bool {
        self.strictness != Strictness::AVERAGE
            || self.max_backlog.is_some()
            || self.skip_later_than.is_some()
    }

    pub(crate) fn forfeits(&self) -> bool {
        let strictness = self.strictness.get();
        self.max_backlog.is_some() || (strictness > 0.0 && strictness <= 1.0)
    }
}

pub(crate) fn draw_strictness(rng: &mut Rng) -> Strictness {
    let number = match rng.u8(0..8) {
        0 => 0.0,
        1..3 => rng.f64(),
        3..5 => 1.0,
        5..7 => 1.0 + rng.f64(),
        _ => 1.0 + 999.0 * rng.f64(),
    };
    Strictness::new(number).unwrap_or_default()
}

/// Draws a limit from 2 ms to 30 ms, so that even a busy machine starts some slots.
pub(crate) fn draw_limit(rng: &mut Rng) -> Duration {
    Duration::from_micros(rng.u64(2_000..30_000))
}
