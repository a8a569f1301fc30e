//! Refunds: a request that was counted is taken back, or its cost is corrected.

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
    /// The limits that have counted it.
    #[must_use]
    pub fn limits(&self) -> &Arc<Limits> {
        &self.limits
    }

    /// What was counted, by each limit.
    #[must_use]
    pub fn costs(&self) -> &[u64] {
        &self.costs
    }

    /// Which limit of those at the time of the receipt is `number` now and has stayed the same.
    fn number_of(&self, number: usize, limit: &Limit) -> Option<usize> {
        let then = self.limits.each();
        match then.get(number) {
            Some(other) if other == limit => Some(number),
            _ => then.iter().position(|other| other == limit),
        }
    }
}

impl Limits {
    /// Lets in a request that can be taken back, or says why not.
    ///
    /// # Errors
    /// As for [`try_acquire_costs`](Limits::try_acquire_costs).
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

    /// Like [`admit`](Limits::admit), for a request that may be refunded.
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

    /// Where the last request was counted, which had these costs.
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

    /// Counts `actual` for a request that has been counted, instead of what its receipt says. What is
    /// less is taken back, of limits that have stayed the same since; but nothing that time has paid
    /// off, or that has left its window. What is more is counted even if it does not fit: by limits
    /// that have changed since too, of which there may be another number now, and which then count the
    /// largest of the costs. Costs that are missing count as they were.
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

/// Where a request was counted, so that it can be taken back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedAt {
    /// A rate's debt with it, or the number or the moment of its window.
    at: u64,
    /// The number of requests that had been refunded to the rate by then.
    refunded: u32,
}

impl Limit {
    /// Where the last request was counted.
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

    /// Takes back `n` that were counted there. Nothing gets in afterwards that would not get in
    /// without them.
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
