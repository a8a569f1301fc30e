//! Claims slots before their start.

use crate::exclusive::{Exclusive, start};
use crate::ffi::{guarded, out, read};
use crate::freed::Freed;
use crate::grant::Grant;
use crate::pacer::{PacerHandle, live};
use crate::status::Status;
use nanopace::Claim;
use std::ptr::NonNull;
use std::time::Duration;

/// One or more claimed slots in a row, to be started as one operation when they are due. One thread at a time may use
/// a claim: a concurrent call in another thread returns `NANOPACE_STATUS_BUSY`.
#[derive(Debug)]
pub struct ClaimHandle(Exclusive<Claim<'static>>);

static FREED: Freed<ClaimHandle> = Freed::new();

/// Claims the next `n` slots, as `nanopace_acquire_many` does, and returns without waiting until they are due. To claim
/// one slot at a time, use a `nanopace_poller`, which allocates no memory per slot.
///
/// In addition to errors, the function returns `NANOPACE_STATUS_FINISHED`, `NANOPACE_STATUS_CLOSED` or
/// `NANOPACE_STATUS_TOO_FAR_AHEAD`. In these cases no claim is created. If `n` is 0, the function claims no slot, and
/// the claim counts as started: see `nanopace_acquire_many`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_claim_new(
    pacer: *const PacerHandle,
    n: u32,
    claim: *mut *mut ClaimHandle,
) -> Status {
    guarded(|| {
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let place = unsafe { out(claim) }?;
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let claimed = unsafe { live(pacer) }?.pacer.claim_many(n)?.into_owned();
        place.write(Box::into_raw(Box::new(ClaimHandle(Exclusive::new(claimed)))));
        Ok(())
    })
}

/// Gives back the slots, unless they have started, and frees the claim. While another thread is in a call with the
/// claim, the function returns `NANOPACE_STATUS_BUSY` and does not free the claim.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_claim_free(claim: *mut ClaimHandle) -> Status {
    guarded(|| {
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let handle = unsafe { read(claim) }?;
        handle.0.free()?;
        // SAFETY: the handle was made by `nanopace_claim_new`, and only one call gets here.
        unsafe { FREED.keep(NonNull::from(handle)) };
        Ok(())
    })
}

/// Starts the slots if the first of them is due. If the slots cannot start yet, the claim keeps the slots, and the
/// function returns `NANOPACE_STATUS_NOT_YET` or `NANOPACE_STATUS_PAUSED`. It writes the time at which the slots are
/// due by the current schedule to `due_ns`, which may be null. Never blocks. After the start, every later call returns
/// the same grant.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_claim_start(
    claim: *mut ClaimHandle,
    grant: *mut Grant,
    due_ns: *mut u64,
) -> Status {
    // SAFETY: the caller follows the rules of this crate (`lib.rs`).
    let claim = unsafe { read(claim) }.map(|handle| &handle.0);
    // SAFETY: the caller follows the rules of this crate (`lib.rs`).
    unsafe { start(claim, grant, due_ns, Claim::start) }
}

/// Blocks until the slots start, but no longer than about `timeout_ns` nanoseconds. After a timeout, the function
/// returns the same as `nanopace_claim_start`, and the claim keeps the slots.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_claim_wait(
    claim: *mut ClaimHandle,
    timeout_ns: u64,
    grant: *mut Grant,
    due_ns: *mut u64,
) -> Status {
    let timeout = Duration::from_nanos(timeout_ns);
    // SAFETY: the caller follows the rules of this crate (`lib.rs`).
    let claim = unsafe { read(claim) }.map(|handle| &handle.0);
    // SAFETY: the caller follows the rules of this crate (`lib.rs`).
    unsafe { start(claim, grant, due_ns, |claim| claim.wait_for(timeout)) }
}
