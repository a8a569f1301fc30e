//! Creates and frees pacers, and claims slots.

use crate::ffi::{guarded, out, read, text};
use crate::freed::Freed;
use crate::grant::{Grant, refusal};
use crate::options::Options;
use crate::status::{Failure, Status};
use nanopace::{Ended, ManualClock, Pacer, PacerBuilder, Refused};
use std::ffi::c_char;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A pacer. It can be used from any number of threads.
#[derive(Debug)]
pub struct PacerHandle {
    is_freed: AtomicBool,
    pub(crate) pacer: Pacer,
    /// The clock, if `nanopace_advance` can move it.
    pub(crate) clock: Option<ManualClock>,
}

static FREED: Freed<PacerHandle> = Freed::new();

/// # Safety
/// The handle is null or comes from `nanopace_new`. If it was freed, fewer than 256 handles of its type have been freed
/// since (`lib.rs`).
#[inline]
pub(crate) unsafe fn live<'a>(handle: *const PacerHandle) -> Result<&'a PacerHandle, Failure> {
    // SAFETY: the caller meets the requirements of this function, and a freed handle is kept until 256 more are freed.
    let handle = unsafe { read(handle) }?;
    // Relaxed: a use after free may go unreported, but is harmless, because the memory is kept. No model: the flag
    // publishes no other data.
    if handle.is_freed.load(Ordering::Relaxed) {
        return Err(Status::Freed.into());
    }
    Ok(handle)
}

impl PacerHandle {
    /// Blocks on a clone of the pacer, because another thread may free the handle during the wait.
    #[cold]
    fn acquire_slowly(&self) -> Result<nanopace::Grant, Ended> {
        self.pacer.clone().acquire()
    }
}

/// Creates a pacer for a load: a rate such as "5k/s", or a shape such as "ramp 100/s..5k/s 30s, hold 60s". See the
/// README for the grammar. The schedule starts now, unless the options set another start.
///
/// `options` may be null. By default, slots are evenly spaced on `CLOCK_MONOTONIC`, all missed slots are made up for at
/// once, and a caller sleeps until its slot is due.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_new(
    load: *const c_char,
    options: *const Options,
    pacer: *mut *mut PacerHandle,
) -> Status {
    guarded(|| {
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let place = unsafe { out(pacer) }?;
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let load = unsafe { text(load) }?;
        let builder: PacerBuilder = load.parse().map_err(Failure::wrong)?;
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let options = unsafe { Options::read(options) }?;
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let (builder, clock) = unsafe { options.apply(builder) }?;
        let handle =
            PacerHandle { is_freed: AtomicBool::new(false), pacer: builder.build(), clock };
        place.write(Box::into_raw(Box::new(handle)));
        Ok(())
    })
}

/// Closes the pacer and frees the handle. Threads that wait for a slot of the pacer wake, and get
/// `NANOPACE_STATUS_CLOSED`. After this call, the pacer's lanes, pollers and claims that have not started return that
/// status, too. Each of these handles has a function that frees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_free(pacer: *mut PacerHandle) -> Status {
    guarded(|| {
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let handle = unsafe { live(pacer) }?;
        // Relaxed: only one caller sees that the handle was not freed, and the flag publishes no other data.
        if handle.is_freed.swap(true, Ordering::Relaxed) {
            return Err(Status::Freed.into());
        }
        handle.pacer.close();
        // SAFETY: the handle was made by `nanopace_new`, and the swap lets only one call get here.
        unsafe { FREED.keep(NonNull::from(handle)) };
        Ok(())
    })
}

/// Claims the next slot, blocks until its intended start, and writes a grant that contains how late the start is.
/// Signals do not interrupt this call. To check for a signal periodically, call `nanopace_poller_wait` instead.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_acquire(pacer: *const PacerHandle, grant: *mut Grant) -> Status {
    guarded(|| {
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let place = unsafe { out(grant) }?;
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let handle = unsafe { live(pacer) }?;
        let started = handle.pacer.try_acquire();
        place.write(started.or_else(|_| handle.acquire_slowly())?.into());
        Ok(())
    })
}

