//! Tests limits by key: removal of keys, bounds, changes of the configuration, and killed processes.

mod changes;
mod config;
mod decide;
#[cfg(feature = "disk")]
mod disk;
#[cfg(feature = "serde")]
mod document;
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
