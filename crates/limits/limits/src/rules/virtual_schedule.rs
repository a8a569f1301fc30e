//! The arithmetic of the one-word rules: a debt of time, which is paid off as the clock goes on.
//!
//! The word is a moment, the *theoretical arrival time*. Each admitted request takes one interval to pay off, and the
//! word is the moment at which all of them will have been paid off. If that moment is past, nothing is owed. A
//! request is admitted if the debt, including its own intervals, is no more than the limit.
//!
//! # Units
//!
//! An interval need not be a whole number of nanoseconds, and rounding it would make it drift. So moments are counted
//! in units of `interval / k`, where `k` is the interval in nanoseconds, rounded down. A unit lasts at least 1 ns and
//! less than 2 ns, and an interval is exactly `k` units. If the interval is in whole nanoseconds, a unit is exactly
//! one. One multiplication turns a moment into units.
//!
//! A debt starts at the moment rounded up, and is compared with the moment rounded up, so a whole burst is admitted
//! at one moment. A decision is early or late by less than a unit, so by less than 2 ns. If the interval is in whole
//! nanoseconds, it is exact. Debts are sums of whole intervals, so nothing accumulates.

use crate::rules::room_beside;
use crate::{Quota, QuotaError, Rejected};
use nanopace_nanos::Nanos;

/// The law on one word, in units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VirtualSchedule {
    units: Units,
    /// The cost of one request.
    cost_units: u64,
    /// The most that may be owed. Added to any moment, it still fits a word.
    limit_units: u64,
    /// The most requests that may be admitted at once.
    most: u64,
}

impl VirtualSchedule {
    /// A schedule on which tokens come back at `quota`, at most `capacity` tokens may be missing, and a request takes
    /// one token.
    pub(crate) fn new(quota: Quota, capacity: u64) -> Result<VirtualSchedule, QuotaError> {
        let units = Units::new(quota);
        let most = Nanos::MAX.as_nanos() / units.units_per_interval;
        if capacity > most {
            return Err(QuotaError::CapacityTooLarge { most });
        }
        let limit_units = units.units_per_interval * capacity;
        VirtualSchedule { units, cost_units: 0, limit_units, most: 0 }.costing(1)
    }

    /// This schedule, with `cost` tokens for a request.
    pub(crate) fn costing(self, cost: u64) -> Result<VirtualSchedule, QuotaError> {
        match self.capacity() {
            _ if cost == 0 => Err(QuotaError::ZeroCost),
            capacity if capacity < cost => Err(QuotaError::CapacityTooSmall { least: cost }),
            capacity => {
                let cost_units = self.units.units_per_interval * cost;
                Ok(VirtualSchedule { cost_units, most: capacity / cost, ..self })
            }
        }
    }

    /// The number of requests owed at `now`, which need not be whole.
    pub(crate) fn requests_owed(&self, owed: u64, now: Nanos) -> f64 {
        let owed = owed.saturating_sub(self.units.round_up(now));
        double(owed) / double(self.cost_units)
    }

    /// The debt at which `requests` requests are owed at `moment`, to the nearest unit.
    pub(crate) fn owing_requests(&self, requests: f64, moment: Nanos) -> u64 {
        let owed = whole(requests * double(self.cost_units));
        self.units.round_up(moment).saturating_add(owed)
    }

    #[inline]
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// The most that is admitted at once, in tokens.
    pub(crate) fn capacity(&self) -> u64 {
        self.limit_units / self.units.units_per_interval
    }

    /// The debt at `moment` if only `left` tokens are left.
    pub(crate) fn owing_all_but(&self, left: u64, moment: Nanos) -> Result<u64, QuotaError> {
        let capacity = self.capacity();
        let gone = capacity.checked_sub(left).ok_or(QuotaError::InitialTooLarge { capacity })?;
        Ok(self.units.round_up(moment) + self.units.units_per_interval * gone)
    }

