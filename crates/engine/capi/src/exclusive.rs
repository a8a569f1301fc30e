//! Gives exclusive access to one call at a time, from any thread.

use crate::ffi::{guarded, out};
use crate::grant::{Grant, refusal};
use crate::status::{Failure, Status};
use nanopace::Refused;
use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU8, Ordering};

/// A value that one call at a time may use. A concurrent call gets [`Status::Busy`] and does not wait.
#[derive(Debug)]
pub(crate) struct Exclusive<T> {
    state: AtomicU8,
    /// Until the value is freed, only the call that has set the state to [`BUSY`] accesses the value.
    inner: UnsafeCell<ManuallyDrop<T>>,
}

const IDLE: u8 = 0;
const BUSY: u8 = 1;
const FREE: u8 = 2;

// SAFETY: one call at a time accesses the inner value. The call may come from any thread, because `T` is `Send`.
unsafe impl<T: Send> Sync for Exclusive<T> {}

struct Access<'a, T>(&'a Exclusive<T>);

impl<T> Exclusive<T> {
    pub(crate) fn new(inner: T) -> Exclusive<T> {
        let inner = UnsafeCell::new(ManuallyDrop::new(inner));
        Exclusive { state: AtomicU8::new(IDLE), inner }
    }

    fn leave_idle(&self, state: u8) -> Result<(), Failure> {
        // Acquire: everything that the previous call did is visible. Partner: the drop of an access. Relaxed: a call
        // that fails accesses nothing. No model: no call waits for this lock.
        match self.state.compare_exchange(IDLE, state, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Ok(()),
            Err(FREE) => Err(Status::Freed.into()),
            Err(_) => Err(Status::Busy.into()),
        }
    }

    pub(crate) fn with<R>(&self, run: impl FnOnce(&mut T) -> R) -> Result<R, Failure> {
        self.leave_idle(BUSY)?;
        let access = Access(self);
        // SAFETY: there is one access at a time.
        Ok(run(unsafe { &mut *access.0.inner.get() }))
    }

    /// Drops the inner value. Only one call gets [`Ok`], and may then free the handle.
    pub(crate) fn free(&self) -> Result<(), Failure> {
        self.leave_idle(FREE)?;
        // SAFETY: no call has access, and no call can get it any more.
        let inner = unsafe { &mut *self.inner.get() };
        // SAFETY: the value is dropped only here, because only one call can change the state from idle to free.
        unsafe { ManuallyDrop::drop(inner) };
        Ok(())
    }
}

impl<T> Drop for Access<'_, T> {
    fn drop(&mut self) {
        // Release: the next call sees everything that this one did. Partner: `leave_idle`.
        self.0.state.store(IDLE, Ordering::Release);
    }
}

/// # Safety
/// The caller follows the rules of this crate (`lib.rs`).
pub(crate) unsafe fn start<T>(
    handle: Result<&Exclusive<T>, Failure>,
    grant: *mut Grant,
    due_ns: *mut u64,
    start: impl FnOnce(&mut T) -> Result<nanopace::Grant, Refused>,
) -> Status {
    guarded(|| {
        // SAFETY: the caller meets the requirements of this function.
        let place = unsafe { out(grant) }?;
        let started = handle?.with(start)?;
        // SAFETY: the caller meets the requirements of this function.
        place.write(started.map_err(|refused| unsafe { refusal(refused, due_ns) })?.into());
        Ok(())
    })
}
