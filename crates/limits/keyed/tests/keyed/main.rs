//! Limits by key: what removal, bounds, changes of the configuration and a death of the process may
//! and may not do.

mod changes;
mod config;
#[cfg(feature = "disk")]
mod disk;
#[cfg(feature = "serde")]
mod document;
mod engine;
#[cfg(feature = "file")]
mod file;
#[cfg(feature = "metrics")]
mod metrics;
mod moments;
mod store;
mod waiting;

use nanopace_nanos::Nanos;

fn at(nanos: u64) -> Nanos {
    Nanos::from_nanos(nanos)
}
