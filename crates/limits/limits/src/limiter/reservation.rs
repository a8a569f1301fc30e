//! A request that is counted, and may be taken back.

use super::Limiter;
use crate::limits::Receipt;
use crate::{Costs, CostsRejected};

impl Limiter {
    /// Counts a request now, and takes it back when the [`Reservation`] is dropped without a commit.
    /// It costs each limit the same, or something of its own: `1`, or `&[1, 4_000]`.
    ///
    /// # Errors
    /// As for [`try_acquire_costs`](Limiter::try_acquire_costs).
    ///
    /// ```
    /// use nanopace_limits::Limiter;
    ///
    /// // Requests, and tokens of a language model.
    /// let limiter = Limiter::new("100/min, 10k/min".parse()?);
    /// let reservation = limiter.reserve(&[1, 4_000])?; // at most
    /// // ... the request ...
    /// reservation.commit_costs(&[1, 1_500]);
    /// assert!(limiter.try_acquire_costs(&[1, 8_500]).is_ok());
    ///
    /// drop(limiter.reserve(&[1, 0])?); // not made after all
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reserve<'a>(&self, costs: impl Into<Costs<'a>>) -> Result<Reservation, CostsRejected> {
        let costs = costs.into();
        let receipt = self.answer(costs, |limits, state, now| limits.reserve(state, now, costs))?;
        Ok(Reservation::new(self, receipt))
    }
}

/// A request that a [`Limiter`] has counted before it is known whether it will be made, or what it
/// will cost. Dropping it takes it back.
///
/// What is taken back is what would not be counted now if the request had never been made, or less:
/// what time has paid off since, or what has left its window, can't come back. Of several that are
/// open at a time, a rate takes each back whole in the order in which they were made, or in reverse if
/// nothing was let in behind them; otherwise perhaps less. Limits that have changed since take nothing
/// back. The clock must not go back meanwhile: a rate would give back what time had paid off.
///
/// ```
/// use nanopace_limits::Limiter;
///
/// let limiter = Limiter::new("1/day".parse()?);
/// drop(limiter.reserve(1)?);
/// limiter.reserve(1)?.commit();
/// assert!(limiter.reserve(1).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "dropping it takes the request back"]
pub struct Reservation {
    limiter: Limiter,
    /// None once it is settled.
    receipt: Option<Receipt>,
}

impl Reservation {
    pub(crate) fn new(limiter: &Limiter, receipt: Receipt) -> Reservation {
        Reservation { limiter: limiter.clone(), receipt: Some(receipt) }
    }

    /// Leaves the request counted.
    pub fn commit(mut self) {
        self.receipt = None;
    }

    /// Counts what the request has really cost. What was reserved beyond that is taken back. What it
    /// cost beyond what was reserved is counted, even if it does not fit: the limit is then exceeded
    /// by that, and keeps others out for so much longer. Costs that are missing stay as they were
    /// reserved.
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
