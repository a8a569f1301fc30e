//! Defines the pause settings of one pacer, and the state that its callers share.

use super::permits::SpinPermits;
use super::strategy::Pause;
use crate::nanos::span_ns;
use crate::sync::{AtomicU64, Relaxed, unique};
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Pausing {
    pub(super) pacer: u64,
    pub(crate) strategy: Pause,
    pub(crate) sleep_share: f64,
    pub(crate) spin_share: f64,
    /// If slots are at least this far apart, each start has its own sleep, whatever the sleeps cost.
    pub(crate) spared_ns: i64,
    pub(crate) fine_timers: bool,
    spun: AtomicU64,
    pub(super) permits: SpinPermits,
}

/// The minimum share. A smaller share would stretch a sleep that costs 3 us to more than a second.
const LEAST_SHARE: f64 = 3e-6;

impl Pausing {
    pub(crate) fn new() -> Pausing {
        let spun = AtomicU64::new(0);
        Pausing {
            pacer: unique(),
            strategy: Pause::default(),
            sleep_share: Pause::DEFAULT_SLEEP_SHARE,
            spin_share: Pause::DEFAULT_SPIN_SHARE,
            spared_ns: span_ns(Pause::CLUMPED_BELOW),
            fine_timers: true,
            spun,
            permits: SpinPermits::new(),
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "about a second in nanoseconds"
    )]
    pub(super) fn sleep_period_ns(&self, cost_ns: i64) -> i64 {
        (cost_ns as f64 / self.sleep_share.max(LEAST_SHARE)) as i64
    }

    /// The other half of the tolerated lateness is left for the oversleep.
    pub(crate) fn stretch_ns(&self, interval_ns: i64, tolerated_ns: i64) -> i64 {
        if interval_ns < self.spared_ns { tolerated_ns / 2 } else { 0 }
    }

    pub(crate) fn wakes_again(&self, woken: i64, cost: Duration) -> i64 {
        woken.saturating_add(self.sleep_period_ns(span_ns(cost)))
    }

    pub(super) fn add_spun(&self, nanos: i64) {
        // Relaxed: the count is independent of other data. No decision depends on it, so there is no model.
        self.spun.fetch_add(nanos.cast_unsigned(), Relaxed);
    }

    pub(crate) fn spun(&self) -> Duration {
        // Relaxed: as in `add_spun`.
        Duration::from_nanos(self.spun.load(Relaxed))
    }
}
