//! Several limits at once, which are written as text and may be replaced by others.

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

/// One limit or several at once. All of them are checked before any is debited. They are written with
/// commas between them. `unlimited` is the text of no limits, which let every request through; empty
/// text is an error.
///
/// # When they change
///
/// [`carry_over`](Limits::carry_over) makes the state that other limits go on with. What was counted stays
/// counted:
///
/// * A limit that has stayed the same goes on as if nothing had happened. So does a window whose
///   count is the only thing that has changed, unless it counts rejected requests.
/// * Another limit begins with what the limits before it have recorded. One that counts requests in
///   windows counts each at the latest moment at which it may have been let in. A rate is exhausted
///   at worst, so it lets in one more after one interval at the latest.
/// * A limit that is no longer in force keeps counting what is let in, until all of it is paid off or
///   has left its window. If the limit comes back into force before, it goes on as if it had been in
///   force. So lowering a limit and raising it again lets nothing in twice. Up to eight such limits are
///   kept: those that count for longest.
///
/// # When they take turns
///
/// Limits may change any number of times, for example because processes that share a store have
/// different limits. As long as no more than eight limits that are not in force still count:
///
/// * Each of the limits lets in no more than it would alone. So all of them let in at most the sum.
/// * If one of them always lets in at least as much as each of the others, all of them let in no more
///   than that one. This is so for rates, of which one has the highest rate and the largest burst, and
///   for windows of one kind and period.
///
/// Other limits can come close to the sum, because a limit records only what it needs itself. A rate
/// knows what is owed, not when it was let in: `10/s burst 1` that has let in ten in the last 0.9 s
/// owes for one. If `20/s in 10` takes its place, 29 are let in within 0.95 s. And a window that is
/// full exhausts a lower rate, which lets in again after an interval, not after the window.
///
/// ```
/// use nanopace_limits::Limits;
///
/// let limits: Limits = "10/s burst 20, 1000/h in 60".parse()?;
/// assert_eq!(limits.each().len(), 2);
/// assert_eq!(limits.to_string().parse::<Limits>()?, limits);
///
/// let error = "10/s, 1000/h in no".parse::<Limits>().unwrap_err();
/// assert_eq!(error.to_string(), "`no` is no number of slots: write 1 to 65535, as in `1000/h in 60`");
///
/// assert_eq!("unlimited".parse::<Limits>()?, Limits::new([]));
/// assert!("".parse::<Limits>().is_err());
/// # Ok::<(), nanopace_limits::LimitsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits(SmallVec<[Limit; 1]>);

impl Limits {
    /// Several limits at once. No limits at all let every request through: they are `unlimited`.
    pub fn new(limits: impl IntoIterator<Item = Limit>) -> Limits {
        Limits(limits.into_iter().collect())
    }

    /// All of them.
    #[must_use]
    pub fn each(&self) -> &[Limit] {
        &self.0
    }
}

impl Limits {
    /// The state that these limits begin with when they replace the `old` ones at `now`. What was
    /// counted stays counted, as [`Limits`] say.
    #[must_use]
    pub fn carry_over(&self, old: &Limits, state: &LimitsState, now: Nanos) -> LimitsState {
        let account =
            |(limit, state): (&Limit, &LimitState)| CountedLimit::new(*limit, state.clone());
        let mut accounts: Vec<CountedLimit> =
            old.0.iter().zip(state.in_force()).map(account).collect();
        accounts.extend(state.replaced().into_iter().flat_map(Replaced::counted).cloned());
        let opened = |(place, limit): (usize, &Limit)| {
            let same_place = accounts[..old.0.len()].get(place);
            CountedLimit::begin(*limit, same_place, &accounts, now)
        };
        let in_force: Vec<CountedLimit> = self.0.iter().enumerate().map(opened).collect();
        let replaced = Replaced::by(&in_force, accounts, now);
        LimitsState::new(in_force.into_iter().map(CountedLimit::into_state).collect(), replaced)
    }

    /// The number of the limit that has the least left, and how it stands. If several have nothing left, it
    /// is the one with the longest reset. Without limits it is number 0, and endless.
    #[must_use]
    pub fn tightest(&self, state: &LimitsState, now: Nanos) -> (usize, Standing) {
        let standings = self.each_with(state).map(|(limit, state)| limit.standing(state, now));
        let order = |standing: &Standing| match standing.remaining {
            0 => (0, Reverse(standing.reset)),
            left => (left, Reverse(Duration::ZERO)),
        };
        standings.enumerate().min_by_key(|(_, standing)| order(standing)).unwrap_or((0, ENDLESS))
    }

