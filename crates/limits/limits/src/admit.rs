//! How requests get in that look again and again.

use crate::costs::Costs;
use crate::{CostsRejected, Limits, LimitsState};
use nanopace_nanos::Nanos;

#[doc(hidden)]
impl Limits {
    /// Lets a request in if it fits. Otherwise nothing is counted, not even by limits that count
    /// rejected requests: for those who look again and again.
    ///
    /// # Errors
    /// As for [`try_acquire_costs`](Limits::try_acquire_costs). The moment is that of a request that is not
    /// counted until then.
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
}