    /// Checks whether `n` more are admitted at `now`.
    #[inline]
    pub(crate) fn peek(&self, owed: u64, now: Nanos, n: u64) -> Result<(), Rejected> {
        room_beside(n, self.most)?;
        let earliest = owed.saturating_sub(self.limit_units - n * self.cost_units);
        if n == 0 || earliest <= self.units.round_up(now) {
            return Ok(());
        }
        Err(Rejected::NotUntil(self.units.first(earliest)))
    }

    /// The debt with `n` more, which `peek` allows.
    #[inline]
    pub(crate) fn owing(&self, owed: u64, now: Nanos, n: u64) -> u64 {
        if n == 0 { owed } else { self.base(owed, now) + n * self.cost_units }
    }

    /// The debt with `n` more, which `peek` may not allow.
    pub(crate) fn owing_beyond(&self, owed: u64, now: Nanos, n: u64) -> u64 {
        if n == 0 {
            return owed;
        }
        self.base(owed, now).saturating_add(n.saturating_mul(self.cost_units))
    }

    /// The moment at which the next debt starts. Threads that ask at the same time see paid and unpaid debts in no
    /// order, so this must not be a branch.
    #[inline]
    fn base(&self, owed: u64, now: Nanos) -> u64 {
        owed.max(self.units.round_up(now))
    }

    /// When the next request that is admitted at `now` departs, if departures are one interval apart.
    pub(crate) fn turn(&self, owed: u64, now: Nanos) -> Nanos {
        self.units.moment(self.base(owed, now)).max(now)
    }

    /// The number of tokens that are missing at `now`, including a token that has partly come back.
    pub(crate) fn gone(&self, owed: u64, now: Nanos) -> u64 {
        owed.saturating_sub(self.units.round_down(now)).div_ceil(self.units.units_per_interval)
    }

    /// The most requests that `peek` allows.
    pub(crate) fn remaining(&self, owed: u64, now: Nanos) -> u64 {
        let free = (self.limit_units + self.units.round_up(now)).saturating_sub(owed);
        (free / self.cost_units).min(self.most)
    }

    /// When nothing is owed any more.
    pub(crate) fn paid_from(&self, owed: u64) -> Nanos {
        self.units.moment(owed)
    }

    /// Refunds `n` requests. Returns the new debt, and by how many requests it is less now, rounded up. That number is
    /// 0 if no request was counted after these, because then no other debt is paid earlier. Debt that time has paid off
    /// stays paid.
    ///
    /// `owed_after` is the debt right after these requests were counted, and `gone_back` is the number of requests that
    /// were refunded since.
    pub(crate) fn without(
        &self,
        owed: u64,
        owed_after: u64,
        gone_back: u32,
        now: Nanos,
        n: u64,
    ) -> (u64, u32) {
        let earlier = u64::from(gone_back).saturating_mul(self.cost_units);
        let owed_after = owed_after.saturating_sub(earlier);
        let unpaid = owed_after.min(owed).saturating_sub(self.units.round_up(now));
        let back = unpaid.min(n.saturating_mul(self.cost_units));
        (owed - back, if owed_after == owed { 0 } else { self.in_requests(back) })
    }

    /// A debt in requests, rounded up.
    fn in_requests(&self, units: u64) -> u32 {
        // A receipt never has more requests than this.
        u32::try_from(units.div_ceil(self.cost_units)).unwrap_or(u32::MAX >> 1).min(u32::MAX >> 1)
    }

    /// The debt with `n` more, at most the limit; and how many of the `n` requests did not fit into the limit, rounded
    /// up.
    pub(crate) fn exhausted(&self, owed: u64, now: Nanos, n: u64) -> (u64, u32) {
        let all = self.owing_beyond(owed, now, n);
        let most = owed.max(self.units.round_up(now) + self.limit_units);
        let owing = all.min(most);
        (owing, self.in_requests(all - owing))
    }

    /// The moment from which every request is paid off, even a request that was made before refunded ones. A request is
    /// paid off at the latest a whole burst after it was admitted, and the debt is never less than the moment of the
    /// last admission.
    pub(crate) fn all_paid_from(&self, owed: u64) -> Nanos {
        self.units.moment(owed.saturating_add(self.limit_units))
    }
}

