//! What limits do where some requests wait for them, and others do not.

use crate::costs::Costs;
use crate::{CostsRejected, Decision, Limits, LimitsState, Receipt, Rejected, Rule, Standing};
use alloc::sync::Arc;
use nanopace_nanos::Nanos;

impl Limits {
    /// Lets a request in if it fits. Otherwise nothing is counted, not even by limits that count
    /// rejected requests: for those who look again and again.
    ///
    /// # Errors
    /// As for [`decide_costs`](Limits::decide_costs). The moment is that of a request that is not
    /// counted until then.
    ///
    /// ```
    /// use nanopace::Nanos;
    /// use nanopace_limits::{Limits, Rule};
    ///
    /// let limits: Limits = "1/s sliding-log-all".parse()?;
    /// let mut state = limits.fresh();
    /// let second = Nanos::from_nanos(1_000_000_000);
    /// assert!(limits.admit(&mut state, Nanos::ZERO, 1).is_ok());
    /// assert!(limits.admit(&mut state, Nanos::ZERO, 1).is_err());
    /// assert!(limits.admit(&mut state, second, 1).is_ok());
    /// # Ok::<(), nanopace_limits::LimitsError>(())
    /// ```
    pub fn admit<'a>(
        &self,
        state: &mut LimitsState,
        now: Nanos,
        costs: impl Into<Costs<'a>>,
    ) -> Result<(), CostsRejected> {
        let costs = costs.into();
        self.would_admit(state, now, costs)?;
        self.count_each(state, now, costs);
        Ok(())
    }

    /// Whether [`admit`](Limits::admit) would let the request in.
    pub(crate) fn would_admit(
        &self,
        state: &LimitsState,
        now: Nanos,
        costs: Costs<'_>,
    ) -> Result<(), CostsRejected> {
        costs.fit(self.each().len())?;
        let check = |(place, (limit, state)): (usize, (&crate::Limit, &_))| {
            limit.check_uncounted(state, now, costs.of(place)).err()
        };
        let longest = self.each_with(state).enumerate().filter_map(check).max();
        longest.map_or(Ok(()), |rejected| Err(rejected.into()))
    }

    /// As [`admit`](Limits::admit), for a request that may be taken back.
    #[cfg(feature = "std")]
    pub(crate) fn admit_for_now(
        self: &Arc<Limits>,
        state: &mut LimitsState,
        now: Nanos,
        costs: Costs<'_>,
    ) -> Result<Receipt, CostsRejected> {
        self.admit(state, now, costs)?;
        Ok(self.receipt(state, costs))
    }

    /// Refuses a request that costs something, because another one waits that gets in from `first`
    /// on. Leaves it to the decision to say that a request gets in at no time.
    #[cfg(feature = "std")]
    pub(crate) fn give_way(
        &self,
        state: &mut LimitsState,
        now: Nanos,
        costs: Costs<'_>,
        first: Nanos,
    ) -> Result<(), Rejected> {
        if costs.largest() == 0 || costs.fit(self.each().len()).is_err() {
            return Ok(());
        }
        let own = match self.check_each(state, now, costs) {
            Err(Rejected::ExceedsCapacity { .. }) => return Ok(()),
            Err(Rejected::NotUntil(moment)) => moment,
            Ok(()) => self.retry_elsewhere(state, now, costs).max(now),
        };
        self.advance(state, now);
        self.refuse_costs(state, now, costs);
        Err(Rejected::NotUntil(own.max(first)))
    }

    /// The decision on a request that has given way ([`Line::give_way`](crate::Line::give_way)).
    /// Nothing is left for it, whatever the limits have left.
    ///
    /// ```
    /// use nanopace::Nanos;
    /// use nanopace_limits::{Limits, Rejected, Rule};
    ///
    /// let limits: Limits = "10/s".parse()?;
    /// let rejected = Rejected::NotUntil(Nanos::from_nanos(5));
    /// let decision = limits.gave_way(&limits.fresh(), Nanos::ZERO, rejected);
    /// assert_eq!((decision.answer(), decision.remaining()), (Err(rejected), 0));
    /// # Ok::<(), nanopace_limits::LimitsError>(())
    /// ```
    #[must_use]
    pub fn gave_way(&self, state: &LimitsState, now: Nanos, rejected: Rejected) -> Decision {
        let (which, standing) = self.tightest(state, now);
        Decision::new(Err(rejected), now, Standing { remaining: 0, ..standing }).by(which)
    }
}
