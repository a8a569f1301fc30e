//! Several limits at once, which can be parsed from a string and replaced by others.

mod export;
mod limit;
mod refund;
mod replaced;
mod state;

use crate::{Costs, CostsRejected, Decision, Rejected, Rule, Standing};
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::time::Duration;
pub(crate) use limit::LimitState;
#[cfg(feature = "std")]
pub(crate) use limit::{Law, MOST_AT_ONCE};
pub use limit::{Limit, LimitKind, LimitsError};
use nanopace_nanos::Nanos;
pub use refund::Receipt;
use replaced::{CountedLimit, Replaced};
use smallvec::SmallVec;
pub use state::LimitsState;

/// One limit, or several at once. A request is checked against all limits before any of them counts it. As a string,
/// limits are separated by commas. The string `unlimited` means no limits; an empty string is an error.
///
/// # Changes
///
/// [`carry_over`](Limits::carry_over) creates the state of limits that replace others. Earlier admissions stay counted:
///
/// * An unchanged limit keeps its state. A window also keeps its state if only its count has changed, unless it counts
///   rejected requests.
/// * Any other limit begins with the unpaid requests of one old rate or the counts of one old window, whichever are
///   more. A window counts each request at the latest moment at which it may have been admitted. A rate begins
///   exhausted at worst: it then admits a request within one interval.
/// * A replaced limit keeps counting until its requests are paid off or have left its window, and continues if it comes
///   back into force before that. So lowering a limit and raising it again gains no capacity. At most eight replaced
///   limits are kept: those that will count for the longest time.
///
/// # Alternating limits
///
/// Limits may alternate, for example because processes that share a store have different limits. While at most eight
/// replaced limits still count:
///
/// * Each limit admits no more than it would admit alone. All of them together therefore admit at most the sum.
/// * If one limit always admits at least as much as each of the others, all of them together admit no more than that
///   limit. This holds for rates, if one of them has both the highest rate and the largest burst, and for windows of
///   one kind and period.
///
/// Other limits together can come close to the sum, because each limit records only what its own rule needs. A rate
/// records what is owed, not when requests were admitted: a limit of `10/s burst 1` that has admitted ten requests in
/// the last 0.9 s still records only the last one as owed. If `20/s in 10` replaces it, 29 requests are admitted within
/// 0.95 s. Another example: a lower rate that replaces a full window begins exhausted, but admits a request after one
/// interval.
///
/// ```
/// use nanopace_limits::Limits;
///
/// let limits: Limits = "10/s burst 20, 1000/h in 60".parse()?;
/// assert_eq!(limits.each().len(), 2);
/// assert_eq!(limits.to_string().parse::<Limits>()?, limits);
/// assert_eq!("unlimited".parse::<Limits>()?, Limits::new([]));
/// # Ok::<(), nanopace_limits::LimitsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits(SmallVec<[Limit; 1]>);

impl Limits {
    /// Combines several limits. An empty list admits every request, as the string `unlimited` does. A list of more than
    /// 64 limits has no valid string, so it works only where limits are not stored as a string.
    pub fn new(limits: impl IntoIterator<Item = Limit>) -> Limits {
        Limits(limits.into_iter().collect())
    }

    /// Returns the limits, in the order in which they were given.
    #[must_use]
    pub fn each(&self) -> &[Limit] {
        &self.0
    }
}

impl Limits {
    /// Returns the initial state of these limits when they replace `old` at `now`. Admitted requests stay counted.
    #[must_use]
    pub fn carry_over(&self, old: &Limits, state: &LimitsState, now: Nanos) -> LimitsState {
        let account =
            |(limit, state): (&Limit, &LimitState)| CountedLimit::new(*limit, state.clone());
        let mut accounts: Vec<CountedLimit> =
            old.0.iter().zip(state.in_force()).map(account).collect();
        accounts.extend(state.replaced().into_iter().flat_map(Replaced::counted).cloned());
        let mut taken_over = Vec::new();
        let opened = |(place, limit): (usize, &Limit)| {
            let same_place = Some(place).filter(|place| *place < old.0.len());
            let index = CountedLimit::taken_over_by(limit, same_place, &accounts, now);
            taken_over.extend(index);
            match index {
                Some(index) => accounts[index].go_on_as(*limit),
                None => CountedLimit::begin(*limit, &accounts, now),
            }
        };
        let in_force: Vec<CountedLimit> = self.0.iter().enumerate().map(opened).collect();
        let replaced = Replaced::by(&in_force, &taken_over, accounts, now);
        LimitsState::new(in_force.into_iter().map(CountedLimit::into_state).collect(), replaced)
    }

