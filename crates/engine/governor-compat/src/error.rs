//! The error for operations that can never start.

use thiserror::Error;

/// More cells at once than the quota's burst size, which is the number in this error. Waiting would not help, so
/// nothing waits.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the burst size is {0}: more cells than that never start together")]
pub struct InsufficientCapacity(pub u32);
