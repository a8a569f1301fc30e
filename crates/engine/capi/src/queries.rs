//! Queries a pacer's load and state.

use crate::ffi::{guarded, out};
use crate::pacer::{PacerHandle, live};
use crate::status::Status;
use nanopace::driver::Drive as _;
use nanopace::{Nanos, Pacer};
use std::time::Duration;

/// The account of the schedule's time: `elapsed = allocated + idle + waiting + backlog`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Ledger {
    /// The schedule time since the start, without pauses.
    pub elapsed_ns: u64,
    /// The part of the elapsed time that belongs to slots that were claimed or skipped.
    pub allocated_ns: u64,
    /// The time that a late policy has forfeited.
    pub idle_ns: u64,
    /// The time that is owed under a burst ratio.
    pub waiting_ns: u64,
    /// The time of slots that were due and not claimed.
    pub backlog_ns: u64,
    /// The number of slots that were claimed, without those that were given back or skipped.
    pub granted: u64,
    /// The number of slots that were skipped because they were too late.
    pub skipped: u64,
    /// The number of slots that were due and not claimed.
    pub backlog_slots: u64,
}

/// The counts of early starts and of spinning, which the ledger does not include.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Counters {
    /// The number of operations that started before their intended start, by less than the sleep threshold.
    pub early_starts: u64,
    /// The total time that all callers have spun when the pause is "hybrid".
    pub spun_ns: u64,
}

/// The state of a pacer.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// The time of the call on the pacer's clock.
    pub now_ns: u64,
    /// The rate at the time of the call, in slots per second of the whole load. The rate is 0 while a shape's rate is
    /// zero or at most one per day, and after the end of a shape. A pause does not change the rate.
    pub rate_hz: f64,
    /// Whether the schedule's time is stopped.
    pub is_paused: bool,
    /// Whether the pacer is closed.
    pub is_closed: bool,
    /// Whether the schedule has no slot left.
    pub is_finished: bool,
}

fn ns(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// # Safety
/// The caller follows the rules of this crate (`lib.rs`).
unsafe fn tell<T>(pacer: *const PacerHandle, place: *mut T, tell: fn(&Pacer) -> T) -> Status {
    guarded(|| {
        // SAFETY: the caller meets the requirements of this function.
        let place = unsafe { out(place) }?;
        // SAFETY: the caller meets the requirements of this function.
        place.write(tell(&unsafe { live(pacer) }?.pacer));
        Ok(())
    })
}

/// Returns the time on the pacer's clock, in nanoseconds. The response time of an operation is its end minus its
/// intended start. Returns 0 for a handle that is null or freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_now(pacer: *const PacerHandle) -> u64 {
    // SAFETY: the caller follows the rules of this crate (`lib.rs`).
    unsafe { live(pacer) }.map_or(0, |handle| handle.pacer.now().as_nanos())
}

/// Writes the account of the schedule's time to `ledger`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_get_ledger(
    pacer: *const PacerHandle,
    ledger: *mut Ledger,
) -> Status {
    let told = |pacer: &Pacer| {
        let ledger = pacer.ledger();
        Ledger {
            elapsed_ns: ns(ledger.elapsed),
            allocated_ns: ns(ledger.allocated),
            idle_ns: ns(ledger.idle),
            waiting_ns: ns(ledger.waiting),
            backlog_ns: ns(ledger.backlog),
            granted: ledger.granted,
            skipped: ledger.skipped,
            backlog_slots: ledger.backlog_slots,
        }
    };
    // SAFETY: the caller follows the rules of this crate (`lib.rs`).
    unsafe { tell(pacer, ledger, told) }
}

/// Writes the counts of early starts and of spinning to `counters`. Takes no lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_get_counters(
    pacer: *const PacerHandle,
    counters: *mut Counters,
) -> Status {
    let told = |pacer: &Pacer| {
        let counters = pacer.counters();
        Counters { early_starts: counters.early_starts, spun_ns: ns(counters.spun) }
    };
    // SAFETY: the caller follows the rules of this crate (`lib.rs`).
    unsafe { tell(pacer, counters, told) }
}

/// Writes the state of a pacer to `state`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_get_state(
    pacer: *const PacerHandle,
    state: *mut State,
) -> Status {
    let told = |pacer: &Pacer| State {
        now_ns: pacer.now().as_nanos(),
        rate_hz: pacer.rate_hz(),
        is_paused: pacer.is_paused(),
        is_closed: pacer.is_closed(),
        is_finished: pacer.is_finished(),
    };
    // SAFETY: the caller follows the rules of this crate (`lib.rs`).
    unsafe { tell(pacer, state, told) }
}

/// Writes to `slots` how many slots this process's part of the load contains before `moment_ns` on the pacer's clock.
/// For a moment before the last change of the load or the shard, the number may be that at the change. For a moment
/// before the end of a pause, the number is too small.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_asked_before(
    pacer: *const PacerHandle,
    moment_ns: u64,
    slots: *mut u64,
) -> Status {
    guarded(|| {
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let place = unsafe { out(slots) }?;
        // SAFETY: the caller follows the rules of this crate (`lib.rs`).
        let handle = unsafe { live(pacer) }?;
        place.write(handle.pacer.asked_before(Nanos::from_nanos(moment_ns)));
        Ok(())
    })
}
