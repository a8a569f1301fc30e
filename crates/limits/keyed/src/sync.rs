//! Atomics and locks: the standard library's, or loom's in a build with `--cfg loom`.

use std::sync::PoisonError;
pub(crate) use std::sync::atomic::Ordering::Relaxed;

#[cfg(not(loom))]
mod world {
    pub(crate) use std::sync::atomic::AtomicU64;
    pub(crate) use std::sync::{Mutex, MutexGuard};
}

#[cfg(loom)]
mod world {
    pub(crate) use loom::sync::atomic::AtomicU64;
    pub(crate) use loom::sync::{Mutex, MutexGuard};
}

pub(crate) use world::*;

/// Locks the mutex, even if it is poisoned by a panic: the locked values are consistent at every step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
