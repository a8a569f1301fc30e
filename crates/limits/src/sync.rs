//! The world the concurrent code runs in: std's, or loom's model of it when built with `--cfg
//! loom`.

pub(crate) use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

#[cfg(not(loom))]
mod world {
    pub(crate) use std::sync::atomic::AtomicU64;
    pub(crate) use std::sync::mpsc::{Sender, channel};
    pub(crate) use std::sync::{Mutex as RawMutex, MutexGuard};
    pub(crate) use std::thread::{JoinHandle, spawn};
}

#[cfg(loom)]
mod world {
    pub(crate) use loom::sync::atomic::AtomicU64;
    pub(crate) use loom::sync::mpsc::{Sender, channel};
    pub(crate) use loom::sync::{Mutex as RawMutex, MutexGuard};
    pub(crate) use loom::thread::{JoinHandle, spawn};
}

use std::sync::PoisonError;
pub(crate) use world::*;

/// A mutex that goes on after a panic: its holders leave the data whole at every step.
#[derive(Debug)]
pub(crate) struct Mutex<T>(RawMutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Mutex<T> {
        Mutex(RawMutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
