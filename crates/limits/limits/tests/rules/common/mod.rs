//! Helpers that several test files use.

pub(crate) mod waiters;

#[cfg(feature = "pools")]
pub(crate) fn until(what: &str, mut done: impl FnMut() -> bool) {
    let started = std::time::Instant::now();
    while !done() {
        assert!(started.elapsed().as_secs() < 60, "{what}: no progress");
        std::thread::yield_now();
    }
}
