//! Defines grants, and the due times of refused calls.

use crate::ffi::out;
use crate::status::Failure;
use nanopace::{Nanos, Refused};

/// A slot that may start now. Times are in nanoseconds on the pacer's clock, which is `CLOCK_MONOTONIC` by default.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Grant {
    /// The time at which the operation should start according to the schedule. Response times count from this time.
    pub intended_start_ns: u64,
    /// The time at which the operation was allowed to start.
    pub actual_start_ns: u64,
    /// The lateness of the operation: actual minus intended start, never negative.
    pub wait_ns: u64,
    /// The slot's number in the whole load, counted from 0.
    pub slot: u64,
}

impl From<nanopace::Grant> for Grant {
    #[inline]
    fn from(grant: nanopace::Grant) -> Grant {
        Grant {
            intended_start_ns: grant.intended_start().as_nanos(),
            actual_start_ns: grant.actual_start().as_nanos(),
            wait_ns: grant.wait_nanos(),
            slot: grant.slot(),
        }
    }
}

/// # Safety
/// `due_ns` is null or can be written.
#[cold]
pub(crate) unsafe fn refusal(refused: Refused, due_ns: *mut u64) -> Failure {
    let due = match refused {
        Refused::NotUntil(due) if due < Nanos::MAX => due.as_nanos(),
        _ => u64::MAX,
    };
    // SAFETY: the caller meets the requirements of this function. Null means that the caller does not want the due
    // time.
    if let Ok(place) = unsafe { out(due_ns) } {
        place.write(due);
    }
    refused.into()
}
