//! What tests share.

pub(crate) mod waiters;

#[cfg(feature = "pools")]
use std::thread;
#[cfg(feature = "pools")]
use std::time::{Duration, Instant};

/// Long enough for any machine to have made progress; only a test that fails gets there.
#[cfg(feature = "pools")]
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns when `done`; fails instead of hanging.
#[cfg(feature = "pools")]
pub(crate) fn until(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < PATIENCE, "{what}: no progress");
        thread::yield_now();
    }
}