    /// Each of them, and its state.
    pub(crate) fn each_with<'a>(
        &'a self,
        state: &'a LimitsState,
    ) -> impl Iterator<Item = (&'a Limit, &'a LimitState)> {
        self.0.iter().zip(state.in_force())
    }

    /// The whole decision on a request that costs each limit something of its own: all of it is
    /// counted, or nothing. (What is rejected is counted by limits that count rejected requests.)
    ///
    /// # Errors
    /// [`CostsRejected`].
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
                Ok(self.try_acquire_each(state, now, costs)?)
            }
        }
    }

    /// Lets a request in or not, and says how the limits stand.
    ///
    /// # Errors
    /// [`CostsRejected::Number`] if there is not one cost for each limit.
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

    /// The whole decision, and how that limit stands after it which has rejected the request for
    /// the longest time, or else the tightest one.
    fn decide_each(&self, state: &mut LimitsState, now: Nanos, costs: Costs<'_>) -> Decision {
        let answer = self.try_acquire_each(state, now, costs);
        let rejects = |(place, (limit, state)): (usize, (&Limit, &LimitState))| {
            answer.is_err() && limit.peek(state, now, costs.of(place)) == answer
        };
        let rejecting = self.each_with(state).enumerate().position(rejects);
        let (which, standing) = match rejecting {
            Some(place) => (place, self.0[place].standing(&state.in_force()[place], now)),
            None => self.tightest(state, now),
        };
        Decision::new(answer, now, standing).by(which)
    }

    /// The whole decision on costs that fit the limits. Zero of a limit is always let in by it.
    fn try_acquire_each(
        &self,
        state: &mut LimitsState,
        now: Nanos,
        costs: Costs<'_>,
    ) -> Result<(), Rejected> {
        let answer = self.check_each(state, now, costs);
        match answer {
            Ok(()) => self.count_each(state, now, costs),
            Err(Rejected::ExceedsCapacity { .. }) => (),
            Err(Rejected::NotUntil(_)) => {
                self.advance(state, now);
                self.refuse_costs(state, now, costs);
            }
        }
        answer
    }

    /// Counts what may be let in. A request for nothing does not count as an arrival.
    pub(crate) fn count_each(&self, state: &mut LimitsState, now: Nanos, costs: Costs<'_>) {
        if costs.largest() > 0 {
            self.advance(state, now);
            self.debit_costs(state, now, costs);
        }
    }

    /// Whether every limit lets the request in. If several reject it, the answer is the one with the longest
    /// wait.
    pub(crate) fn check_each(
        &self,
        state: &LimitsState,
        now: Nanos,
        costs: Costs<'_>,
    ) -> Result<(), Rejected> {
        let answers = self
            .each_with(state)
            .enumerate()
            .map(|(place, (limit, state))| limit.peek(state, now, costs.of(place)));
        match answers.filter_map(Result::err).max() {
            Some(Rejected::NotUntil(moment)) => {
                Err(Rejected::NotUntil(moment.max(self.retry_elsewhere(state, now, costs))))
            }
            other => other.map_or(Ok(()), Err),
        }
    }

    /// When all limits that count rejected requests let one in that is rejected now.
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

    /// Tells those that count rejected requests.
    pub(crate) fn refuse_costs(&self, state: &mut LimitsState, now: Nanos, costs: Costs<'_>) {
        for (place, (limit, state)) in self.0.iter().zip(state.in_force_mut()).enumerate() {
            limit.refuse(state, now, costs.of(place));
        }
    }
}

/// Requests that wait, and requests that come while others wait.
#[cfg(feature = "std")]
impl Limits {
    /// Admits a request that waits, if it fits. If it does not, nothing is counted, not even by limits that
    /// count rejected requests: a request that waits is tried again and again.
    ///
    /// # Errors
    /// As for [`try_acquire_costs`](Limits::try_acquire_costs). The moment is that of a request that is not
    /// counted until then.
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

    /// Whether [`admit`](Limits::admit) would let the request in.
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

    /// Rejects a request that costs something, because another one waits, which is admitted at `first`. A
    /// request that is too large for the limits passes: the decision rejects it.
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
            Err(Rejected::ExceedsCapacity { .. }) => return Ok(()),
            Err(Rejected::NotUntil(moment)) => moment,
            Ok(()) => self.retry_elsewhere(state, now, costs).max(now),
        };
        self.advance(state, now);
        self.refuse_costs(state, now, costs);
        Err(Rejected::NotUntil(own.max(first)))
    }

    /// The decision on a request that was rejected because others wait
    /// ([`WaitQueue::yield_to_waiters`](crate::custom::WaitQueue::yield_to_waiters)): nothing remains for it,
    /// whatever the limits have left.
    #[must_use]
    pub fn decide_queued(&self, state: &LimitsState, now: Nanos, rejected: Rejected) -> Decision {
        let (which, standing) = self.tightest(state, now);
        Decision::new(Err(rejected), now, Standing { remaining: 0, ..standing }).by(which)
    }
}

/// The standing where there is no limit.
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
        self.check_each(state, now, Costs::Same(n))
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
            _ => self.try_acquire_each(state, now, Costs::Same(n)),
        }
    }

    fn decide(&self, state: &mut LimitsState, now: Nanos, n: u64) -> Decision {
        self.decide_each(state, now, Costs::Same(n))
    }
}
