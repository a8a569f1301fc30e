//! What a request costs each of several limits, and where it was counted.

use crate::limit::Place;
use crate::{CostsRejected, Limit, Limits};
use smallvec::SmallVec;
use std::sync::Arc;

/// How much of each limit a request costs.
///
/// ```
/// use nanopace_limits::{Costs, Limiter};
///
/// let limiter = Limiter::new("100/min, 1M/min".parse()?);
/// assert!(limiter.check_costs(&[1, 5_000]).is_ok()); // one request of 5000 bytes
/// assert!(limiter.check_costs(Costs::Same(2)).is_ok());
/// # Ok::<(), nanopace_limits::LimitsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Costs<'a> {
    /// The same of all.
    Same(u64),
    /// One cost for each limit, in the order of the limits.
    Each(&'a [u64]),
}

impl Costs<'_> {
    /// What a limit costs, by its number.
    pub(crate) fn of(self, limit: usize) -> u64 {
        match self {
            Costs::Same(n) => n,
            Costs::Each(costs) => costs[limit],
        }
    }

    /// The same, if it is there.
    pub(crate) fn given(self, limit: usize) -> Option<u64> {
        match self {
            Costs::Same(n) => Some(n),
            Costs::Each(costs) => costs.get(limit).copied(),
        }
    }

    /// # Errors
    /// [`CostsRejected::Number`] unless there is one for each limit.
    pub(crate) fn fit(self, limits: usize) -> Result<(), CostsRejected> {
        match self {
            Costs::Each(costs) if costs.len() != limits => {
                Err(CostsRejected::Number { limits, costs: costs.len() })
            }
            _ => Ok(()),
        }
    }
}

impl From<u64> for Costs<'_> {
    fn from(n: u64) -> Self {
        Costs::Same(n)
    }
}

impl<'a> From<&'a [u64]> for Costs<'a> {
    fn from(costs: &'a [u64]) -> Self {
        Costs::Each(costs)
    }
}

impl<'a, const N: usize> From<&'a [u64; N]> for Costs<'a> {
    fn from(costs: &'a [u64; N]) -> Self {
        Costs::Each(costs)
    }
}

/// What says where a request was counted, and how much, so that it can be taken back:
/// [`Limits::settle`].
#[derive(Clone, Debug)]
#[must_use = "without it the request stays counted"]
pub struct Receipt {
    pub(crate) limits: Arc<Limits>,
    pub(crate) costs: SmallVec<[u64; 2]>,
    pub(crate) places: SmallVec<[Place; 2]>,
}

impl Receipt {
    /// What was counted, by each limit.
    ///
    /// ```
    /// use nanopace::Nanos;
    /// use nanopace_limits::{Limits, Rule};
    /// use std::sync::Arc;
    ///
    /// let limits: Arc<Limits> = Arc::new("100/min, 10k/min".parse()?);
    /// let receipt = limits.reserve(&mut limits.fresh(), Nanos::ZERO, &[1, 4_000])?;
    /// assert_eq!(receipt.costs(), [1, 4_000]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn costs(&self) -> &[u64] {
        &self.costs
    }

    /// Which of the limits of then is the one that is `number` now, and has stayed the same.
    pub(crate) fn number_of(&self, number: usize, limit: &Limit) -> Option<usize> {
        let then = self.limits.each();
        match then.get(number) {
            Some(other) if other == limit => Some(number),
            _ => then.iter().position(|other| other == limit),
        }
    }
}
