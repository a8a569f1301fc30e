//! Pollers: one slot after the other without blocking.

use crate::exclusive::{Exclusive, start};
use crate::ffi::{guarded, out, read};
use crate::freed::Freed;
use crate::grant::Grant;
use crate::pacer::{PacerHandle, live};
use crate::status::Status;
use nanopace::Poller;
use std::ptr::NonNull;
use std::time::Duration;

/// Starts one slot after the other and keeps a slot that is not due. Any thread may use it, one at a time: another one
/// gets `NANOPACE_STATUS_BUSY` meanwhile.
#[derive(Debug)]
pub struct PollerHandle(Exclusive<Poller>);

static FREED: Freed<PollerHandle> = Freed::new();

/// Makes a poller. It has no slot until it is first polled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_poller_new(
    pacer: *const PacerHandle,
    poller: *mut *mut PollerHandle,
) -> Status {
    guarded(|| {
        // SAFETY: the crate's page.
        let place = unsafe { out(poller) }?;
        // SAFETY: the crate's page.
        let poller = unsafe { live(pacer) }?.pacer.poller();
        place.write(Box::into_raw(Box::new(PollerHandle(Exclusive::new(poller)))));
        Ok(())
    })
}

/// Gives back the slot that the poller has, and frees the poller. Returns `NANOPACE_STATUS_BUSY`, without freeing it,
/// while another thread is in a call of it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_poller_free(poller: *mut PollerHandle) -> Status {
    guarded(|| {
        // SAFETY: the crate's page.
        let handle = unsafe { read(poller) }?;
        handle.0.free()?;
        // SAFETY: it was made by `nanopace_poller_new`, and only one call comes here.
        unsafe { FREED.keep(NonNull::from(handle)) };
        Ok(())
    })
}

/// Starts the slot that the poller has, or the next one, if it is due. Otherwise it keeps the slot and returns
/// `NANOPACE_STATUS_NOT_YET` or `NANOPACE_STATUS_PAUSED`. As with `nanopace_try_acquire`, `due_ns`, which may be null,
/// gets the time when the slot is due by the current schedule. After a change of the schedule poll again. Never blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_poller_poll(
    poller: *mut PollerHandle,
    grant: *mut Grant,
    due_ns: *mut u64,
) -> Status {
    // SAFETY: the crate's page.
    let poller = unsafe { read(poller) }.map(|handle| &handle.0);
    // SAFETY: the crate's page.
    unsafe { start(poller, grant, due_ns, Poller::poll) }
}

/// Blocks until the slot that the poller has, or the next one, starts, but no longer than about `timeout_ns`
/// nanoseconds. After a timeout it returns the same as `nanopace_poller_poll`, and keeps the slot. For callers that
/// have to check for something now and then, for example a signal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_poller_wait(
    poller: *mut PollerHandle,
    timeout_ns: u64,
    grant: *mut Grant,
    due_ns: *mut u64,
) -> Status {
    let timeout = Duration::from_nanos(timeout_ns);
    // SAFETY: the crate's page.
    let poller = unsafe { read(poller) }.map(|handle| &handle.0);
    // SAFETY: the crate's page.
    unsafe { start(poller, grant, due_ns, |poller| poller.wait_for(timeout)) }
}

/// Gives back the slot that the poller has, if any: another caller gets it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_poller_give_back(poller: *mut PollerHandle) -> Status {
    guarded(|| {
        // SAFETY: the crate's page.
        unsafe { read(poller) }?.0.with(Poller::give_back)
    })
}
