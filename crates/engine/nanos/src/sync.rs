//! Provides atomics, locks and parking from std, or loom's models of them with `--cfg loom`.

pub(crate) use std::sync::atomic::Ordering::{Acquire, Release};

#[cfg(not(loom))]
mod world {
    pub(super) use crossbeam_utils::sync::{Parker, Unparker};
    pub(crate) use std::sync::atomic::AtomicU64;
    pub(crate) use std::sync::{Mutex, MutexGuard};
    pub(crate) use std::thread::yield_now;
}

#[cfg(loom)]
mod world {
    pub(crate) use loom::sync::atomic::AtomicU64;
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
    pub(crate) use loom::thread::yield_now;

    /// A parker for models: a wake-up token under a mutex. It ignores timeouts, so models move a manual clock instead.
    #[derive(Default)]
    pub(super) struct Parker(Unparker);

    #[derive(Clone, Default)]
    pub(super) struct Unparker(std::sync::Arc<(Mutex<bool>, Condvar)>);

    impl Parker {
        pub(super) fn new() -> Self {
            Self::default()
        }
        pub(super) fn unparker(&self) -> &Unparker {
            &self.0
        }
        pub(super) fn park(&self) {
            let (token, arrived) = &*self.0.0;
            let mut token = token.lock().unwrap();
            while !std::mem::take(&mut *token) {
                token = arrived.wait(token).unwrap();
            }
        }
        pub(super) fn park_timeout(&self, _: std::time::Duration) {
            self.park();
        }
    }

    impl Unparker {
        pub(super) fn unpark(&self) {
            *self.0.0.lock().unwrap() = true;
            self.0.1.notify_one();
        }
    }
}

use std::fmt;
use std::sync::PoisonError;
use std::time::Duration;
pub(crate) use world::{AtomicU64, Mutex, MutexGuard, yield_now};

/// Locks `mutex`, ignoring poisoning: the data is consistent at every step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts the calling thread to sleep until its [`Unparker`] wakes it. Parkers are used by threads that wait on a clock,
/// and by implementations of [`Clock`](crate::Clock).
///
/// A parker has its own token, unlike [`std::thread::park`]. The caller's own parking and the parking of a pacer or a
/// limiter therefore never consume each other's wake-ups.
pub struct Parker(world::Parker);

/// Wakes the thread that sleeps on the [`Parker`] that created this unparker. If no thread sleeps, the parker's next
/// sleep ends at once. All clones wake the same parker.
#[derive(Clone)]
pub struct Unparker(world::Unparker);

impl Parker {
    /// Creates a parker for the calling thread, to pass to [`Clock::park`](crate::Clock::park).
    ///
    /// ```
    /// use nanopace_nanos::{Clock, Nanos, Parker, TscClock};
    ///
    /// let (clock, parker) = (TscClock::new(), Parker::new());
    /// parker.unparker().unpark();
    /// clock.park(&parker, Nanos::MAX); // returns at once
    /// ```
    #[expect(
        clippy::new_without_default,
        reason = "a parker belongs to the thread that creates it"
    )]
    #[inline]
    #[must_use]
    pub fn new() -> Parker {
        Parker(world::Parker::new())
    }

    /// Sleeps until unparked. Returns at once if the parker has been unparked since its last sleep.
    #[inline]
    pub fn park(&self) {
        self.0.park();
    }

    /// Sleeps until unparked, or for about `timeout`, whichever ends first.
    #[inline]
    pub fn park_timeout(&self, timeout: Duration) {
        self.0.park_timeout(timeout);
    }

    /// Returns the unparker of this parker.
    #[inline]
    #[must_use]
    pub fn unparker(&self) -> Unparker {
        Unparker(self.0.unparker().clone())
    }
}

impl Unparker {
    /// Wakes the thread that sleeps on the parker. If no thread sleeps on it, the next sleep ends at once.
    #[inline]
    pub fn unpark(&self) {
        self.0.unpark();
    }
}

impl fmt::Debug for Parker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parker").finish_non_exhaustive()
    }
}

impl fmt::Debug for Unparker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unparker").finish_non_exhaustive()
    }
}
