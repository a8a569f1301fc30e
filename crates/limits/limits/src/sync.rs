//! Atomics, locks and threads: the standard library's, or loom's in a build with `--cfg loom`.

pub(crate) use core::sync::atomic::Ordering::Relaxed;

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::AtomicU64;
#[cfg(loom)]
pub(crate) use loom::sync::atomic::AtomicU64;

#[cfg(all(feature = "std", not(loom)))]
mod world {
    #[cfg(feature = "pools")]
    pub(crate) use std::sync::atomic::AtomicBool;
    #[cfg(feature = "pools")]
    pub(crate) use std::sync::mpsc::{Sender, channel};
    pub(crate) use std::sync::{Mutex, MutexGuard};
    #[cfg(feature = "pools")]
    pub(crate) use std::thread::{JoinHandle, spawn};
}

#[cfg(loom)]
mod world {
    #[cfg(feature = "pools")]
    pub(crate) use loom::sync::atomic::AtomicBool;
    #[cfg(feature = "pools")]
    pub(crate) use loom::sync::mpsc::{Sender, channel};
    pub(crate) use loom::sync::{Mutex, MutexGuard};
    #[cfg(feature = "pools")]
    pub(crate) use loom::thread::{JoinHandle, spawn};
}

#[cfg(feature = "std")]
pub(crate) use world::*;

/// Locks the mutex, even if it is poisoned by a panic: the locked values are consistent at every step.
#[cfg(feature = "std")]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
