//! Provides clocks. The retry times of a limiter's refusals are times on the limiter's clock.
//!
//! The schedule of a limiter runs in real time, regardless of the limiter's clock, unless that clock has its own
//! [`pacing`](Clock::pacing).

mod fake;
#[cfg(feature = "quanta")]
mod quanta;
mod system;
mod traits;

pub use fake::FakeRelativeClock;
#[cfg(feature = "quanta")]
pub use quanta::{QuantaClock, QuantaInstant};
pub use system::{MonotonicClock, SystemClock};
pub use traits::{Clock, GivenClock, ReasonablyRealtime, Reference};

/// The clock that [`RateLimiter::direct`](crate::RateLimiter::direct) uses.
#[cfg(feature = "quanta")]
pub type DefaultClock = QuantaClock;

/// The clock that [`RateLimiter::direct`](crate::RateLimiter::direct) uses.
#[cfg(not(feature = "quanta"))]
pub type DefaultClock = MonotonicClock;
