//! Defines the result of a call, as a number and in words.

use nanopace::{Ended, Refused};
use std::cell::RefCell;
use std::fmt::Display;

/// The result of a call. `nanopace_describe` returns it in words.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The call succeeded.
    Ok = 0,
    /// The slot is not due yet. Poll again later.
    NotYet = 1,
    /// The pacer is paused.
    Paused = 2,
    /// The schedule has no slot left, or fewer than the call requested. After the end of a shape, `nanopace_set_load`
    /// continues the schedule; an end by `nanopace_options.slots` or `until_ns` is final.
    Finished = 3,
    /// The pacer is closed.
    Closed = 4,
    /// The caller requested two or more slots at once, and more than 2^44 slots that are not due yet have been claimed.
    TooFarAhead = 5,
    /// A required pointer is null.
    Null = 6,
    /// The handle has been freed.
    Freed = 7,
    /// A string is not UTF-8.
    NotUtf8 = 8,
    /// A string, a number or a struct's size is invalid for the function.
    Wrong = 9,
    /// Another thread is using the handle: see the type of the handle.
    Busy = 10,
    /// A system call has failed.
    System = 11,
    /// An error in nanopace itself, which has been caught.
    Panicked = 12,
}

#[derive(Debug)]
pub(crate) struct Failure {
    status: Status,
    text: Option<String>,
}

thread_local! {
    /// The last failure of this thread that has details.
    static LAST: RefCell<Option<(Status, String)>> = const { RefCell::new(None) };
}

impl Status {
    fn text(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::NotYet => "the slot is not due yet",
            Status::Paused => "the pacer is paused",
            Status::Finished => "the schedule has no slot left",
            Status::Closed => "the pacer is closed",
            Status::TooFarAhead => "too many slots have been claimed ahead of the schedule",
            Status::Null => "a required pointer is null",
            Status::Freed => "the handle has been freed",
            Status::NotUtf8 => "a string is not UTF-8",
            Status::Wrong => "a string, a number or a struct's size is invalid for the function",
            Status::Busy => "another thread is using the handle",
            Status::System => "a system call has failed",
            Status::Panicked => "an error in nanopace itself",
        }
    }

    fn of(number: u32) -> Option<Status> {
        use Status::{
            Busy, Closed, Finished, Freed, NotUtf8, NotYet, Null, Ok, Panicked, Paused, System,
            TooFarAhead, Wrong,
        };
        let all = [
            Ok,
            NotYet,
            Paused,
            Finished,
            Closed,
            TooFarAhead,
            Null,
            Freed,
            NotUtf8,
            Wrong,
            Busy,
            System,
            Panicked,
        ];
        all.into_iter().find(|&status| status as u32 == number)
    }
}

impl Failure {
    pub(crate) fn wrong(why: impl Display) -> Failure {
        Failure { status: Status::Wrong, text: Some(why.to_string()) }
    }

    pub(crate) fn system(why: impl Display) -> Failure {
        Failure { status: Status::System, text: Some(why.to_string()) }
    }

    pub(crate) fn told(self) -> Status {
        if let Some(text) = self.text {
            // A thread that is ending cannot store the failure.
            let _ = LAST.try_with(|last| last.replace(Some((self.status, text))));
        }
        self.status
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Failure {
        Failure { status, text: None }
    }
}

impl From<Ended> for Failure {
    fn from(ended: Ended) -> Failure {
        Refused::from(ended).into()
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Failure {
        Failure::from(match refused {
            Refused::Finished => Status::Finished,
            Refused::Paused => Status::Paused,
            Refused::NotUntil(_) => Status::NotYet,
            Refused::TooFarAhead => Status::TooFarAhead,
            _ => Status::Closed,
        })
    }
}

/// Describes a status in words. If `status` is that of the calling thread's last failure, the text contains the
/// details, for example the position of an error in a string.
///
/// Copies as much as fits into the `length` bytes of `buffer`, with a zero byte at the end, and returns the length of
/// the whole text without that byte, as `snprintf` does. `buffer` may be null if `length` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanopace_describe(
    status: u32,
    buffer: *mut std::ffi::c_char,
    length: usize,
) -> usize {
    let last = LAST.try_with(|last| last.borrow().clone()).ok().flatten();
    let text = match (last, Status::of(status)) {
        (Some((of, text)), _) if of as u32 == status => text,
        (_, Some(status)) => status.text().to_owned(),
        (_, None) => "not a status of nanopace".to_owned(),
    };
    if !buffer.is_null() && length > 0 {
        let mut fits = text.len().min(length - 1);
        while !text.is_char_boundary(fits) {
            fits -= 1;
        }
        // SAFETY: `buffer` is not null, so `length` bytes can be written there, and `fits` is less than `length`.
        unsafe { buffer.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), fits) };
        // SAFETY: `fits` is less than `length`, so the byte at `fits` belongs to the buffer.
        let end = unsafe { buffer.add(fits) };
        // SAFETY: the byte at `fits` belongs to the buffer, and can be written.
        unsafe { end.write(0) };
    }
    text.len()
}
