//! Changes a pacer's load during the run, and moves clocks for tests.

use crate::ffi::{guarded, text};
use crate::pacer::{PacerHandle, live};
use crate::status::{Failure, Status};
use nanopace::{Pacer, Shard, Strictness};
use std::ffi::c_char;
use std::time::Duration;

/// # Safety
/// The caller follows the rules of this crate (`lib.rs`).
unsafe fn change(
    pacer: *const PacerHandle,
    change: impl FnOnce(&Pacer) -> Result<(), Failure>,
) -> Status {
    guarded(|| {
        // SAFETY: the caller meets the requirements of this function.
        change(&unsafe { live(pacer) }?.pacer)
    })
}

/// # Safety
/// The caller follows the rules of this crate (`lib.rs`).
unsafe fn tell(pacer: *const PacerHandle, what: impl FnOnce(&Pacer)) -> Status {
    let tell = |pacer: &Pacer| {
        what(pacer);
        Ok(())
    };
    // SAFETY: the caller meets the requirements of this function.
    unsafe { change(pacer, tell) }
}

/// Sets the load from this call on: a rate or a shape, as for `nanopace_new`. The change is one atomic step without a
/// burst, and also applies to callers that are waiting. Arrivals, shard and policies stay the same. If the pacer is
/// closed, the status is `NANOPACE_STATUS_OK`, and no slot starts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_set_load(
    pacer: *const PacerHandle,
    load: *const c_char,
) -> Status {
    let set = |pacer: &Pacer| {
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        pacer.set_load(unsafe { text(load) }?).map_err(Failure::wrong)
    };
    // SAFETY: the caller follows the rules of this crate (`lib.rs`).
    unsafe { change(pacer, set) }
}

/// Gives this process the slots of a shard, beginning with the slot with the number `from` in the whole load. The shard
/// is written as in `nanopace_options.shard`. Returns `NANOPACE_STATUS_WRONG` if this process has claimed slot `from`
/// or a later slot, or if such a slot may start already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_set_shard(
    pacer: *const PacerHandle,
    shard: *const c_char,
    from: u64,
) -> Status {
    let set = |pacer: &Pacer| {
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let shard: Shard = unsafe { text(shard) }?.parse().map_err(Failure::wrong)?;
        pacer.set_shard(shard, from).map_err(Failure::wrong)
    };
    // SAFETY: the caller follows the rules of this crate (`lib.rs`).
    unsafe { change(pacer, set) }
}

/// Sets the strictness that applies to late starts after this call, as `nanopace_options.strictness` does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_set_strictness(
    pacer: *const PacerHandle,
    strictness: f64,
) -> Status {
    let set = |pacer: &Pacer| {
        pacer.set_strictness(Strictness::new(strictness).map_err(Failure::wrong)?);
        Ok(())
    };
    // SAFETY: the caller follows the rules of this crate (`lib.rs`).
    unsafe { change(pacer, set) }
}

fn limit(ns: u64) -> Option<Duration> {
    Some(Duration::from_nanos(ns)).filter(|limit| !limit.is_zero())
}

/// Sets the maximum lateness, in nanoseconds, that is made up for after this call. 0 removes the limit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_set_max_backlog(
    pacer: *const PacerHandle,
    limit_ns: u64,
) -> Status {
    // SAFETY: the caller follows the rules of this crate (`lib.rs`).
    unsafe { tell(pacer, |pacer| pacer.set_max_backlog(limit(limit_ns))) }
}

/// Sets the lateness in nanoseconds beyond which slots are skipped after this call. 0 removes the limit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_set_skip_later_than(
    pacer: *const PacerHandle,
    limit_ns: u64,
) -> Status {
    // SAFETY: the caller follows the rules of this crate (`lib.rs`).
    unsafe { tell(pacer, |pacer| pacer.set_skip_later_than(limit(limit_ns))) }
}

/// Stops the schedule's time: no slot starts until `nanopace_resume`. If the pacer is closed, the status is
/// `NANOPACE_STATUS_OK`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_pause(pacer: *const PacerHandle) -> Status {
    // SAFETY: the caller follows the rules of this crate (`lib.rs`).
    unsafe { tell(pacer, Pacer::pause) }
}

/// Continues the schedule's time after a pause. Also starts the schedule of a pacer that has not started yet because of
/// `nanopace_options.start`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_resume(pacer: *const PacerHandle) -> Status {
    // SAFETY: the caller follows the rules of this crate (`lib.rs`).
    unsafe { tell(pacer, Pacer::resume) }
}

/// Ends the schedule permanently. Callers that are waiting wake, and they and all later callers get
/// `NANOPACE_STATUS_CLOSED`. The handle still has to be freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_close(pacer: *const PacerHandle) -> Status {
    // SAFETY: the caller follows the rules of this crate (`lib.rs`).
    unsafe { tell(pacer, Pacer::close) }
}

/// Moves a clock of `NANOPACE_CLOCK_MANUAL` or `NANOPACE_CLOCK_JUMPING` forward, at most to 2^63 - 1 ns. Do not start
/// operations at this maximum: on a jumping clock, a caller whose slot is due later waits until the load is changed or
/// the pacer is closed. Returns `NANOPACE_STATUS_WRONG` if the pacer has another clock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_advance(pacer: *const PacerHandle, by_ns: u64) -> Status {
    guarded(|| {
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let clock = &unsafe { live(pacer) }?.clock;
        let clock = clock.as_ref().ok_or_else(|| {
            Failure::wrong(
                "only a clock of NANOPACE_CLOCK_MANUAL or NANOPACE_CLOCK_JUMPING can be moved",
            )
        })?;
        clock.advance(Duration::from_nanos(by_ns));
        Ok(())
    })
}
