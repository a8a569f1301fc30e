//! Tests of the public interface. One test program is built much faster than many.

mod aggregated_window;
mod alternating;
mod buckets;
mod common;
#[cfg(feature = "pools")]
mod compared;
#[cfg(feature = "metrics")]
mod counted;
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
#[cfg(feature = "serde")]
mod serialized;
#[cfg(feature = "pools")]
mod token_pool;
mod waiting;
mod windows;
