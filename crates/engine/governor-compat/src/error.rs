//! Defines the error for operations that can never start.

use std::error::Error;
use std::fmt;

/// The error for a request for more cells at once than the quota's burst size. The field contains the burst size. The
/// request fails at once, because waiting would not help.
///
/// ```
/// use governor::{InsufficientCapacity, Quota, RateLimiter};
/// use std::num::NonZeroU32;
///
/// const FIVE: NonZeroU32 = NonZeroU32::new(5).unwrap();
/// const SIX: NonZeroU32 = NonZeroU32::new(6).unwrap();
/// let limiter = RateLimiter::direct(Quota::per_second(FIVE));
/// assert_eq!(limiter.check_n(SIX), Err(InsufficientCapacity(5)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsufficientCapacity(pub u32);

impl Error for InsufficientCapacity {}

impl fmt::Display for InsufficientCapacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the burst size is {}: a request for more cells is never admitted", self.0)
    }
}
