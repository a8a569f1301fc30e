//! Checks arguments from C, and catches panics before they unwind into C.

use crate::status::{Failure, Status};
use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[inline]
pub(crate) fn guarded(run: impl FnOnce() -> Result<(), Failure>) -> Status {
    // The assertion is correct, because the engine's types are unwind safe, so a panic leaves their data consistent.
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => Status::Ok,
        Ok(Err(failure)) => failure.told(),
        Err(_) => Status::Panicked,
    }
}

/// # Safety
/// The pointer is null, or valid for as long as the result is used.
#[inline]
pub(crate) unsafe fn read<'a, T>(pointer: *const T) -> Result<&'a T, Failure> {
    // SAFETY: the pointer is null or valid, because this function requires it.
    unsafe { pointer.as_ref() }.ok_or(Status::Null.into())
}

/// # Safety
/// The pointer is null, or can be written for as long as the result is used.
#[inline]
pub(crate) unsafe fn out<'a, T>(pointer: *mut T) -> Result<&'a mut MaybeUninit<T>, Failure> {
    // SAFETY: the pointer is null or can be written, because this function requires it. The place is not read.
    unsafe { pointer.cast::<MaybeUninit<T>>().as_mut() }.ok_or(Status::Null.into())
}

/// # Safety
/// The pointer is null, or points to a string that ends with a zero byte and stays valid for as long as the result is
/// used.
pub(crate) unsafe fn maybe_text<'a>(pointer: *const c_char) -> Result<Option<&'a str>, Failure> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the pointer is not null, so this function requires that it points to a string that ends with a zero byte.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map(Some).map_err(|_| Status::NotUtf8.into())
}

/// # Safety
/// The requirements are those of [`maybe_text`].
pub(crate) unsafe fn text<'a>(pointer: *const c_char) -> Result<&'a str, Failure> {
    // SAFETY: the caller meets the requirements of this function.
    unsafe { maybe_text(pointer) }?.ok_or(Status::Null.into())
}
