//! Measures how late the timer rings, and limits how long tasks may spin until their slots are due.

use nanopace::Nanos;
use std::time::Duration;

const LEAD_LIMIT: Duration = Duration::from_micros(250);

/// The lead exceeds the average lateness by at most the interval divided by this number. On average, a task therefore
/// spins for at most this part of the interval.
const USUAL_SHARE: u32 = 8;

/// The inverse of the maximum fraction of time that tasks may spin.
const HOLD_DIVISOR: u32 = 4;

const SAVED_LIMIT: Duration = Duration::from_micros(200);

/// The step by which `p90_late` changes. The value grows by nine steps after a ring that was later, and shrinks by one
/// step after any other ring. About a tenth of all rings are therefore later.
const STEP: Duration = Duration::from_nanos(250);

#[derive(Debug, Default)]
pub(crate) struct Waking {
    p90_late: Duration,
    /// A moving average of the lateness, where each value counts as at most `LEAD_LIMIT`.
    usual: Duration,
}

impl Waking {
    pub(crate) fn learn(&mut self, late: Duration) {
        let late = late.min(LEAD_LIMIT);
        self.p90_late = if late > self.p90_late {
            self.p90_late + 9 * STEP
        } else {
            self.p90_late.saturating_sub(STEP)
        };
        self.usual = (self.usual * 15 + late) / 16;
    }

    pub(crate) fn lead(&self, interval: Duration) -> Duration {
        self.p90_late.min(self.usual + interval / USUAL_SHARE).min(interval / 2)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Holding {
    saved: Duration,
    at: Nanos,
    pub(crate) spent: Duration,
}

impl Holding {
    pub(crate) fn pass(&mut self, now: Nanos) {
        self.saved = (self.saved + (now - self.at) / HOLD_DIVISOR).min(SAVED_LIMIT);
        self.at = self.at.max(now);
    }

    pub(crate) fn affords(&self, span: Duration) -> bool {
        span <= self.saved
    }

    pub(crate) fn spend(&mut self, span: Duration) {
        self.saved = self.saved.saturating_sub(span);
        self.spent += span;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lead_covers_nine_of_ten_wake_ups() {
        let mut waking = Waking::default();
        for round in 0..20_000 {
            waking.learn(Duration::from_micros(if round % 20 == 0 { 900 } else { 30 + round % 7 }));
        }
        let lead = waking.lead(Duration::from_secs(1));
        assert!(
            (Duration::from_micros(34)..=Duration::from_micros(40)).contains(&lead),
            "{lead:?}"
        );
        assert!(waking.lead(Duration::from_micros(100)) <= Duration::from_micros(50));
        assert_eq!(waking.lead(Duration::from_micros(8)), Duration::from_micros(4));
    }

    #[test]
    fn holding_on_is_bounded() {
        let (mut holding, mut held) = (Holding::default(), Duration::ZERO);
        let span = Duration::from_micros(7);
        for step in 0..100_000 {
            holding.pass(Nanos::from_nanos(step * 1_000));
            if holding.affords(span) {
                holding.spend(span);
                held += span;
            }
        }
        let all = Duration::from_millis(100);
        let share = all / HOLD_DIVISOR;
        assert!(held.abs_diff(share) <= SAVED_LIMIT, "{held:?} of {share:?}");
    }
}
