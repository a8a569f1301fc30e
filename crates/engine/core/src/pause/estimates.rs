//! Estimates how far a thread's sleeps overrun, what they cost, and how much the thread may still spin.
//!
//! Each thread has its own estimates, because the usual oversleep differs between threads. Times are kept for the last
//! pacer only, because times of two clocks can't be compared. Durations stay valid when the thread uses another pacer.
//! Nothing is estimated with a clock that does not advance automatically.

use super::caller_pause::CallerPause;
use super::forecast::{Forecast, Quantile};
use super::pausing::Pausing;
use std::cell::Cell;

thread_local! {
    static ESTIMATES: Cell<ThreadEstimates> = const { Cell::new(ThreadEstimates::NEW) };
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ThreadEstimates {
    pacer: u64,
    slept_to: i64,
    oversleep: Forecast,
    /// The CPU time of going to sleep and waking up once.
    cost: Quantile,
    /// The time that the thread may spend on spinning, as of `credited`.
    credit: i64,
    /// The remaining time, as of `credited`, in which the thread must not spin because another thread needs the core.
    crowded: i64,
    credited: i64,
    /// Whether the credit has fallen below [`MOST_MARGIN_NS`] and has not been full since.
    is_saving: bool,
}

pub(super) enum Approach {
    Spin,
    /// The thread sleeps, then spins for this time in nanoseconds.
    SleepThenSpin(i64),
    Sleep,
}

/// The range of the spinning time after a sleep. If the credit is low, a thread spins for less.
const LEAST_MARGIN_NS: i64 = 2_000;
const MOST_MARGIN_NS: i64 = 100_000;
const MOST_CREDIT_NS: i64 = 1_000_000;
/// If a spinning thread loses the processor for this long, another thread needs it.
const CROWDED_NS: i64 = 200_000;
/// The time for which a thread does not spin after it has lost the processor or has not got a permit to spin.
const CROWDED_FOR_NS: i64 = 20_000_000;

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "the result is at most `nanos` and need not be exact"
)]
pub(super) fn share_of(nanos: i64, share: f64) -> i64 {
    (nanos as f64 * share) as i64
}

impl ThreadEstimates {
    const NEW: ThreadEstimates = ThreadEstimates {
        pacer: 0,
        slept_to: i64::MIN,
        // The usual oversleep with default timers. The estimate is corrected within some dozens of sleeps.
        oversleep: Forecast::new(50_000, Quantile::new(10_000, 94)),
        // The cost of a sleep on Linux and bare metal.
        cost: Quantile::new(3_000, 50),
        credit: MOST_CREDIT_NS,
        crowded: 0,
        credited: i64::MAX,
        is_saving: false,
    };

    pub(super) fn of(pause: &CallerPause<'_>) -> Option<ThreadEstimates> {
        if !pause.clock.is_real() {
            return None;
        }
        let (pacer, estimates) = (pause.pausing.pacer, ESTIMATES.get());
        Some(if estimates.pacer == pacer {
            estimates
        } else {
            ThreadEstimates {
                pacer,
                slept_to: ThreadEstimates::NEW.slept_to,
                credited: ThreadEstimates::NEW.credited,
                ..estimates
            }
        })
    }

    pub(super) fn update(
        pause: &CallerPause<'_>,
        learn: impl FnOnce(&mut ThreadEstimates),
    ) -> Option<ThreadEstimates> {
        let mut estimates = ThreadEstimates::of(pause)?;
        learn(&mut estimates);
        ESTIMATES.set(estimates);
        Some(estimates)
    }

    pub(super) fn slept(&mut self, until: i64, now: i64) {
        self.slept_to = until.min(now);
        if now >= until {
            self.oversleep.learn((now - until).min(MOST_MARGIN_NS));
        }
    }

    pub(super) fn paid(&mut self, nanos: i64) {
        if nanos > 0 {
            self.cost.learn(nanos);
        }
    }

    pub(super) fn wakes_again(&self, pausing: &Pausing) -> i64 {
        self.slept_to.saturating_add(pausing.sleep_period_ns(self.cost.value()))
    }

