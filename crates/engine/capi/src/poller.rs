//! Slot after slot without blocking.

use crate::exclusive::{Exclusive, start};
use crate::ffi::{guarded, out, read};
use crate::freed::Freed;
use crate::grant::Grant;
use crate::pacer::{PacerHandle, live};
use crate::status::Status;
use nanopace::Poller;
use std::ptr::NonNull;
use std::time::Duration;

/// What starts one slot after the other and keeps a slot that is not due. Any thread may use it, one at a
/// time: another one gets `NANOPACE_STATUS_BUSY` meanwhile.
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

/// Gives back the slot that it has, and frees it. `NANOPACE_STATUS_BUSY` while another thread is in a call
/// of it: then it is not freed.
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

/// Starts the slot that the poller has, or the next one, if it is due. Otherwise it keeps the slot,
/// returns `NANOPACE_STATUS_NOT_YET` or `NANOPACE_STATUS_PAUSED`, and says in `due_ns`, which may be null,
/// when the slot is due as things stand, as `nanopace_try_acquire` does. After a change of the schedule
/// poll again. Never blocks.
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

/// Blocks until the slot that the poller has, or the next one, starts, but no longer than about so many
/// nanoseconds. Then it returns as `nanopace_poller_poll` does, and keeps the slot: for callers who have to
/// look around now and then, for a signal for example.
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
