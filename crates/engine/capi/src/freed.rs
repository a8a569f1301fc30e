//! Keeps freed handles for a while, so that a use after free is reported.
//!
//! The memory of a freed handle is kept until [`KEPT`] more handles of its type have been freed. Until then, a use
//! after free and a double free are reported, and an overlapping call in another thread accesses only valid memory.

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

const KEPT: usize = 256;

#[derive(Debug)]
pub(crate) struct Freed<T>(Mutex<VecDeque<FreedHandle<T>>>);

/// A freed handle. It is a pointer, because a use after free still reads the handle, and a box requires exclusive
/// access.
#[derive(Debug)]
struct FreedHandle<T>(NonNull<T>);

// SAFETY: the pointer is used only to free the handle. Any thread may do this, because `T` is `Send`.
unsafe impl<T: Send> Send for FreedHandle<T> {}

impl<T> Freed<T> {
    pub(crate) const fn new() -> Freed<T> {
        Freed(Mutex::new(VecDeque::new()))
    }

    /// # Safety
    /// The handle comes from [`Box::into_raw`], and is passed here only once.
    pub(crate) unsafe fn keep(&self, handle: NonNull<T>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back(FreedHandle(handle));
        let oldest = if kept.len() > KEPT { kept.pop_front() } else { None };
        drop(kept);
        if let Some(FreedHandle(oldest)) = oldest {
            // SAFETY: the handle came from `Box::into_raw`, is kept only once, and need not be kept any longer.
            drop(unsafe { Box::from_raw(oldest.as_ptr()) });
        }
    }
}
