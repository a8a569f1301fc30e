//! Clocks. Refusals report moments on the clock of the limiter.
//!
//! The schedule of a limiter runs in real time, whatever its clock shows, unless the clock offers
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

/// The clock of [`RateLimiter::direct`](crate::RateLimiter::direct).
#[cfg(feature = "quanta")]
pub type DefaultClock = QuantaClock;

/// The clock of [`RateLimiter::direct`](crate::RateLimiter::direct).
#[cfg(not(feature = "quanta"))]
pub type DefaultClock = MonotonicClock;
