//! What quotas bring that follow one another.

use crate::Quota;
use nanopace_nanos::Nanos;
use std::collections::VecDeque;

/// How many tokens have come by a moment, and when a token came. A change of the quota loses no
/// more than the part of a token that a nanosecond brings.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Never empty; the last one is in force.
    stretches: VecDeque<Stretch>,
}

/// One quota, from its first moment on.
#[derive(Debug)]
pub(crate) struct Stretch {
    quota: Quota,
    start: Nanos,
    /// How many tokens had come by the start.
    before: u128,
    /// The part of the next token that had, in 1 / `period`; below 1.
    carry: u64,
}

impl Flow {
    pub(crate) fn new(quota: Quota, start: Nanos) -> Flow {
        Flow { stretches: [Stretch { quota, start, before: 0, carry: 0 }].into() }
    }

    fn current(&self) -> &Stretch {
        self.stretches.back().expect("never empty")
    }

    pub(crate) fn quota(&self) -> Quota {
        self.current().quota
    }

    /// How many tokens have come by `moment`, not before the last change.
    pub(crate) fn brought_by(&self, moment: Nanos) -> u128 {
        let current = self.current();
        current.before + current.since(moment) / u128::from(current.quota.period_ns())
    }

    /// When the token with that number came, counted from one.
    pub(crate) fn moment_of(&self, number: u128) -> Nanos {
        let stretch = self.stretches.iter().rfind(|stretch| stretch.before < number);
        stretch.map_or(Nanos::ZERO, |stretch| stretch.moment_of(number))
    }

    /// From `now` on, tokens come at `quota`. When the first `taken` of all came is not asked again.
    pub(crate) fn set_quota(&mut self, quota: Quota, now: Nanos, taken: u128) {
        if quota == self.quota() {
            return;
        }
        let period = u128::from(self.quota().period_ns());
        let part = self.current().since(now) % period;
        let carry = u64::try_from(part * u128::from(quota.period_ns()) / period)
            .expect("less than the period");
        let before = self.brought_by(now);
        self.stretches.push_back(Stretch { quota, start: now, before, carry });
        while self.stretches.get(1).is_some_and(|next| next.before <= taken) {
            self.stretches.pop_front();
        }
    }
}

impl Stretch {
    /// What has come since the start, in 1 / `period` of a token.
    fn since(&self, moment: Nanos) -> u128 {
        (moment - self.start).as_nanos() * u128::from(self.quota.count()) + u128::from(self.carry)
    }

    fn moment_of(&self, number: u128) -> Nanos {
        let missing = (number - self.before)
            .saturating_mul(u128::from(self.quota.period_ns()))
            .saturating_sub(u128::from(self.carry));
        let elapsed_ns = missing.div_ceil(u128::from(self.quota.count()));
        let elapsed_ns = u64::try_from(elapsed_ns).unwrap_or(u64::MAX);
        Nanos::from_nanos(self.start.as_nanos().saturating_add(elapsed_ns))
    }
}
