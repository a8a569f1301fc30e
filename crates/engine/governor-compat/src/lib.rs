#![doc = include_str!("../README.md")]

pub mod clock;
mod error;
#[cfg(feature = "jitter")]
mod jitter;
mod limiter;
pub mod middleware;
pub mod nanos;
mod not_until;
mod pace;
mod quota;
pub mod state;

pub use error::InsufficientCapacity;
#[cfg(feature = "jitter")]
pub use jitter::Jitter;
pub use limiter::RateLimiter;
pub use not_until::NotUntil;
pub use quota::Quota;

/// A limiter with the default clock, as [`RateLimiter::direct`] returns it.
pub type DefaultDirectRateLimiter<MW = middleware::NoOpMiddleware> =
    RateLimiter<state::NotKeyed, state::InMemoryState, clock::DefaultClock, MW>;
