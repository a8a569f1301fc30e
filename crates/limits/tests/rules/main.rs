//! What rules keep to, on moments of the tests' own. One test program, which is built much faster than many.

mod aggregated_window;
mod buckets;
mod common;
mod gcra;
mod jitter;
mod late_stamps;
mod laws;
mod limits;
mod places;
mod quota;
mod refilled_bucket;
mod reservations;
mod rolling;
#[cfg(feature = "async")]
mod tasks;
mod threads;
mod token_pool;
mod waiting;
mod windows;
