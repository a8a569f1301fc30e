//! Measures how long waking takes, so that the timer can ring that much earlier than a slot. Also limits how long
//! tasks may hold on to the processor after they were woken early.

use nanopace::Nanos;
use std::time::Duration;

/// The maximum time by which the timer rings early.
const LEAD_LIMIT: Duration = Duration::from_micros(250);

/// The inverse of the average fraction of time for which tasks that were woken early hold on. The fraction is 1/8.
const USUAL_SHARE: u32 = 8;

/// The inverse of the maximum fraction of time for which tasks that were woken early hold on. The fraction is 1/4.
const HOLD_DIVISOR: u32 = 4;

/// The maximum time that tasks can save up for later when they hold on for less than their fraction.
const SAVED_LIMIT: Duration = Duration::from_micros(200);

/// The step by which the lead changes. The lead grows by nine steps if waking took longer than the lead, and otherwise
/// shrinks by one step. About a tenth of all wake-ups therefore take longer than the lead.
const STEP: Duration = Duration::from_nanos(250);

#[derive(Debug, Default)]
pub(crate) struct Waking {
    /// The estimated duration that nine of ten wake-ups do not exceed.
    p90_late: Duration,
    /// The smoothed average duration of a wake-up.
    usual: Duration,
}

impl Waking {
    /// Updates the estimates with a wake-up that came `late` after the time for which the timer was set.
    pub(crate) fn learn(&mut self, late: Duration) {
        let late = late.min(LEAD_LIMIT);
        self.p90_late = if late > self.p90_late {
            self.p90_late + 9 * STEP
        } else {
            self.p90_late.saturating_sub(STEP)
        };
        self.usual = (self.usual * 15 + late) / 16;
    }

    /// Returns how much earlier than a slot the timer should ring, if there is a slot every `interval`.
    pub(crate) fn lead(&self, interval: Duration) -> Duration {
        self.p90_late.min(self.usual + interval / USUAL_SHARE).min(interval / 2)
    }
}

/// Limits the time for which tasks may hold on to the processor.
#[derive(Debug, Default)]
pub(crate) struct Holding {
    saved: Duration,
    /// The time at which `saved` was last updated.
    at: Nanos,
    /// The total time that was spent.
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

    /// Checks that nine of ten wake-ups come before the slot is due, however long the others take.
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

    /// Checks that for all requests, tasks never hold on for more than their fraction of the time.
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
