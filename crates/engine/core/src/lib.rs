// The README links to its pages by file. These definitions come first, so that rustdoc links to modules instead.
//! [Design]: crate::_documentation::design
//! [Limitations]: crate::_documentation::limitations
//! [Measuring]: crate::_documentation::measuring
//! [Pausing]: crate::_documentation::pausing
//! [Schedules]: crate::_documentation::schedules
//!
#![doc = include_str!("../README.md")]

pub mod _documentation;
mod arrivals;
mod builder;
mod claim;
mod count;
pub mod driver;
mod engine;
mod error;
mod grant;
mod lane;
mod lease;
mod ledger;
mod nanos;
mod pacer;
mod pause;
mod poller;
mod position;
mod rate;
mod release;
mod scale;
mod schedule;
mod search;
mod shape;
mod shard;
mod sleepers;
mod starts;
mod strictness;
mod sync;
mod timeline;
mod wide;

pub use arrivals::{Arrivals, ArrivalsError};
pub use builder::PacerBuilder;
pub use claim::Claim;
pub use error::{Ended, RateError, Refused, ShapeError, ShapeSyntaxError, StrictnessError};
pub use grant::Grant;
pub use lane::Lane;
pub use ledger::{Counters, Ledger};
#[cfg(unix)]
pub use nanopace_nanos::MonotonicClock;
pub use nanopace_nanos::{Clock, ManualClock, Nanos, Parker, StdClock, TscClock, Unparker};
pub use pacer::Pacer;
pub use pause::{Pause, PauseError};
pub use poller::Poller;
pub use rate::Rate;
pub use shape::{Between, Curve, Level, Shape};
pub use shard::{Shard, ShardError};
pub use strictness::Strictness;