    /// Decides how the thread spends a pause of `delay`, if it may spin for `earned` from one start to the next:
    ///
    /// * The thread spins through a delay of at most the margin, if its share allows such a spin at every start.
    /// * If sleeps end in time, the thread sleeps before every start: a mix of spins and sleeps would make gaps uneven.
    /// * If even the shortest sleep ends too late, the thread spins until less than [`MOST_MARGIN_NS`] of credit is
    ///   left, and then sleeps before every start until the credit is full.
    pub(super) fn approach(&self, delay: i64, earned: i64, is_stretched: bool) -> Approach {
        let margin = self.margin();
        // Even the shortest sleep usually ends late, by more than a quarter of the delay.
        let is_too_short = delay < self.oversleep.mean() / 5 * 4;
        if delay <= earned.min(margin) || is_too_short && self.can_spend(delay) {
            Approach::Spin
        } else if margin == 0 || is_too_short && is_stretched {
            Approach::Sleep
        } else {
            Approach::SleepThenSpin(margin)
        }
    }

    /// Below half of the maximum credit, the margin shrinks in proportion to the credit.
    fn margin(&self) -> i64 {
        let wanted = self.oversleep.value().clamp(LEAST_MARGIN_NS, MOST_MARGIN_NS);
        wanted * (2 * self.credit()).min(MOST_CREDIT_NS) / MOST_CREDIT_NS
    }

    fn can_spend(&self, delay: i64) -> bool {
        !self.is_saving && delay <= self.credit()
    }

    pub(super) fn pass(&mut self, now: i64, share: f64) {
        let passed = now.saturating_sub(self.credited).clamp(0, 1_000_000_000);
        self.credit = self.credit.saturating_add(share_of(passed, share)).min(MOST_CREDIT_NS);
        self.crowded = (self.crowded - passed).max(0);
        self.credited = now;
        self.is_saving &= self.credit < MOST_CREDIT_NS;
    }

    fn credit(&self) -> i64 {
        if self.crowded > 0 { 0 } else { self.credit.max(0) }
    }

    pub(super) fn crowded_out(&mut self) {
        self.crowded = CROWDED_FOR_NS;
    }

    /// A negative `nanos` corrects an earlier subtraction that was too large.
    pub(super) fn spun(&mut self, nanos: i64) {
        self.credit -= nanos;
        self.is_saving |= self.credit < MOST_MARGIN_NS;
    }

    pub(super) fn lost_processor(&mut self, nanos: i64, longest_gap: i64) {
        if longest_gap > CROWDED_NS {
            self.crowded = nanos.saturating_add(CROWDED_FOR_NS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spinning_is_bounded_by_its_share() {
        let mut estimates = ThreadEstimates::NEW;
        let mut spun = 0;
        for tick in 0..10_000 {
            let now = tick * 100_000;
            estimates.pass(now, 0.1);
            let allowed = estimates.credit().min(50_000);
            estimates.spun(allowed);
            spun += allowed;
        }
        assert!(spun <= 100_000_000 + MOST_CREDIT_NS, "{spun}");
        assert!(spun >= 99_000_000, "{spun}");
    }

    #[test]
    fn a_thread_that_loses_the_processor_while_spinning_sleeps_for_a_while() {
        let credit = |estimates: &mut ThreadEstimates, now| {
            estimates.pass(now, 1.0);
            estimates.credit()
        };
        let mut estimates = ThreadEstimates::NEW;
        assert!(credit(&mut estimates, 1_000) > 0);
        estimates.lost_processor(10, CROWDED_NS);
        assert!(credit(&mut estimates, 1_000) > 0);
        estimates.lost_processor(10, CROWDED_NS + 1);
        assert_eq!(credit(&mut estimates, 1_009 + CROWDED_FOR_NS), 0);
        assert!(credit(&mut estimates, 1_010 + CROWDED_FOR_NS) > 0);
        estimates.crowded_out();
        assert_eq!(credit(&mut estimates, 1_009 + 2 * CROWDED_FOR_NS), 0);
        assert!(credit(&mut estimates, 1_010 + 2 * CROWDED_FOR_NS) > 0);
    }
}
