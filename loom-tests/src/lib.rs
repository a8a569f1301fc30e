//! Contains the code that the models in `tests/` share: functions that run a model, and short names for common calls.
//!
//! The crate is empty unless it is built with `--cfg loom`. See its README.

#[cfg(loom)]
mod acquire_during;
#[cfg(loom)]
mod model;
#[cfg(loom)]
mod watched;

#[cfg(loom)]
pub use acquire_during::{Acquired, acquire_during};
#[cfg(loom)]
pub use model::{
    HOUR, MICRO, MILLI, SECOND, assert_balanced, at, drain, explore, explore_less, intended_ns,
    manual, paced, paced_by_shape, rate, shape, slots, span, spawn, spawn_with, wait_ns,
};
#[cfg(loom)]
pub use watched::Watched;
