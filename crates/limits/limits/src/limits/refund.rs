//! Refunds of counted requests, and corrections of their cost.

use super::limit::{Law, Limit, LimitState, count_refund};
use super::{Limits, LimitsState};
use crate::{AggregatedWindow, Costs, CostsRejected};
use alloc::sync::Arc;
use nanopace_nanos::Nanos;
use smallvec::SmallVec;

/// Records where a request was counted and at what cost, so that [`Limits::settle`] can refund or correct it.
#[derive(Clone, Debug)]
#[must_use = "without it the request stays counted"]
pub struct Receipt {
    limits: Arc<Limits>,
    costs: SmallVec<[u64; 2]>,
    counted_at: SmallVec<[CountedAt; 2]>,
}

impl Receipt {
    /// Returns the limits that have counted the request.
    #[must_use]
    pub fn limits(&self) -> &Arc<Limits> {
        &self.limits
    }

    /// Returns the cost that each limit has counted.
    #[must_use]
    pub fn costs(&self) -> &[u64] {
        &self.costs
    }

    /// Returns the index of a limit among the limits of the receipt. If several of them are equal to `limit`, this is
    /// the one with the same index, or none: another one may have counted another cost.
    fn number_of(&self, number: usize, limit: &Limit) -> Option<usize> {
        let then = self.limits.each();
        if then.get(number) == Some(limit) {
            return Some(number);
        }
        let mut equal = (0..then.len()).filter(|other| then[*other] == *limit);
        equal.next().filter(|_| equal.next().is_none())
    }
}

impl Limits {
    /// Admits a request, and returns its receipt, which [`settle`](Limits::settle) needs for a refund.
    ///
    /// # Errors
    /// Returns the same errors as [`try_acquire_costs`](Limits::try_acquire_costs).
    pub fn reserve<'a>(
        self: &Arc<Limits>,
        state: &mut LimitsState,
        now: Nanos,
        costs: impl Into<Costs<'a>>,
    ) -> Result<Receipt, CostsRejected> {
        let costs = costs.into();
        self.try_acquire_costs(state, now, costs)?;
        Ok(self.receipt(state, costs))
    }

    #[cfg(feature = "std")]
    pub(crate) fn admit_with_receipt(
        self: &Arc<Limits>,
        state: &mut LimitsState,
        now: Nanos,
        costs: Costs<'_>,
    ) -> Result<Receipt, CostsRejected> {
        self.admit(state, now, costs)?;
        Ok(self.receipt(state, costs))
    }

    pub(crate) fn receipt(self: &Arc<Limits>, state: &LimitsState, costs: Costs<'_>) -> Receipt {
        Receipt {
            limits: Arc::clone(self),
            costs: (0..self.each().len()).map(|limit| costs.of(limit)).collect(),
            counted_at: self
                .each_with(state)
                .map(|(limit, state)| limit.counted_at(state))
                .collect(),
        }
    }

    /// Corrects the cost of a counted request from the cost in its receipt to the `actual` cost.
    ///
    /// * If the actual cost is lower, each limit that has not changed since the request refunds the difference, except
    ///   debt that time has paid off and counts that have left their window.
    ///   If several limits of the request were equal, one of them that has another index now refunds nothing.
    /// * If the actual cost is higher, all limits, including those that have changed, count the difference, even beyond
    ///   their maximum. Each replaced limit counts the largest of these differences. So does each changed limit if the
    ///   number of limits has changed.
    /// * A cost that is missing in `actual` stays unchanged.
    pub fn settle<'a>(
        &self,
        state: &mut LimitsState,
        now: Nanos,
        receipt: &Receipt,
        actual: impl Into<Costs<'a>>,
    ) {
        let actual = actual.into();
        let excess = |then: usize| {
            actual.given(then).map_or(0, |actual| actual.saturating_sub(receipt.costs[then]))
        };
        let most = (0..receipt.costs.len()).map(excess).max().unwrap_or(0);
        let more = |limit: &Limit, state: &mut LimitState, n: u64| {
            if n > 0 {
                limit.debit_beyond(state, now, n);
            }
        };
        for (number, (limit, state)) in self.each().iter().zip(state.in_force_mut()).enumerate() {
            if let Some(then) = receipt.number_of(number, limit) {
                let counted = receipt.costs[then];
                let back = counted.saturating_sub(actual.given(then).unwrap_or(counted));
                limit.take_back(state, receipt.counted_at[then], now, back);
                more(limit, state, excess(then));
            } else if receipt.costs.len() == self.each().len() {
                more(limit, state, excess(number));
            } else {
                more(limit, state, most);
            }
        }
        if let Some(replaced) = state.replaced_mut().filter(|_| most > 0) {
            replaced.debit(now, most);
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedAt {
    /// The debt of a rate after the request, the number of the window or slot that counts the request, or the request's
    /// moment in a log.
    at: u64,
    /// The value of `LimitState::Word::refunded` when the request was counted.
    refunded: u32,
}

impl Limit {
    pub(crate) fn counted_at(&self, state: &LimitState) -> CountedAt {
        let place = |at| CountedAt { at, refunded: 0 };
        match (&self.law, state) {
            (Law::Fixed { rule }, LimitState::Word { word, .. }) => place(rule.seen(*word).number),
            (_, LimitState::Word { word, refunded }) => {
                CountedAt { at: *word, refunded: *refunded }
            }
            (_, LimitState::Counts(counts)) => place(counts.number),
            (_, LimitState::Window(state)) => place(AggregatedWindow::newest(state)),
            (_, LimitState::Log(log)) => place(log.latest().as_nanos()),
        }
    }

    /// Refunds `n` requests. If the clock has not gone back, no later request is admitted that would be rejected if the
    /// refunded requests had never been counted.
    pub(crate) fn take_back(&self, state: &mut LimitState, place: CountedAt, now: Nanos, n: u64) {
        match (&self.law, state) {
            (Law::Gcra { rule, .. }, LimitState::Word { word, refunded }) => {
                let since = refunded.wrapping_sub(place.refunded);
                let (owed, less) = rule.schedule().without(*word, place.at, since, now, n);
                *word = owed;
                count_refund(refunded, less);
            }
            (Law::Fixed { rule }, LimitState::Word { word, .. }) => {
                *word = rule.without(*word, place.at, n);
            }
            (_, LimitState::Counts(counts)) => **counts = counts.without(place.at, n),
            (_, LimitState::Window(state)) => AggregatedWindow::take_back(state, place.at, n),
            (_, LimitState::Log(log)) => log.take_back(Nanos::from_nanos(place.at), n),
            _ => unreachable!("a state of another law"),
        }
    }
}
