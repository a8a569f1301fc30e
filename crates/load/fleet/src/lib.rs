#![doc = include_str!("../README.md")]
#![cfg_attr(
    not(feature = "redis"),
    expect(dead_code, reason = "only the client of a store uses some items")
)]

mod before_start;
mod clock;
mod control;
mod core;
mod driver;
mod error;
mod fleet;
mod frame_window;
mod frames;
mod load;
mod lost_node;
mod message;
mod node;
mod progress;
mod round_trips;
#[cfg(test)]
mod simulation;
mod slot_account;
mod start_barrier;
mod store;
mod store_outage;
mod store_threads;
mod track_ownership;
mod uncounted_frames;

pub use control::{Control, RunStatus};
pub use error::FleetError;
pub use fleet::Fleet;
pub use message::NodeResults;
pub use node::{Node, NodeStatus};
pub use slot_account::{Account, NodeAccount};
pub use start_barrier::Waits;
pub use store_outage::WhenBlind;
