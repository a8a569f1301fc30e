#![doc = include_str!("../README.md")]

mod acquire;
mod claim;
mod lane;
mod line;
mod pacer;
mod slots;
mod sync;
pub mod timer;
mod waking;

pub use acquire::Acquire;
pub use claim::AsyncClaim;
pub use lane::{AsyncLane, LaneAcquire};
pub use pacer::AsyncPacer;
pub use slots::Slots;
pub use timer::Timer;
