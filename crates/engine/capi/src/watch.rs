//! Provides watches, which report changes of the schedule through a file descriptor.

use crate::ffi::{guarded, out, read};
use crate::freed::Freed;
use crate::pacer::{PacerHandle, live};
use crate::status::{Failure, Status};
use nanopace::driver::{Drive, Watch};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// A file descriptor that reports changes of a pacer's schedule. Available on Linux.
///
/// A fork does not copy a watch: both processes share one `eventfd`. Free the watch in the child without reading the
/// descriptor, and create a new one.
#[derive(Debug)]
pub struct WatchHandle(Mutex<Option<Arc<Bell>>>);

#[derive(Debug)]
struct Bell {
    watch: Watch,
    event: OwnedFd,
    /// Whether the watch has been freed. `wake` holds the lock while it sets a waker, so it sets no waker after the
    /// watch was freed.
    is_over: Mutex<bool>,
}

static FREED: Freed<WatchHandle> = Freed::new();

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        // The bell watches for the next change before it reports this one, so no change is lost.
        let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_over {
            self.watch.set(&Waker::from(self.clone()));
        }
        drop(is_over);
        // The write fails only if the counter is at 2^64 - 2, and the descriptor is then readable.
        let _ = write(&self.event, &1_u64.to_ne_bytes());
    }
}

impl Bell {
    fn end(&self) {
        *self.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.watch.clear();
    }
}

impl WatchHandle {
    fn take(&self) -> Result<Arc<Bell>, Failure> {
        let bell = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        bell.ok_or(Status::Freed.into())
    }
}

/// Creates a watch. `fd` receives an `eventfd` that is readable when the schedule has started or changed: the load, the
/// shard or the policy was changed, a slot was given back, the last slot was claimed, or the pacer was resumed or
/// closed. Read 8 bytes from the descriptor, and then poll again. A pause is not reported. Changes of the load or the
/// policy during a pause may go unreported.
///
/// The descriptor is non-blocking and close-on-exec. `nanopace_watch_free` closes it; do not close it yourself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_watch_new(
    pacer: *const PacerHandle,
    watch: *mut *mut WatchHandle,
    fd: *mut i32,
) -> Status {
    guarded(|| {
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let place = unsafe { out(watch) }?;
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let fd = unsafe { out(fd) }?;
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let watch = unsafe { live(pacer) }?.pacer.watch();
        let event = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC);
        let event = event.map_err(Failure::system)?;
        let bell = Arc::new(Bell { watch, event, is_over: Mutex::new(false) });
        bell.watch.set(&Waker::from(bell.clone()));
        fd.write(bell.event.as_raw_fd());
        place.write(Box::into_raw(Box::new(WatchHandle(Mutex::new(Some(bell))))));
        Ok(())
    })
}

/// Frees a watch, and closes its descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_watch_free(watch: *mut WatchHandle) -> Status {
    guarded(|| {
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let handle = unsafe { read(watch) }?;
        handle.take()?.end();
        // SAFETY: the handle was made by `nanopace_watch_new`, and only one call takes the bell.
        unsafe { FREED.keep(NonNull::from(handle)) };
        Ok(())
    })
}
