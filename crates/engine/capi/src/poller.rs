//! Provides pollers, which start one slot at a time without blocking.

use crate::exclusive::{Exclusive, start};
use crate::ffi::{guarded, out, read};
use crate::freed::Freed;
use crate::grant::Grant;
use crate::pacer::{PacerHandle, live};
use crate::status::Status;
use nanopace::Poller;
use std::ptr::NonNull;
use std::time::Duration;

/// Starts one slot at a time, and keeps a slot that is not due. One thread at a time may use a poller: a concurrent
/// call in another thread returns `NANOPACE_STATUS_BUSY`.
#[derive(Debug)]
pub struct PollerHandle(Exclusive<Poller>);

static FREED: Freed<PollerHandle> = Freed::new();

/// Creates a poller. The poller holds no slot before the first call of `nanopace_poller_poll` or
/// `nanopace_poller_wait`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_poller_new(
    pacer: *const PacerHandle,
    poller: *mut *mut PollerHandle,
) -> Status {
    guarded(|| {
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let place = unsafe { out(poller) }?;
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let poller = unsafe { live(pacer) }?.pacer.poller();
        place.write(Box::into_raw(Box::new(PollerHandle(Exclusive::new(poller)))));
        Ok(())
    })
}

/// Gives back the poller's slot, if it holds one, and frees the poller. While another thread is in a call with the
/// poller, the function returns `NANOPACE_STATUS_BUSY` and does not free the poller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_poller_free(poller: *mut PollerHandle) -> Status {
    guarded(|| {
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let handle = unsafe { read(poller) }?;
        handle.0.free()?;
        // SAFETY: the handle was made by `nanopace_poller_new`, and only one call gets here.
        unsafe { FREED.keep(NonNull::from(handle)) };
        Ok(())
    })
}

/// Starts the poller's slot if it is due. A poller without a slot first claims the next slot. If the slot cannot start
/// yet, the poller keeps the slot, and the function returns `NANOPACE_STATUS_NOT_YET` or `NANOPACE_STATUS_PAUSED`. It
/// writes the time at which the slot is due by the current schedule to `due_ns`, which may be null. After a change of
/// the schedule, poll again. Never blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_poller_poll(
    poller: *mut PollerHandle,
    grant: *mut Grant,
    due_ns: *mut u64,
) -> Status {
    // SAFETY: the caller follows the rules of this crate (`lib.rs`).
    let poller = unsafe { read(poller) }.map(|handle| &handle.0);
    // SAFETY: the caller follows the rules of this crate (`lib.rs`).
    unsafe { start(poller, grant, due_ns, Poller::poll) }
}

/// Blocks until the poller's slot starts, but no longer than about `timeout_ns` nanoseconds. A poller without a slot
/// first claims the next slot. After a timeout, the function returns the same as `nanopace_poller_poll`, and the poller
/// keeps the slot. Use this function if the caller has to check periodically for an event, for example a signal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_poller_wait(
    poller: *mut PollerHandle,
    timeout_ns: u64,
    grant: *mut Grant,
    due_ns: *mut u64,
) -> Status {
    let timeout = Duration::from_nanos(timeout_ns);
    // SAFETY: the caller follows the rules of this crate (`lib.rs`).
    let poller = unsafe { read(poller) }.map(|handle| &handle.0);
    // SAFETY: the caller follows the rules of this crate (`lib.rs`).
    unsafe { start(poller, grant, due_ns, |poller| poller.wait_for(timeout)) }
}

/// Gives back the poller's slot, if it holds one. Another caller gets the slot.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_poller_give_back(poller: *mut PollerHandle) -> Status {
    guarded(|| {
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        unsafe { read(poller) }?.0.with(Poller::give_back)
    })
}
