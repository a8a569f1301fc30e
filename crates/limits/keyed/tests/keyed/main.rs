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
mod laws;
#[cfg(feature = "metrics")]
mod metrics;
mod requests;
mod waiting;

use nanopace_limits::Quota;
use nanopace_nanos::Nanos;

fn at(nanos: u64) -> Nanos {
    Nanos::from_nanos(nanos)
}

fn quota(text: &str) -> Quota {
    text.parse().expect("a quota")
}
