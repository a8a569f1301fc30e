//! Provides the atomics and locks of the engine: std's, or loom's models of them under `--cfg loom`. Parking is in
//! `nanopace-nanos`. `std::sync::Arc` is used in both cases: it publishes no data that the models check.

pub(crate) use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

#[cfg(not(loom))]
mod world {
    use nanopace_nanos::Parker;
    use std::cell::Cell;
    use std::hint::spin_loop;
    pub(crate) use std::sync::MutexGuard;
    pub(crate) use std::sync::atomic::AtomicU64;
    pub(crate) use std::thread::yield_now;
    pub(super) type RawMutex<T> = std::sync::Mutex<T>;
    /// The number of sleepers that a change unparks. Each of them unparks one more.
    pub(crate) const HERD: usize = 8;
    /// The maximum number of uneven slots that are drawn at once for all callers.
    pub(crate) const DRAWN: usize = 64;

    /// A lock is mostly held for less time than this spin takes: for about 2 us while 64 random slots are drawn.
    /// Parking costs more, because it also makes the holder wake the waiter.
    #[inline]
    pub(super) fn spin<T>(attempt: impl Fn() -> Option<T>) -> Option<T> {
        attempt().or_else(|| spin_on(attempt))
    }

    /// The number of attempts that follow a busy wait. Each busy wait is twice as long as the previous one, up to
    /// [`LONGEST_BUSY_WAIT`], because an attempt takes the lock's cache line away from the holder.
    const BUSY_ATTEMPTS: u32 = 12;
    const LONGEST_BUSY_WAIT: u32 = 256;
    /// The number of attempts that follow a yield, in case the holder waits for this processor.
    const YIELDING_ATTEMPTS: u32 = 10;

    #[cold]
    fn spin_on<T>(attempt: impl Fn() -> Option<T>) -> Option<T> {
        let busily = (0..BUSY_ATTEMPTS).find_map(|round| {
            (0..LONGEST_BUSY_WAIT.min(1 << round)).for_each(|_| spin_loop());
            attempt()
        });
        let yielding = || {
            yield_now();
            attempt()
        };
        busily.or_else(|| (0..YIELDING_ATTEMPTS).find_map(|_| yielding()))
    }

    thread_local! {
        static KEPT: Cell<Option<Parker>> = const { Cell::new(None) };
    }

    /// Lends the thread's parker, so that a pause allocates nothing. The parker may still have the token of a late
    /// wake-up: in that case, the pause ends early, as after a change of the schedule. A pause inside of another pause
    /// gets a separate parker, so that the inner pause does not consume the wake-up of the outer pause.
    pub(crate) fn with_parker<T>(pause: impl FnOnce(&Parker) -> T) -> T {
        // A thread that is ending may have lost its parker.
        let kept = KEPT.try_with(Cell::take).ok().flatten();
        let parker = kept.unwrap_or_else(Parker::new);
        let result = pause(&parker);
        let _ = KEPT.try_with(|kept| kept.set(Some(parker)));
        result
    }
}

#[cfg(loom)]
mod world {
    pub(crate) use loom::sync::MutexGuard;
    pub(crate) use loom::sync::atomic::AtomicU64;
    pub(crate) use loom::thread::yield_now;
    use nanopace_nanos::Parker;
    pub(super) type RawMutex<T> = loom::sync::Mutex<T>;
    /// With two sleepers in a model, the first one has to wake the other.
    pub(crate) const HERD: usize = 1;
    /// A model has to explore each drawn slot, so few are drawn.
    pub(crate) const DRAWN: usize = 2;

    /// A caller that waits for a lock parks at once, because a model has no time.
    pub(super) fn spin<T>(_: impl Fn() -> Option<T>) -> Option<T> {
        None
    }

    /// Each parker is new, because nothing may outlive a model's run.
    pub(crate) fn with_parker<T>(pause: impl FnOnce(&Parker) -> T) -> T {
        pause(&Parker::new())
    }
}

use std::sync::{PoisonError, TryLockError};
pub(crate) use world::{AtomicU64, DRAWN, HERD, MutexGuard, with_parker, yield_now};

pub(crate) fn unique() -> u64 {
    // This is not loom's atomic, because it has to outlive a model's run. No model is about it.
    static LAST: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    // Relaxed: the number must be unique, not ordered.
    LAST.fetch_add(1, Relaxed) + 1
}

/// A mutex that can still be locked after a panic, because its holders leave the data consistent at every step.
#[derive(Debug)]
pub(crate) struct Mutex<T>(world::RawMutex<T>);

impl<T: Default> Default for Mutex<T> {
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Mutex<T> {
        Mutex(world::RawMutex::new(value))
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        let guard = world::spin(|| self.try_lock());
        guard.unwrap_or_else(|| self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    #[inline]
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}
