//! Slot after slot without blocking.

use crate::border::{guarded, out, read};
use crate::freed::Freed;
use crate::grant::{Grant, refusal};
use crate::pacer::{PacerHandle, live};
use crate::status::{Failure, Status};
use nanopace::{Poller, Refused};
use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// What starts one slot after the other and keeps a slot that is not due. Any thread may use it, one at a
/// time: another one gets `NANOPACE_STATUS_BUSY` meanwhile.
#[derive(Debug)]
pub struct PollerHandle {
    state: AtomicU8,
    /// Touched by the call alone that has set the state to [`BUSY`], until it is freed.
    poller: UnsafeCell<ManuallyDrop<Poller>>,
}

const IDLE: u8 = 0;
const BUSY: u8 = 1;
const FREE: u8 = 2;

// SAFETY: the poller is reached by one call at a time.
unsafe impl Sync for PollerHandle {}

static FREED: Freed<PollerHandle> = Freed::new();

/// A call that has the poller; another one may have it when this is dropped.
struct Turn<'a>(&'a PollerHandle);

impl PollerHandle {
    /// From idle to `state`, which nobody else can do then.
    fn leave_idle(&self, state: u8) -> Result<(), Failure> {
        // Acquire: what the call before did is done. Partner: the drop of a turn. Relaxed: who fails
        // touches nothing. No model: it is a lock that nobody waits for.
        match self.state.compare_exchange(IDLE, state, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Ok(()),
            Err(FREE) => Err(Status::Freed.into()),
            Err(_) => Err(Status::Busy.into()),
        }
    }

    fn turn(&self) -> Result<Turn<'_>, Failure> {
        self.leave_idle(BUSY)?;
        Ok(Turn(self))
    }
}

impl Turn<'_> {
    fn poller(&mut self) -> &mut Poller {
        // SAFETY: there is one turn at a time, and it is borrowed.
        unsafe { &mut *self.0.poller.get() }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // Release: the next call sees what this one did. Partner: `leave_idle`.
        self.0.state.store(IDLE, Ordering::Release);
    }
}

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
        let made = ManuallyDrop::new(unsafe { live(pacer) }?.pacer.poller());
        let handle = PollerHandle { state: AtomicU8::new(IDLE), poller: UnsafeCell::new(made) };
        place.write(Box::into_raw(Box::new(handle)));
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
        handle.leave_idle(FREE)?;
        // SAFETY: no call has it, and none can any more.
        let poller = unsafe { &mut *handle.poller.get() };
        // SAFETY: it is dropped here only, because only one call leaves idle for this.
        unsafe { ManuallyDrop::drop(poller) };
        // SAFETY: it was made by `nanopace_poller_new`, and only one call comes here.
        unsafe { FREED.keep(NonNull::from(handle)) };
        Ok(())
    })
}

/// # Safety
/// The crate's page.
unsafe fn start(
    poller: *mut PollerHandle,
    grant: *mut Grant,
    due_ns: *mut u64,
    start: impl FnOnce(&mut Poller) -> Result<nanopace::Grant, Refused>,
) -> Status {
    guarded(|| {
        // SAFETY: as this function asks.
        let place = unsafe { out(grant) }?;
        // SAFETY: as this function asks.
        let mut turn = unsafe { read(poller) }?.turn()?;
        let started = start(turn.poller());
        // SAFETY: as this function asks.
        place.write(started.map_err(|refused| unsafe { refusal(refused, due_ns) })?.into());
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
    unsafe { start(poller, grant, due_ns, |poller| poller.wait_for(timeout)) }
}

/// Gives back the slot that the poller has, if any: another caller gets it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_poller_give_back(poller: *mut PollerHandle) -> Status {
    guarded(|| {
        // SAFETY: the crate's page.
        unsafe { read(poller) }?.turn()?.poller().give_back();
        Ok(())
    })
}
