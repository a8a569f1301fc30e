//! Defines the types that are type parameters of limiters.
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

/// The key type of a limiter without keys, which has one schedule for all callers.
#[derive(Debug, PartialEq, Eq)]
pub enum NotKeyed {
    /// The only value of this type.
    NonKey,
}

/// The state type of a limiter that stores its state in memory. The state itself is inside the limiter's pacer.
#[derive(Debug, Default)]
pub struct InMemoryState {
    _private: (),
}

/// Re-exports the key type of limiters without keys, the only limiters of this crate.
pub mod direct {
    pub use crate::state::NotKeyed;
}
