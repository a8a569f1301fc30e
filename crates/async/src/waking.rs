//! How long waking takes, and so how much earlier than a slot the timer had best ring.

use std::time::Duration;

/// The timer rings at most so much early.
const MOST: Duration = Duration::from_micros(80);

/// The share of the time that tasks may hold on to the processor, having been woken early.
const HOLDING: u32 = 8;

/// If waking took longer than the lead, the lead grows by nine of these, otherwise it shrinks by
/// one: so a tenth of all wake-ups take longer.
const STEP: Duration = Duration::from_nanos(250);

#[derive(Debug, Default)]
pub(crate) struct Waking {
    /// What nine of ten wake-ups take at most.
    most: Duration,
    /// What one takes, smoothed.
    usual: Duration,
}

impl Waking {
    /// The timer rang so much later than it was set for.
    pub(crate) fn learn(&mut self, late: Duration) {
        let late = late.min(MOST);
        self.most =
            if late > self.most { self.most + 9 * STEP } else { self.most.saturating_sub(STEP) };
        self.usual = (self.usual * 15 + late) / 16;
    }

    /// How much earlier than a slot the timer had best ring, if there is one every `interval`.
    pub(crate) fn lead(&self, interval: Duration) -> Duration {
        self.most.min(self.usual + interval / HOLDING)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nine of ten wake-ups come before the slot, whatever the others take.
    #[test]
    fn the_lead_is_what_nine_of_ten_wake_ups_take() {
        let mut waking = Waking::default();
        for round in 0..20_000 {
            waking.learn(Duration::from_micros(if round % 20 == 0 { 900 } else { 30 + round % 7 }));
        }
        let lead = waking.lead(Duration::from_secs(1));
        assert!(
            (Duration::from_micros(34)..=Duration::from_micros(40)).contains(&lead),
            "{lead:?}"
        );
        let usual = waking.lead(Duration::ZERO);
        assert!(usual < lead, "slots that are close leave no time to hold on for");
        assert!(waking.lead(Duration::from_micros(8)) <= usual + Duration::from_micros(1));
    }
}
