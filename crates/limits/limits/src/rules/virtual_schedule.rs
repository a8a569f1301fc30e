//! The arithmetic of GCRA, token bucket and leaky queue: a debt of time, which is paid off as the clock advances.
//!
//! The word is the *theoretical arrival time*: the moment at which all admitted requests will have been paid off, at
//! one interval for each token of their cost. A request is admitted if the debt, with the intervals of the request
//! added, does not exceed the limit.
//!
//! An interval need not be a whole number of nanoseconds, and rounding it would make it drift. So moments are counted
//! in units of `interval / k`, where `k` is the interval in nanoseconds, rounded down. A unit lasts at least 1 ns and
//! less than 2 ns, and an interval is exactly `k` units. A moment is rounded up both where a debt starts and where a
//! debt is compared with it, so a whole burst can be admitted at one moment. A decision is early or late by less than a
//! unit. Debts are sums of whole intervals, so errors do not accumulate.

use crate::rules::room_beside;
use crate::{Quota, QuotaError, Rejected};
use nanopace_nanos::Nanos;

#[derive(Clone, Copy, Debug)]
pub(crate) struct VirtualSchedule {
    units: Units,
    cost_units: u64,
    /// The maximum debt, in units. The sum of any moment and this debt fits into a word.
    limit_units: u64,
    most: u64,
}

impl VirtualSchedule {
    /// Creates a schedule with a maximum debt of `capacity` tokens. A request costs one token.
    pub(crate) fn new(quota: Quota, capacity: u64) -> Result<VirtualSchedule, QuotaError> {
        let units = Units::new(quota);
        let (count, period_ns) = (u128::from(quota.count()), u128::from(quota.period_ns()));
        let most = u128::from(Nanos::MAX.as_nanos()) * count / period_ns;
        if u128::from(capacity) > most {
            let most = u64::try_from(most).expect("less than the capacity");
            return Err(QuotaError::CapacityTooLarge { most });
        }
        let limit_units = units.units_per_interval * capacity;
        VirtualSchedule { units, cost_units: 0, limit_units, most: 0 }.costing(1)
    }

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

    pub(crate) fn requests_owed(&self, owed: u64, now: Nanos) -> f64 {
        let owed = owed.saturating_sub(self.units.round_up(now));
        double(owed) / double(self.cost_units)
    }

    pub(crate) fn owing_requests(&self, requests: f64, moment: Nanos) -> u64 {
        let owed = whole(requests * double(self.cost_units));
        self.units.round_up(moment).saturating_add(owed)
    }

    #[inline]
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// Returns the capacity in tokens, whereas [`most`](Self::most) returns a number of requests.
    pub(crate) fn capacity(&self) -> u64 {
        self.limit_units / self.units.units_per_interval
    }

    pub(crate) fn owing_all_but(&self, left: u64, moment: Nanos) -> Result<u64, QuotaError> {
        let capacity = self.capacity();
        let gone = capacity.checked_sub(left).ok_or(QuotaError::InitialTooLarge { capacity })?;
        Ok(self.units.round_up(moment) + self.units.units_per_interval * gone)
    }

    #[inline]
    pub(crate) fn peek(&self, owed: u64, now: Nanos, n: u64) -> Result<(), Rejected> {
        room_beside(n, self.most)?;
        let earliest = owed.saturating_sub(self.limit_units - n * self.cost_units);
        if n == 0 || earliest <= self.units.round_up(now) {
            return Ok(());
        }
        Err(Rejected::NotUntil(self.units.first(earliest)))
    }

    #[inline]
    pub(crate) fn owing(&self, owed: u64, now: Nanos, n: u64) -> u64 {
        if n == 0 { owed } else { self.base(owed, now) + n * self.cost_units }
    }

    pub(crate) fn owing_beyond(&self, owed: u64, now: Nanos, n: u64) -> u64 {
        if n == 0 {
            return owed;
        }
        self.base(owed, now).saturating_add(n.saturating_mul(self.cost_units))
    }

    /// Returns the moment to which the debt of the next request is added, in units. This function must compile without
    /// a branch, because with several threads, a branch predictor cannot learn which debts are paid off.
    #[inline]
    fn base(&self, owed: u64, now: Nanos) -> u64 {
        owed.max(self.units.round_up(now))
    }

    pub(crate) fn turn(&self, owed: u64, now: Nanos) -> Nanos {
        self.units.moment(self.base(owed, now)).max(now)
    }

    /// Returns the number of tokens that are missing at `now`, including a token that has partly come back.
    pub(crate) fn gone(&self, owed: u64, now: Nanos) -> u64 {
        owed.saturating_sub(self.units.round_down(now)).div_ceil(self.units.units_per_interval)
    }

    pub(crate) fn remaining(&self, owed: u64, now: Nanos) -> u64 {
        let free = (self.limit_units + self.units.round_up(now)).saturating_sub(owed);
        (free / self.cost_units).min(self.most)
    }

