#![doc = include_str!("../README.md")]

#[cfg(feature = "pacer")]
mod acquire;
#[cfg(feature = "pacer")]
mod claim;
#[cfg(feature = "pacer")]
mod lane;
#[cfg(feature = "pacer")]
mod pacer;
#[cfg(feature = "pacer")]
mod slots;
mod sync;
pub mod timer;
#[cfg(feature = "pacer")]
mod wait_queue;
#[cfg(feature = "pacer")]
mod waking;

#[cfg(feature = "pacer")]
pub use acquire::Acquire;
#[cfg(feature = "pacer")]
pub use claim::AsyncClaim;
#[cfg(feature = "pacer")]
pub use lane::{AsyncLane, LaneAcquire};
#[cfg(feature = "pacer")]
pub use pacer::AsyncPacer;
#[cfg(feature = "pacer")]
pub use slots::Slots;
pub use timer::Timer;