    /// Returns the index and the standing of the limit with the fewest remaining requests. If several limits have no
    /// remaining requests, returns the one with the longest reset. Without limits, the index is 0, and `u64::MAX`
    /// requests remain.
    #[must_use]
    pub fn tightest(&self, state: &LimitsState, now: Nanos) -> (usize, Standing) {
        let standings = self.each_with(state).map(|(limit, state)| limit.standing(state, now));
        let order = |standing: &Standing| match standing.remaining {
            0 => (0, Reverse(standing.reset)),
            left => (left, Reverse(Duration::ZERO)),
        };
        standings.enumerate().min_by_key(|(_, standing)| order(standing)).unwrap_or((0, ENDLESS))
    }

    pub(crate) fn each_with<'a>(
        &'a self,
        state: &'a LimitsState,
    ) -> impl Iterator<Item = (&'a Limit, &'a LimitState)> {
        self.0.iter().zip(state.in_force())
    }

    /// Admits or rejects a request with costs. An admitted request is counted by all limits. A rejected request is
    /// counted only by limits that count rejected requests.
    ///
    /// # Errors
    /// Returns [`CostsRejected`] if the request is rejected, or if there is not exactly one cost for each limit.
    pub fn try_acquire_costs<'a>(
        &self,
        state: &mut LimitsState,
        now: Nanos,
        costs: impl Into<Costs<'a>>,
    ) -> Result<(), CostsRejected> {
        match costs.into() {
            Costs::Same(n) => Ok(self.try_acquire(state, now, n)?),
            costs @ Costs::Each(_) => {
                costs.fit(self.0.len())?;
                Ok(self.try_acquire_each(state, now, costs).map_err(without_index)?)
            }
        }
    }

    /// Decides as [`try_acquire_costs`](Limits::try_acquire_costs) does. The [`Decision`] includes the number of
    /// remaining requests.
    ///
    /// # Errors
    /// Returns [`CostsRejected::Number`] unless there is exactly one cost for each limit.
    pub fn decide_costs<'a>(
        &self,
        state: &mut LimitsState,
        now: Nanos,
        costs: impl Into<Costs<'a>>,
    ) -> Result<Decision, CostsRejected> {
        let costs = costs.into();
        costs.fit(self.0.len())?;
        Ok(self.decide_each(state, now, costs))
    }

    fn decide_each(&self, state: &mut LimitsState, now: Nanos, costs: Costs<'_>) -> Decision {
        let answer = self.try_acquire_each(state, now, costs);
        let (which, standing) = match answer {
            Err((_, place)) => (place, self.0[place].standing(&state.in_force()[place], now)),
            Ok(()) => self.tightest(state, now),
        };
        Decision::new(answer.map_err(without_index), now, standing).by(which)
    }

    fn try_acquire_each(
        &self,
        state: &mut LimitsState,
        now: Nanos,
        costs: Costs<'_>,
    ) -> Result<(), (Rejected, usize)> {
        let answer = self.check_each(state, now, costs);
        match answer {
            Ok(()) => self.count_each(state, now, costs),
            Err((Rejected::ExceedsCapacity { .. }, _)) => (),
            Err((Rejected::NotUntil(_), _)) => {
                self.advance(state, now);
                self.refuse_costs(state, now, costs);
            }
        }
        answer
    }

    pub(crate) fn count_each(&self, state: &mut LimitsState, now: Nanos, costs: Costs<'_>) {
        if costs.largest() > 0 {
            self.advance(state, now);
            self.debit_costs(state, now, costs);
        }
    }

    pub(crate) fn check_each(
        &self,
        state: &LimitsState,
        now: Nanos,
        costs: Costs<'_>,
    ) -> Result<(), (Rejected, usize)> {
        let rejection = |(place, (limit, state)): (usize, (&Limit, &LimitState))| {
            Some((limit.peek(state, now, costs.of(place)).err()?, Reverse(place)))
        };
        match self.each_with(state).enumerate().filter_map(rejection).max() {
            Some((Rejected::NotUntil(moment), Reverse(place))) => {
                let moment = moment.max(self.retry_elsewhere(state, now, costs));
                Err((Rejected::NotUntil(moment), place))
            }
            other => other.map_or(Ok(()), |(rejected, Reverse(place))| Err((rejected, place))),
        }
    }

    /// Returns the moment from which all limits that count rejected requests admit this request if it is rejected and
    /// counted at `now`, or zero if none of them delays it.
    pub(crate) fn retry_elsewhere(
        &self,
        state: &LimitsState,
        now: Nanos,
        costs: Costs<'_>,
    ) -> Nanos {
        let retry = |(place, (limit, state)): (usize, (&Limit, &LimitState))| {
            limit.retry_elsewhere(state, now, costs.of(place))
        };
        self.each_with(state).enumerate().filter_map(retry).max().unwrap_or(Nanos::ZERO)
    }

    fn debit_costs(&self, state: &mut LimitsState, now: Nanos, costs: Costs<'_>) {
        for (place, (limit, state)) in self.0.iter().zip(state.in_force_mut()).enumerate() {
            limit.debit(state, now, costs.of(place));
        }
        if let Some(replaced) = state.replaced_mut() {
            replaced.debit(now, costs.largest());
        }
    }

    pub(crate) fn refuse_costs(&self, state: &mut LimitsState, now: Nanos, costs: Costs<'_>) {
        for (place, (limit, state)) in self.0.iter().zip(state.in_force_mut()).enumerate() {
            limit.refuse(state, now, costs.of(place));
        }
    }
}