    pub(crate) fn paid_from(&self, owed: u64) -> Nanos {
        self.units.moment(owed)
    }

    /// Refunds `n` requests. `owed_after` is the debt right after they were counted, and `gone_back` is the sum of the
    /// numbers that this method and `exhausted` have returned since then. Debt that has been paid off over time is not
    /// refunded. Returns the new debt, and the number of requests by which it fell. That number is 0 if no request was
    /// counted after the refunded ones, because then no other debt is paid off earlier. Otherwise the debt falls by
    /// whole requests, so that the number is exact: a number that is rounded up reduces each later refund.
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
        if owed_after == owed {
            return (owed - back, 0);
        }
        let whole = at_a_time(back / self.cost_units);
        (owed - u64::from(whole) * self.cost_units, whole)
    }

    /// Adds `n` requests, but does not raise the debt above the maximum. Also returns the number of requests that were
    /// not added, rounded up.
    pub(crate) fn exhausted(&self, owed: u64, now: Nanos, n: u64) -> (u64, u32) {
        let all = self.owing_beyond(owed, now, n);
        let most = owed.max(self.units.round_up(now) + self.limit_units);
        let owing = all.min(most);
        (owing, at_a_time((all - owing).div_ceil(self.cost_units)))
    }

    /// Returns the moment from which every request is paid off, including those that were made before refunded ones. A
    /// request within the burst is paid off at most a whole burst after its admission, and the word is never less than
    /// the moment of the last admission.
    pub(crate) fn all_paid_from(&self, owed: u64) -> Nanos {
        self.units.moment(owed.saturating_add(self.limit_units))
    }
}

/// Caps a number of refunded requests at 2^31 - 1, because their sum has 32 bits and wraps around.
fn at_a_time(requests: u64) -> u32 {
    u32::try_from(requests).unwrap_or(u32::MAX).min(u32::MAX >> 1)
}

#[derive(Clone, Copy, Debug)]
struct Units {
    /// The number `k` of units per interval, which is the interval in nanoseconds, rounded down.
    units_per_interval: u64,
    /// One minus the number of units per nanosecond, in multiples of 2^-64, rounded up. It is below 1/2.
    shortfall_q64: u64,
}

impl Units {
    fn new(quota: Quota) -> Units {
        let units_per_interval = quota.period_ns() / quota.count();
        // A period has k x count units, which are fewer than its nanoseconds by this number.
        let missing = u128::from(quota.period_ns() % quota.count());
        let shortfall = (missing << 64).div_ceil(u128::from(quota.period_ns()));
        Units { units_per_interval, shortfall_q64: u64::try_from(shortfall).expect("below a half") }
    }

    /// Returns the number of nanoseconds before a moment minus the number of units before it, in multiples of 2^-64.
    #[inline]
    fn shortfall(&self, moment: Nanos) -> u128 {
        u128::from(moment.as_nanos()) * u128::from(self.shortfall_q64)
    }

    #[inline]
    fn round_down(&self, moment: Nanos) -> u64 {
        moment.as_nanos() - ((self.shortfall(moment) + u128::from(u64::MAX)) >> 64) as u64
    }

    /// Converts a moment to units, rounded up. This function has no branch for a shortfall of 0. A decision calls it
    /// between the load and the compare-and-swap of its word, and a mispredicted branch would lengthen that time.
    #[inline]
    fn round_up(&self, moment: Nanos) -> u64 {
        moment.as_nanos() - (self.shortfall(moment) >> 64) as u64
    }

    /// Returns the first moment whose conversion to units, rounded down, is at least `units`.
    fn moment(&self, units: u64) -> Nanos {
        if self.shortfall_q64 == 0 {
            return Nanos::from_nanos(units);
        }
        let nanos = (u128::from(units) << 64).div_ceil((1 << 64) - u128::from(self.shortfall_q64));
        Nanos::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Returns the first moment whose conversion to units, rounded up, is at least `units`.
    fn first(&self, units: u64) -> Nanos {
        if self.shortfall_q64 == 0 || units == 0 {
            return Nanos::from_nanos(units);
        }
        let nanos =
            (u128::from(units - 1) << 64) / ((1 << 64) - u128::from(self.shortfall_q64)) + 1;
        Nanos::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// Converts a number to a float. The result is exact for numbers below 2^53.
#[expect(clippy::cast_precision_loss, reason = "a store calculates with doubles")]
pub(crate) fn double(number: u64) -> f64 {
    number as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from `f64` saturates"
)]
pub(crate) fn whole(number: f64) -> u64 {
    (number + 0.5) as u64
}

/// Implements [`Rule`](crate::Rule) for a type with a field `schedule`. `$initial` computes the word of a fresh state.
macro_rules! one_word_rule {
    ($rule:ty, $initial:expr) => {
        impl $crate::Rule for $rule {
            /// The moment at which all admitted requests will be paid off, in units of at least 1 ns and less than 2
            /// ns.
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
