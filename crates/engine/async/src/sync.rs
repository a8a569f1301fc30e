//! Provides a mutex, and a counter per thread for the queue of tasks: std's, or loom's in a model.

#[cfg(not(loom))]
use std::sync as world;

#[cfg(loom)]
use loom::sync as world;

pub(crate) use world::MutexGuard;

#[cfg(all(feature = "pacer", not(loom)))]
std::thread_local! {
    /// The number of times that this thread's tasks have tried to start a slot since one of them last waited, or
    /// yielded because of this number. A spin counts as several times.
    pub(crate) static HAD: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

#[cfg(all(feature = "pacer", loom))]
loom::thread_local! {
    pub(crate) static HAD: std::cell::Cell<u32> = std::cell::Cell::new(0);
}

/// A mutex that ignores poisoning, because its holders leave the data consistent at every step.
#[derive(Debug)]
pub(crate) struct Mutex<T>(world::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Mutex<T> {
        Mutex(world::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