/// Starts the next slot if it is due. Otherwise claims no slot, returns a status such as `NANOPACE_STATUS_NOT_YET`, and
/// writes the time at which the slot is due to `due_ns`, which may be null. Never blocks.
///
/// Every function with a `due_ns` writes to `due_ns` for all statuses from `NANOPACE_STATUS_NOT_YET` to
/// `NANOPACE_STATUS_TOO_FAR_AHEAD`, and for no other status. `UINT64_MAX` means that no due time is known: the pacer is
/// paused or closed, the rate stays zero, the schedule has ended, or too many slots have been claimed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_try_acquire(
    pacer: *const PacerHandle,
    grant: *mut Grant,
    due_ns: *mut u64,
) -> Status {
    // SAFETY: the caller follows the rules of this crate (`lib.rs`).
    unsafe { take(pacer, grant, due_ns, Pacer::try_acquire) }
}

/// Acquires a slot like `nanopace_acquire`, but gives up if the slot can't start within `timeout_ns` nanoseconds from
/// now. In that case the function claims no slot. It returns `NANOPACE_STATUS_NOT_YET` once it is clear that the
/// slot can't start in time, or `NANOPACE_STATUS_PAUSED` if the pacer is still paused after that time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_acquire_timeout(
    pacer: *const PacerHandle,
    timeout_ns: u64,
    grant: *mut Grant,
    due_ns: *mut u64,
) -> Status {
    let timeout = Duration::from_nanos(timeout_ns);
    // SAFETY: the caller follows the rules of this crate (`lib.rs`).
    unsafe { take(pacer, grant, due_ns, |pacer| pacer.clone().acquire_timeout(timeout)) }
}

/// Claims the next `n` slots as one operation, for operations whose size is counted in bytes or rows. Blocks until the
/// intended start of the first of them. If `n` is 0, the function claims no slot and the operation starts now; the slot
/// number of the grant is then `UINT64_MAX`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_acquire_many(
    pacer: *const PacerHandle,
    n: u32,
    grant: *mut Grant,
) -> Status {
    // SAFETY: the caller follows the rules of this crate (`lib.rs`). Null means that the caller does not want the due
    // time.
    unsafe { take(pacer, grant, std::ptr::null_mut(), |pacer| pacer.clone().acquire_many(n)) }
}

/// Starts the next `n` slots as one operation if the first of them is due. Otherwise claims no slot, like
/// `nanopace_try_acquire`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_try_acquire_many(
    pacer: *const PacerHandle,
    n: u32,
    grant: *mut Grant,
    due_ns: *mut u64,
) -> Status {
    // SAFETY: the caller follows the rules of this crate (`lib.rs`).
    unsafe { take(pacer, grant, due_ns, |pacer| pacer.try_acquire_many(n)) }
}

/// # Safety
/// The caller follows the rules of this crate (`lib.rs`).
#[inline]
unsafe fn take(
    pacer: *const PacerHandle,
    grant: *mut Grant,
    due_ns: *mut u64,
    take: impl FnOnce(&Pacer) -> Result<nanopace::Grant, Refused>,
) -> Status {
    guarded(|| {
        // SAFETY: the caller meets the requirements of this function.
        let place = unsafe { out(grant) }?;
        // SAFETY: the caller meets the requirements of this function.
        let handle = unsafe { live(pacer) }?;
        // SAFETY: the caller meets the requirements of this function.
        let started = take(&handle.pacer).map_err(|refused| unsafe { refusal(refused, due_ns) })?;
        place.write(started.into());
        Ok(())
    })
}

/// Claims the next slot, blocks until its intended start, and also starts the other slots that are due, at most `most`
/// slots in total. Use this function in a language from which calls of C are slow. `grants` must have room for `most`
/// grants. `taken` receives the number of started slots, even if the status is not `NANOPACE_STATUS_OK`.
///
/// If no slot is left but some have been started, the function returns `NANOPACE_STATUS_OK`, and the next call returns
/// the reason why no slot is left. If `most` is zero, the function returns `NANOPACE_STATUS_WRONG`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_acquire_due(
    pacer: *const PacerHandle,
    grants: *mut Grant,
    most: usize,
    taken: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let count = unsafe { out(taken) }?.write(0);
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        unsafe { out(grants) }?;
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let pacer = unsafe { live(pacer) }?.pacer.clone();
        if most == 0 {
            return Err(Failure::wrong("most is zero: it must be 1 or more"));
        }
        let more = std::iter::from_fn(|| pacer.try_acquire().ok());
        let first = pacer.acquire()?;
        for (index, grant) in std::iter::once(first).chain(more).take(most).enumerate() {
            // SAFETY: the index is below `most`, and there is room for `most` grants.
            let place = unsafe { grants.add(index) };
            // SAFETY: the index is below `most`, so the place belongs to the caller's array.
            unsafe { place.write(grant.into()) };
            *count = index + 1;
        }
        Ok(())
    })
}
