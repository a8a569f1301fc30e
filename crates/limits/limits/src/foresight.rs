//! When a request gets in that stands in line behind others.

use crate::costs::KeptCosts;
use crate::{Costs, CostsRejected, Limits, LimitsState, Refusal};
use nanopace_nanos::Nanos;
use std::sync::Arc;

/// How many of those in front are looked at. Behind more of them, a request gets in later than is
/// said.
pub(crate) const MOST_IN_FRONT: usize = 1_000;

/// A copy of what limits have counted, and what those cost who stand in front. It is made under the
/// lock under which requests are decided, and looked at outside of it.
pub(crate) struct Foresight {
    limits: Arc<Limits>,
    state: LimitsState,
    now: Nanos,
    in_front: Vec<KeptCosts>,
}

impl Foresight {
    pub(crate) fn new(
        limits: &Arc<Limits>,
        state: &LimitsState,
        now: Nanos,
        in_front: Vec<KeptCosts>,
    ) -> Foresight {
        Foresight { limits: Arc::clone(limits), state: state.clone(), now, in_front }
    }

    /// When a request gets in that costs so much, if all in front stay, and nobody comes between.
    ///
    /// # Errors
    /// [`CostsRejected`] if it never does.
    pub(crate) fn gets_in(mut self, costs: Costs<'_>) -> Result<Nanos, CostsRejected> {
        for other in std::mem::take(&mut self.in_front) {
            // What never gets in leaves.
            let _ = self.let_in(other.as_costs());
        }
        self.let_in(costs)
    }

    /// Lets a request in as soon as it fits, and goes on from there.
    fn let_in(&mut self, costs: Costs<'_>) -> Result<Nanos, CostsRejected> {
        loop {
            let Err(rejected) = self.limits.admit(&mut self.state, self.now, costs) else {
                return Ok(self.now);
            };
            match rejected.not_until() {
                Some(moment) if moment > self.now => self.now = moment,
                Some(moment) => return Ok(moment),
                None => return Err(rejected),
            }
        }
    }
}
