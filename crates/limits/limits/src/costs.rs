//! The costs of a request: what callers pass, and the owned form that the queue stores.

use crate::CostsRejected;
#[cfg(feature = "std")]
use alloc::sync::Arc;

/// The costs of a request: the same for each limit, or one cost for each limit.
///
/// ```
/// use nanopace_limits::{Costs, Limiter};
///
/// let limiter = Limiter::new("100/min, 1M/min".parse()?);
/// assert!(limiter.try_acquire_costs(&[1, 5_000]).is_ok()); // one request of 5000 bytes
/// assert!(limiter.try_acquire_costs(Costs::Same(2)).is_ok());
/// # Ok::<(), nanopace_limits::LimitsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Costs<'a> {
    /// The same cost for each limit.
    Same(u64),
    /// One cost for each limit, in the order of the limits.
    Each(&'a [u64]),
}

impl Costs<'_> {
    pub(crate) fn of(self, limit: usize) -> u64 {
        match self {
            Costs::Same(n) => n,
            Costs::Each(costs) => costs[limit],
        }
    }

    pub(crate) fn largest(self) -> u64 {
        match self {
            Costs::Same(n) => n,
            Costs::Each(costs) => costs.iter().copied().max().unwrap_or(0),
        }
    }

    pub(crate) fn given(self, limit: usize) -> Option<u64> {
        match self {
            Costs::Same(n) => Some(n),
            Costs::Each(costs) => costs.get(limit).copied(),
        }
    }

    pub(crate) fn fit(self, limits: usize) -> Result<(), CostsRejected> {
        match self {
            Costs::Each(costs) if costs.len() != limits => {
                Err(CostsRejected::Number { limits, costs: costs.len() })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(feature = "std")]
#[derive(Clone, Debug)]
pub(crate) enum OwnedCosts {
    Same(u64),
    Each(Arc<[u64]>),
}

#[cfg(feature = "std")]
impl Costs<'_> {
    pub(crate) fn into_owned(self) -> OwnedCosts {
        match self {
            Costs::Same(n) => OwnedCosts::Same(n),
            Costs::Each(costs) => OwnedCosts::Each(costs.into()),
        }
    }
}

#[cfg(feature = "std")]
impl OwnedCosts {
    pub(crate) fn as_costs(&self) -> Costs<'_> {
        match self {
            OwnedCosts::Same(n) => Costs::Same(*n),
            OwnedCosts::Each(costs) => Costs::Each(costs),
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
