//! What rules keep to, on moments of the tests' own. One test program, which is built much faster than many.

mod aggregated_window;
mod alternating;
mod between_steps;
mod buckets;
mod common;
#[cfg(feature = "pools")]
mod compared;
mod front_door;
mod gcra;
mod jitter;
mod late_stamps;
mod laws;
mod limits;
mod queue;
mod quota;
#[cfg(feature = "pools")]
mod refilled_bucket;
mod reservations;
mod rolling;
#[cfg(feature = "async")]
mod tasks;
#[cfg(feature = "pools")]
mod threads;
#[cfg(feature = "pools")]
mod token_pool;
mod waiting;
mod windows;
