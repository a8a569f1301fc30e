//! What limits do where some requests wait for them, and others do not.

use crate::costs::Costs;
use crate::{CostsRejected, Decision, Limits, LimitsState, Receipt, Rejected, Rule, Standing};
use nanopace_nanos::Nanos;
use std::sync::Arc;

#[doc(hidden)]
impl Limits {
    /// Like [`admit`](Limits::admit), for a request that may be taken back.
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
    #[must_use]
    pub fn gave_way(&self, state: &LimitsState, now: Nanos, rejected: Rejected) -> Decision {
        let (which, standing) = self.tightest(state, now);
        Decision::new(Err(rejected), now, Standing { remaining: 0, ..standing }).by(which)
    }
}
