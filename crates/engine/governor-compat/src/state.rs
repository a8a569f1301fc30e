//! The types that appear as parameters in the types of limiters.
//!
//! ```
//! use governor::clock::MonotonicClock;
//! use governor::middleware::NoOpMiddleware;
//! use governor::state::{InMemoryState, NotKeyed};
//! use governor::{Quota, RateLimiter};
//! use std::num::NonZeroU32;
//! use std::time::Instant;
//!
//! type Limiter = RateLimiter<NotKeyed, InMemoryState, MonotonicClock, NoOpMiddleware<Instant>>;
//!
//! let quota = Quota::per_second(NonZeroU32::MIN);
//! let limiter: Limiter = RateLimiter::direct_with_clock(quota, MonotonicClock);
//! assert!(limiter.check().is_ok());
//! ```

pub use crate::limiter::RateLimiter;

/// A limiter without keys: one schedule for all callers.
#[derive(Debug, PartialEq, Eq)]
pub enum NotKeyed {
    /// The only key there is.
    NonKey,
}

/// A limiter whose state is in memory. The state itself is inside the limiter's pacer.
#[derive(Debug, Default)]
pub struct InMemoryState {
    _private: (),
}

/// The limiters of this crate: those without keys.
pub mod direct {
    pub use crate::state::NotKeyed;
}
