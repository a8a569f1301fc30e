//! The names that types of limiters are spelled with.
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

pub mod direct;

pub use crate::kind::{InMemoryState, NotKeyed};
pub use crate::limiter::RateLimiter;
