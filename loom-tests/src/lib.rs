//! Shared by the models in `tests/`: how a model is explored, and short names for its parts.
//!
//! Empty unless built with `--cfg loom`; see the README of this crate.

#[cfg(loom)]
mod beside;
#[cfg(loom)]
mod model;
#[cfg(loom)]
mod watched;

#[cfg(loom)]
pub use beside::{Told, beside};
#[cfg(loom)]
pub use model::{
    HOUR, MICRO, MILLI, SECOND, assert_balanced, at, drain, explore, explore_less, intended_ns,
    manual, rate, shape, shaped, slots, span, spawn, wait_ns,
};
#[cfg(loom)]
pub use watched::Watched;
