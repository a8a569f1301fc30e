//! Decides how long messages take, and which messages are lost.

use super::setup::Setup;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Network {
    random: fastrand::Rng,
    jitter: f64,
    loss: f64,
    again: f64,
}

impl Network {
    pub(super) fn new(setup: &Setup) -> Network {
        Network {
            random: fastrand::Rng::with_seed(setup.seed),
            jitter: setup.jitter,
            loss: setup.loss,
            again: setup.again,
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some nanoseconds")]
    pub(super) fn way_ns(&mut self, trip: Duration) -> u64 {
        let late = (-self.random.f64().max(1e-9).ln()).min(8.0);
        (trip.as_secs_f64() * 1e9 / 2.0 * (1.0 + self.jitter * late)) as u64
    }

    pub(super) fn ways_ns(&mut self, trip: Duration, messages: u32) -> Option<u64> {
        (0..messages).map(|_| (self.random.f64() >= self.loss).then(|| self.way_ns(trip))).sum()
    }

    pub(super) fn again_ns(&mut self) -> Option<u64> {
        (self.random.f64() < self.again).then(|| self.random.u64(0..100_000_000))
    }

    pub(super) fn either_way(&mut self, most: f64) -> f64 {
        (2.0 * self.random.f64() - 1.0) * most
    }
}
