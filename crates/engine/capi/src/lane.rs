//! Provides lanes: one worker's handle to a pacer.

use crate::ffi::{guarded, out, read};
use crate::freed::Freed;
use crate::grant::{Grant, refusal};
use crate::pacer::{PacerHandle, live};
use crate::status::{Failure, Status};
use crate::thread;
use nanopace::Lane;
use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One worker's handle to a pacer. A lane belongs to the thread that first uses it, until that thread calls
/// `nanopace_lane_give_back`. Until then, a call in another thread, except `nanopace_lane_free`, returns
/// `NANOPACE_STATUS_BUSY`. If the thread has ended without that call, only free the lane: a later thread can be
/// mistaken for its owner.
#[derive(Debug)]
pub struct LaneHandle {
    /// The number of the thread that the lane belongs to, or [`NOBODY`] or [`FREE`].
    owner: AtomicUsize,
    /// Only the owner accesses the lane, until it is freed.
    lane: UnsafeCell<ManuallyDrop<Lane>>,
}

/// The owner of a lane that belongs to no thread. No thread has this number.
const NOBODY: usize = 0;
const FREE: usize = usize::MAX;

// SAFETY: the lane is accessed only by the thread whose number is in `owner`, and by the one call that frees it.
unsafe impl Sync for LaneHandle {}

static FREED: Freed<LaneHandle> = Freed::new();

impl LaneHandle {
    #[cold]
    fn bind(&self, thread: usize) -> Result<(), Failure> {
        // Acquire: everything that the previous owner did to the lane is visible. Partner: `nanopace_lane_give_back`.
        // Relaxed: on failure the lane is not accessed. No model: no call waits for the owner.
        match self.owner.compare_exchange(NOBODY, thread, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Ok(()),
            Err(FREE) => Err(Status::Freed.into()),
            Err(_) => Err(Status::Busy.into()),
        }
    }

    /// Returns the lane if it belongs to the calling thread. A lane without an owner now belongs to this thread. A
    /// caller that still uses the returned reference must not call this method again.
    #[inline]
    #[expect(
        clippy::mut_from_ref,
        reason = "only one thread uses the lane, for one call at a time"
    )]
    fn lane(&self) -> Result<&mut Lane, Failure> {
        let thread = thread::id();
        // Relaxed: a thread sees its own stores, and only this thread stores its number.
        if self.owner.load(Ordering::Relaxed) != thread {
            self.bind(thread)?;
        }
        // SAFETY: only the thread that owns the lane gets here, and its calls are not nested.
        Ok(unsafe { &mut *self.lane.get() })
    }
}

/// Creates a lane. A worker that starts many operations is fastest with its own lane, which claims several due slots at
/// once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_lane_new(
    pacer: *const PacerHandle,
    lane: *mut *mut LaneHandle,
) -> Status {
    guarded(|| {
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let place = unsafe { out(lane) }?;
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let made = ManuallyDrop::new(unsafe { live(pacer) }?.pacer.lane());
        let handle = LaneHandle { owner: AtomicUsize::new(NOBODY), lane: UnsafeCell::new(made) };
        place.write(Box::into_raw(Box::new(handle)));
        Ok(())
    })
}

/// Gives back the slots that the lane has not started, and frees the lane. No other thread may be in a call with the
/// lane.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_lane_free(lane: *mut LaneHandle) -> Status {
    guarded(|| {
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let handle = unsafe { read(lane) }?;
        // Acquire: everything that the previous owner did before `nanopace_lane_give_back` is visible. If the lane
        // still has an owner, the C program must order the owner's calls before this one. Only one caller sees that the
        // lane was not freed.
        if handle.owner.swap(FREE, Ordering::Acquire) == FREE {
            return Err(Status::Freed.into());
        }
        // SAFETY: the lane has no owner any more, and no thread is in a call with the lane.
        let lane = unsafe { &mut *handle.lane.get() };
        // SAFETY: the lane is dropped only here, because the swap lets only one call get here.
        unsafe { ManuallyDrop::drop(lane) };
        // SAFETY: the handle was made by `nanopace_lane_new`, and the swap lets only one call get here.
        unsafe { FREED.keep(NonNull::from(handle)) };
        Ok(())
    })
}

/// Acquires the next slot, like `nanopace_acquire`, for the lane's thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_lane_acquire(lane: *mut LaneHandle, grant: *mut Grant) -> Status {
    guarded(|| {
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let place = unsafe { out(grant) }?;
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let started = unsafe { read(lane) }?.lane()?.acquire()?;
        place.write(started.into());
        Ok(())
    })
}

/// Starts the next slot if it is due, like `nanopace_try_acquire`, for the lane's thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_lane_try_acquire(
    lane: *mut LaneHandle,
    grant: *mut Grant,
    due_ns: *mut u64,
) -> Status {
    guarded(|| {
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let place = unsafe { out(grant) }?;
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let started = unsafe { read(lane) }?.lane()?.try_acquire();
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        place.write(started.map_err(|refused| unsafe { refusal(refused, due_ns) })?.into());
        Ok(())
    })
}

/// Gives back the slots that the lane has claimed and not started. Call this function before the worker stops acquiring
/// for a long time. After this call, any thread may become the next owner.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_lane_give_back(lane: *mut LaneHandle) -> Status {
    guarded(|| {
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let handle = unsafe { read(lane) }?;
        handle.lane()?.give_back();
        // Release: the next owner sees the current state of the lane. Partner: `bind`.
        handle.owner.store(NOBODY, Ordering::Release);
        Ok(())
    })
}