#[cfg(feature = "std")]
impl Limits {
    /// Admits a request if it fits. Otherwise no limit counts it, not even one that counts rejected requests, because a
    /// waiting request is retried.
    pub(crate) fn admit<'a>(
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

    pub(crate) fn would_admit(
        &self,
        state: &LimitsState,
        now: Nanos,
        costs: Costs<'_>,
    ) -> Result<(), CostsRejected> {
        costs.fit(self.each().len())?;
        let check = |(place, (limit, state)): (usize, (&Limit, &_))| {
            limit.check_uncounted(state, now, costs.of(place)).err()
        };
        let longest = self.each_with(state).enumerate().filter_map(check).max();
        longest.map_or(Ok(()), |rejected| Err(rejected.into()))
    }

    /// Rejects a request that yields to waiting requests. `first` is the moment from which the first waiting request is
    /// admitted. A request that costs nothing, is too large, or has a wrong number of costs is not rejected here.
    pub(crate) fn yield_to_waiters(
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
            Err((Rejected::ExceedsCapacity { .. }, _)) => return Ok(()),
            Err((Rejected::NotUntil(moment), _)) => moment,
            Ok(()) => self.retry_elsewhere(state, now, costs).max(now),
        };
        self.advance(state, now);
        self.refuse_costs(state, now, costs);
        Err(Rejected::NotUntil(own.max(first)))
    }

    /// Returns the decision on a request that [`yield_to_waiters`](crate::custom::WaitQueue::yield_to_waiters)
    /// rejected. The decision reports that 0 requests remain.
    #[must_use]
    pub fn decide_queued(&self, state: &LimitsState, now: Nanos, rejected: Rejected) -> Decision {
        let (which, standing) = self.tightest(state, now);
        Decision::new(Err(rejected), now, Standing { remaining: 0, ..standing }).by(which)
    }
}

fn without_index((rejected, _): (Rejected, usize)) -> Rejected {
    rejected
}

const ENDLESS: Standing = Standing { limit: u64::MAX, remaining: u64::MAX, reset: Duration::ZERO };

impl Rule for Limits {
    type State = LimitsState;

    fn fresh(&self) -> LimitsState {
        LimitsState::new(self.0.iter().map(Limit::fresh).collect(), None)
    }

    fn most(&self) -> u64 {
        self.0.iter().map(Limit::most).min().unwrap_or(u64::MAX)
    }

    fn advance(&self, state: &mut LimitsState, now: Nanos) {
        for (limit, state) in self.0.iter().zip(state.in_force_mut()) {
            limit.advance(state, now);
        }
        state.forget_replaced(now);
    }

    fn peek(&self, state: &LimitsState, now: Nanos, n: u64) -> Result<(), Rejected> {
        self.check_each(state, now, Costs::Same(n)).map_err(without_index)
    }

    fn debit(&self, state: &mut LimitsState, now: Nanos, n: u64) {
        self.debit_costs(state, now, Costs::Same(n));
    }

    fn refuse(&self, state: &mut LimitsState, now: Nanos, n: u64) {
        self.refuse_costs(state, now, Costs::Same(n));
    }

    fn idle_from(&self, state: &LimitsState) -> Nanos {
        let in_force = self.each_with(state).map(|(limit, state)| limit.idle_from(state)).max();
        let replaced = state.replaced().map(Replaced::idle_from);
        in_force.max(replaced).unwrap_or(Nanos::ZERO)
    }

    fn remaining(&self, state: &LimitsState, now: Nanos) -> u64 {
        let each = self.each_with(state).map(|(limit, state)| limit.remaining(state, now));
        each.min().unwrap_or(u64::MAX)
    }

    #[inline]
    fn try_acquire(&self, state: &mut LimitsState, now: Nanos, n: u64) -> Result<(), Rejected> {
        match (&self.0[..], state.only()) {
            ([limit], Some(own)) => limit.try_acquire(own, now, n),
            _ => self.try_acquire_each(state, now, Costs::Same(n)).map_err(without_index),
        }
    }

    fn decide(&self, state: &mut LimitsState, now: Nanos, n: u64) -> Decision {
        self.decide_each(state, now, Costs::Same(n))
    }
}
