//! Estimates that a thread makes from its own pauses: how far they overrun, what they cost, and how much the thread may
//! still spin.
//!
//! Kept for each thread, because how far a sleep overruns depends on the thread and its operating system. Moments are
//! kept for the last pacer only, because the moments of two clocks can't be compared. Spans stay valid when the thread
//! turns to another pacer. A clock that does not run by itself teaches nothing.

use super::caller_pause::CallerPause;
use super::forecast::{Forecast, Quantile};
use super::pausing::Pausing;
use std::cell::Cell;

thread_local! {
    static ESTIMATES: Cell<ThreadEstimates> = const { Cell::new(ThreadEstimates::NEW) };
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ThreadEstimates {
    /// The pacer on whose clock the moments are.
    pacer: u64,
    /// The moment that the thread last slept to.
    slept_to: i64,
    oversleep: Forecast,
    /// The CPU time that going to sleep and waking up takes.
    cost: Quantile,
    /// Time that may be spent spinning, as of `credited`.
    credit: i64,
    /// How long the thread will not spin because another thread needs the processor, as of `credited`.
    crowded: i64,
    credited: i64,
    /// Whether the credit has been used up and has not been full since.
    is_saving: bool,
}

/// How a thread gets to the end of its pause.
pub(super) enum Approach {
    /// Spin for all of it.
    Spin,
    /// Sleep until this long before the end, in nanoseconds, and then spin.
    SleepThenSpin(i64),
    /// Sleep for all of it, or longer where the strategy that sleeps would.
    Sleep,
}

/// Margins outside of this range are not worth it.
const LEAST_MARGIN_NS: i64 = 2_000;
const MOST_MARGIN_NS: i64 = 100_000;
/// The most spinning that can be saved up.
const MOST_CREDIT_NS: i64 = 1_000_000;
/// If a spinning thread loses the processor for this long, another thread needs it.
const CROWDED_NS: i64 = 200_000;
/// A thread that keeps another one from running does not spin for this long.
const CROWDED_FOR_NS: i64 = 20_000_000;

/// The share, from 0 to 1, of a span in nanoseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "less than the span, and to the microsecond is enough"
)]
pub(super) fn share_of(nanos: i64, share: f64) -> i64 {
    (nanos as f64 * share) as i64
}

impl ThreadEstimates {
    const NEW: ThreadEstimates = ThreadEstimates {
        pacer: 0,
        slept_to: i64::MIN,
        // A thread with default timers should expect this. The estimate is corrected within some dozens of sleeps.
        oversleep: Forecast::new(50_000, Quantile::new(10_000, 94)),
        // The cost of a sleep on Linux and bare metal. The estimate is corrected as soon.
        cost: Quantile::new(3_000, 50),
        credit: MOST_CREDIT_NS,
        crowded: 0,
        credited: i64::MAX,
        is_saving: false,
    };

    /// The calling thread's estimates, if the clock runs by itself.
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

    /// Lets the thread's estimates learn, if the clock runs by itself. Returns the new estimates.
    pub(super) fn update(
        pause: &CallerPause<'_>,
        learn: impl FnOnce(&mut ThreadEstimates),
    ) -> Option<ThreadEstimates> {
        let mut estimates = ThreadEstimates::of(pause)?;
        learn(&mut estimates);
        ESTIMATES.set(estimates);
        Some(estimates)
    }

    /// A sleep to `until` has ended `now`.
    pub(super) fn slept(&mut self, until: i64, now: i64) {
        self.slept_to = until.min(now);
        if now >= until {
            self.oversleep.learn((now - until).min(MOST_MARGIN_NS));
        }
    }

    /// A sleep has taken `nanos` of CPU time.
    pub(super) fn paid(&mut self, nanos: i64) {
        if nanos > 0 {
            self.cost.learn(nanos);
        }
    }

    /// The earliest moment to wake again that keeps sleeping within its share.
    pub(super) fn wakes_again(&self, pausing: &Pausing) -> i64 {
        self.slept_to.saturating_add(pausing.sleep_period_ns(self.cost.value()))
    }

    /// How a pause of `delay` is spent, if the thread may spin for `earned` from one start to the next.
    ///
    /// * The thread spins through a delay if it can do so at every start.
    /// * If sleeps keep up with the starts, the thread always sleeps, even if only for a moment.
    /// * If no sleep keeps up, the thread spins from full credit until that is used up, and then sleeps until the credit
    ///   is full again.
    ///
    /// A thread that spins through one delay and sleeps through the next makes both gaps uneven.
    pub(super) fn approach(&self, delay: i64, earned: i64, is_stretched: bool) -> Approach {
        let margin = self.margin();
        // However short the sleep, it usually ends more than a quarter of the delay late.
        let is_too_short = delay < self.oversleep.mean() / 5 * 4;
        if delay <= earned.min(margin) || is_too_short && self.can_spend(delay) {
            Approach::Spin
        } else if margin == 0 || is_too_short && is_stretched {
            Approach::Sleep
        } else {
            Approach::SleepThenSpin(margin)
        }
    }

    /// How long before its moment a thread wakes to be there in time: almost all sleeps overrun by less than this. When
    /// less than half of the credit is left, the margin shrinks with it, down to where the thread spins as long as it
    /// may.
    fn margin(&self) -> i64 {
        let wanted = self.oversleep.value().clamp(LEAST_MARGIN_NS, MOST_MARGIN_NS);
        wanted * (2 * self.credit()).min(MOST_CREDIT_NS) / MOST_CREDIT_NS
    }

    /// Whether the thread may spin through a delay that no sleep is short enough for.
    fn can_spend(&self, delay: i64) -> bool {
        !self.is_saving && delay <= self.credit()
    }

    /// Time goes on to `now`; the fraction `share` of it may be spent spinning.
    pub(super) fn pass(&mut self, now: i64, share: f64) {
        let passed = now.saturating_sub(self.credited).clamp(0, 1_000_000_000);
        self.credit = self.credit.saturating_add(share_of(passed, share)).min(MOST_CREDIT_NS);
        self.crowded = (self.crowded - passed).max(0);
        self.credited = now;
        self.is_saving &= self.credit < MOST_CREDIT_NS;
    }

    /// How long the thread may spin.
    fn credit(&self) -> i64 {
        if self.crowded > 0 { 0 } else { self.credit.max(0) }
    }

    /// There was no processor to spin on.
    pub(super) fn crowded_out(&mut self) {
        self.crowded = CROWDED_FOR_NS;
    }

    /// Spends `nanos` on spinning. A negative number corrects an earlier one that was too high.
    pub(super) fn spun(&mut self, nanos: i64) {
        self.credit -= nanos;
        self.is_saving |= self.credit < MOST_MARGIN_NS;
    }

    /// The thread lost the processor for `longest_gap` while it was spinning for `nanos` since
    /// `credited`. If that is long, another thread needs the processor.
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
        // A tenth of every 100 us for 1 s, whatever is asked for: 0.1 s, and the initial credit.
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
