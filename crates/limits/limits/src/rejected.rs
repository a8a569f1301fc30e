//! Why a request was rejected, and what the rules share to find that out.

use core::cmp::Ordering;
use nanopace_nanos::Nanos;
use thiserror::Error;

/// Why a request was rejected. Nothing was counted.
///
/// The order is by how long the request has to wait. The smaller of two capacities is the greater
/// error.
///
/// ```
/// use nanopace_nanos::Nanos;
/// use nanopace_limits::Rejected;
///
/// let soon = Rejected::NotUntil(Nanos::from_nanos(1));
/// assert!(soon < Rejected::NotUntil(Nanos::from_nanos(2)));
/// assert!(soon < Rejected::ExceedsCapacity { capacity: 10 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum Rejected {
    /// Not yet. The same request gets in from this moment on, and not earlier, if nothing else is
    /// let in before.
    #[error("not before {0:?}")]
    NotUntil(Nanos),
    /// Never. The request is for more than the limiter ever lets in at once.
    #[error(
        "asked for more than the {capacity} that can be let in at once: ask for less, or raise the limit"
    )]
    ExceedsCapacity {
        /// The most that can be let in at once.
        capacity: u64,
    },
}

impl Ord for Rejected {
    fn cmp(&self, other: &Rejected) -> Ordering {
        match (self, other) {
            (Rejected::NotUntil(moment), Rejected::NotUntil(other)) => moment.cmp(other),
            (
                Rejected::ExceedsCapacity { capacity },
                Rejected::ExceedsCapacity { capacity: other },
            ) => other.cmp(capacity),
            (Rejected::NotUntil(_), Rejected::ExceedsCapacity { .. }) => Ordering::Less,
            (Rejected::ExceedsCapacity { .. }, Rejected::NotUntil(_)) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Rejected {
    fn partial_cmp(&self, other: &Rejected) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Why a request that costs each limit something of its own was rejected. Nothing was counted.
///
/// ```
/// use nanopace_limits::{CostsRejected, Limiter};
///
/// let limiter = Limiter::new("10/s, 1M/s".parse()?);
/// let error = limiter.try_acquire_costs(&[1]).unwrap_err();
/// assert_eq!(error, CostsRejected::Number { limits: 2, costs: 1 });
/// # Ok::<(), nanopace_limits::LimitsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum CostsRejected {
    /// The limits do not let it in.
    #[error(transparent)]
    Limit(#[from] Rejected),
    /// There is not one cost for each limit.
    #[error("limits {limits}, costs {costs}: give one cost for each limit, in their order")]
    Number {
        /// How many limits there are.
        limits: usize,
        /// How many costs were given.
        costs: usize,
    },
}

/// What may be counted already of `capacity`, so that `n` more fit.
///
/// # Errors
/// [`Rejected::ExceedsCapacity`] where `n` alone are too many.
#[inline]
pub(crate) fn room_beside(n: u64, capacity: u64) -> Result<u64, Rejected> {
    capacity.checked_sub(n).ok_or(Rejected::ExceedsCapacity { capacity })
}

/// Which of the entries, oldest first, is the last that has to leave until no more than `most` of
/// the `total` are left. There is one where `most` is less than the total.
#[inline]
pub(crate) fn last_to_leave<T>(
    entries: impl IntoIterator<Item = (T, u64)>,
    total: u64,
    most: u64,
) -> Option<T> {
    let mut left = total;
    for (entry, count) in entries {
        left -= count;
        if left <= most {
            return Some(entry);
        }
    }
    None
}
