//! Reservations: counted requests that can be refunded.

use super::Limiter;
use crate::limits::Receipt;
use crate::{Costs, CostsRejected};

impl Limiter {
    /// Admits a request now, and refunds it if the [`Reservation`] is dropped without a commit. The request costs each
    /// limit the same (`1`), or has one cost for each limit (`&[1, 4_000]`).
    ///
    /// # Errors
    /// Returns the same errors as [`try_acquire_costs`](Limiter::try_acquire_costs).
    pub fn reserve<'a>(&self, costs: impl Into<Costs<'a>>) -> Result<Reservation, CostsRejected> {
        let costs = costs.into();
        let receipt = self.answer(costs, |limits, state, now| limits.reserve(state, now, costs))?;
        Ok(Reservation::new(self, receipt))
    }
}

/// A request that a [`Limiter`] has counted before the caller knows whether the request will be made, or what it will
/// cost. Dropping the reservation refunds the request.
///
/// After a refund, no more is admitted than if the request had never been made: debt that has been paid off over time,
/// or a count that has left its window, is not refunded. A rate refunds several open reservations in full, except for
/// less than one request in total, if they are dropped in the order in which they were made. It also refunds them in
/// full in reverse order, if nothing was admitted after them. In any other order, it may refund less. A limit that has
/// changed since the reservation refunds nothing. The clock must not go back between a reservation and its refund,
/// because a rate would then refund debt that had already been paid off. For the same reason, fewer than 2^32 requests
/// may be refunded in that time: a rate counts them in 32 bits, and refunds at most 2^31 - 1 at a time.
#[derive(Debug)]
#[must_use = "dropping it refunds the request"]
pub struct Reservation {
    limiter: Limiter,
    receipt: Option<Receipt>,
}

impl Reservation {
    pub(crate) fn new(limiter: &Limiter, receipt: Receipt) -> Reservation {
        Reservation { limiter: limiter.clone(), receipt: Some(receipt) }
    }

    /// Commits the reservation: the request stays counted, with the reserved costs.
    pub fn commit(mut self) {
        self.receipt = None;
    }

    /// Counts the actual cost of the request. If the actual cost is lower than the reserved cost, the difference is
    /// refunded. If the actual cost is higher, the difference is counted, even beyond the limit. Requests are then
    /// rejected until the excess is paid off or has left its window. A limit for which `actual` has no cost keeps the
    /// reserved cost.
    pub fn commit_costs<'a>(mut self, actual: impl Into<Costs<'a>>) {
        if let Some(receipt) = self.receipt.take() {
            self.limiter.settle(&receipt, actual.into());
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(receipt) = self.receipt.take() {
            self.limiter.settle(&receipt, Costs::Same(0));
        }
    }
}
