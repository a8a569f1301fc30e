//! Changes of a load while it runs, and of clocks for tests.

use crate::ffi::{guarded, text};
use crate::pacer::{PacerHandle, live};
use crate::status::{Failure, Status};
use nanopace::{Pacer, Shard, Strictness};
use std::ffi::c_char;
use std::time::Duration;

/// # Safety
/// The crate's page.
unsafe fn change(
    pacer: *const PacerHandle,
    change: impl FnOnce(&Pacer) -> Result<(), Failure>,
) -> Status {
    guarded(|| {
        // SAFETY: as this function asks.
        change(&unsafe { live(pacer) }?.pacer)
    })
}

/// # Safety
/// The crate's page.
unsafe fn tell(pacer: *const PacerHandle, what: impl FnOnce(&Pacer)) -> Status {
    let tell = |pacer: &Pacer| {
        what(pacer);
        Ok(())
    };
    // SAFETY: as this function asks.
    unsafe { change(pacer, tell) }
}

/// Sets the load from now on: a rate or a shape, as for `nanopace_new`. It is one atomic step without a burst, and
/// reaches callers who are held back. Arrivals, shard and policies stay. It does nothing once the pacer is closed, and
/// returns `NANOPACE_STATUS_OK`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_set_load(
    pacer: *const PacerHandle,
    load: *const c_char,
) -> Status {
    let set = |pacer: &Pacer| {
        // SAFETY: the crate's page.
        pacer.set_load(unsafe { text(load) }?).map_err(Failure::wrong)
    };
    // SAFETY: the crate's page.
    unsafe { change(pacer, set) }
}

/// From the slot with the number `from` in the whole load on, gives this process the slots of a shard, as in
/// `nanopace_options.shard`. `NANOPACE_STATUS_WRONG` if such a slot may have started.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_set_shard(
    pacer: *const PacerHandle,
    shard: *const c_char,
    from: u64,
) -> Status {
    let set = |pacer: &Pacer| {
        // SAFETY: the crate's page.
        let shard: Shard = unsafe { text(shard) }?.parse().map_err(Failure::wrong)?;
        pacer.set_shard(shard, from).map_err(Failure::wrong)
    };
    // SAFETY: the crate's page.
    unsafe { change(pacer, set) }
}

/// Sets the policy for missed time from now on, as `nanopace_options.strictness`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_set_strictness(
    pacer: *const PacerHandle,
    strictness: f64,
) -> Status {
    let set = |pacer: &Pacer| {
        pacer.set_strictness(Strictness::new(strictness).map_err(Failure::wrong)?);
        Ok(())
    };
    // SAFETY: the crate's page.
    unsafe { change(pacer, set) }
}

/// A limit in nanoseconds; zero means no limit.
fn limit(ns: u64) -> Option<Duration> {
    Some(Duration::from_nanos(ns)).filter(|limit| !limit.is_zero())
}

/// Limits the lateness that is made up for from now on; 0 removes the limit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_set_max_backlog(
    pacer: *const PacerHandle,
    limit_ns: u64,
) -> Status {
    // SAFETY: the crate's page.
    unsafe { tell(pacer, |pacer| pacer.set_max_backlog(limit(limit_ns))) }
}

/// Skips slots that are later than this from now on; 0 removes the limit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_set_skip_later_than(
    pacer: *const PacerHandle,
    limit_ns: u64,
) -> Status {
    // SAFETY: the crate's page.
    unsafe { tell(pacer, |pacer| pacer.set_skip_later_than(limit(limit_ns))) }
}

/// Stops the schedule's time: nothing starts until `nanopace_resume`. It does nothing once the pacer is closed, and
/// returns `NANOPACE_STATUS_OK`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_pause(pacer: *const PacerHandle) -> Status {
    // SAFETY: the crate's page.
    unsafe { tell(pacer, Pacer::pause) }
}

/// Lets the schedule's time go on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_resume(pacer: *const PacerHandle) -> Status {
    // SAFETY: the crate's page.
    unsafe { tell(pacer, Pacer::resume) }
}

/// Ends the schedule for good. Callers who are held back wake, and they and all later ones get
/// `NANOPACE_STATUS_CLOSED`. The handle still has to be freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_close(pacer: *const PacerHandle) -> Status {
    // SAFETY: the crate's page.
    unsafe { tell(pacer, Pacer::close) }
}

/// Moves a clock of `NANOPACE_CLOCK_MANUAL` or `NANOPACE_CLOCK_JUMPING` forward, at most to 2^63 - 1 ns. Start nothing
/// at that moment, because no time comes after it: on a jumping clock a caller whose slot is due later waits for a
/// change of the load, or for the close. `NANOPACE_STATUS_WRONG` if the pacer has another clock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_advance(pacer: *const PacerHandle, by_ns: u64) -> Status {
    guarded(|| {
        // SAFETY: the crate's page.
        let clock = &unsafe { live(pacer) }?.clock;
        let clock = clock.as_ref().ok_or_else(|| Failure::wrong("that clock runs by itself"))?;
        clock.advance(Duration::from_nanos(by_ns));
        Ok(())
    })
}