/// Converts moments to units, of which an interval has `k`.
#[derive(Clone, Copy, Debug)]
struct Units {
    /// `k`: the interval in nanoseconds, rounded down.
    units_per_interval: u64,
    /// By how much a unit's rate falls short of one per nanosecond, rounded up; below 1/2, in 2^-64.
    shortfall_q64: u64,
}

impl Units {
    fn new(quota: Quota) -> Units {
        let units_per_interval = quota.period_ns() / quota.count();
        // Units per period are k x count. The shortfall is the rest of the period's nanoseconds.
        let missing = u128::from(quota.period_ns() % quota.count());
        let shortfall = (missing << 64).div_ceil(u128::from(quota.period_ns()));
        Units { units_per_interval, shortfall_q64: u64::try_from(shortfall).expect("below a half") }
    }

    /// The difference between the nanoseconds and the units of a moment, in 2^-64 of a unit.
    #[inline]
    fn shortfall(&self, moment: Nanos) -> u128 {
        u128::from(moment.as_nanos()) * u128::from(self.shortfall_q64)
    }

    #[inline]
    fn round_down(&self, moment: Nanos) -> u64 {
        moment.as_nanos() - ((self.shortfall(moment) + u128::from(u64::MAX)) >> 64) as u64
    }

    /// Has no branch, because a decision should be short between reading its word and writing it.
    #[inline]
    fn round_up(&self, moment: Nanos) -> u64 {
        moment.as_nanos() - (self.shortfall(moment) >> 64) as u64
    }

    /// The first moment that is at least `units` when it is rounded down.
    fn moment(&self, units: u64) -> Nanos {
        if self.shortfall_q64 == 0 {
            return Nanos::from_nanos(units);
        }
        let nanos = (u128::from(units) << 64).div_ceil((1 << 64) - u128::from(self.shortfall_q64));
        Nanos::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The first moment that is at least `units` when it is rounded up: one that is more than `units` - 1.
    fn first(&self, units: u64) -> Nanos {
        if self.shortfall_q64 == 0 || units == 0 {
            return Nanos::from_nanos(units);
        }
        let nanos =
            (u128::from(units - 1) << 64) / ((1 << 64) - u128::from(self.shortfall_q64)) + 1;
        Nanos::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// The number as an `f64`, exact below 2^53.
#[expect(clippy::cast_precision_loss, reason = "a store counts in doubles")]
pub(crate) fn double(number: u64) -> f64 {
    number as f64
}

/// The nearest whole number to this `f64`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a conversion of a double stops at both ends"
)]
pub(crate) fn whole(number: f64) -> u64 {
    (number + 0.5) as u64
}

/// Implements the rule for a type with a field `schedule`. Its state is one word, which begins as `$initial`.
macro_rules! one_word_rule {
    ($rule:ty, $initial:expr) => {
        impl $crate::Rule for $rule {
            /// When everything that was admitted will be paid off, in units of about a nanosecond; 0
            /// at first.
            type State = u64;

            fn fresh(&self) -> u64 {
                let initial: fn(&Self) -> u64 = $initial;
                initial(self)
            }

            #[inline]
            fn most(&self) -> u64 {
                self.schedule.most()
            }

            #[inline]
            fn advance(&self, _owed: &mut u64, _now: ::nanopace_nanos::Nanos) {}

            #[inline]
            fn peek(
                &self,
                owed: &u64,
                now: ::nanopace_nanos::Nanos,
                n: u64,
            ) -> Result<(), $crate::Rejected> {
                self.schedule.peek(*owed, now, n)
            }

            #[inline]
            fn debit(&self, owed: &mut u64, now: ::nanopace_nanos::Nanos, n: u64) {
                *owed = self.schedule.owing(*owed, now, n);
            }

            fn idle_from(&self, owed: &u64) -> ::nanopace_nanos::Nanos {
                self.schedule.paid_from((*owed).max(self.fresh()))
            }

            fn remaining(&self, owed: &u64, now: ::nanopace_nanos::Nanos) -> u64 {
                self.schedule.remaining(*owed, now)
            }
        }
    };
}
pub(crate) use one_word_rule;
