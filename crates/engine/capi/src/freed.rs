//! Keeps freed handles for a while, so that their late use is reported.
//!
//! The memory of a freed handle is kept until [`KEPT`] more handles of its type have been freed. A handle that is used
//! too late, or freed twice, is therefore reported. If a handle is freed while another thread is beginning or ending a
//! call with it, the call accesses only valid memory.

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// The number of freed handles of a type that are kept.
const KEPT: usize = 256;

/// The handles of a type that have been freed and are kept.
#[derive(Debug)]
pub(crate) struct Freed<T>(Mutex<VecDeque<Kept<T>>>);

/// A freed handle. It is a pointer and not a box, because a box would have to be the only access to the handle, and
/// late calls still read it.
#[derive(Debug)]
struct Kept<T>(NonNull<T>);

// SAFETY: it is used only to free the handle, in any thread, which `T` allows.
unsafe impl<T: Send> Send for Kept<T> {}

impl<T> Freed<T> {
    pub(crate) const fn new() -> Freed<T> {
        Freed(Mutex::new(VecDeque::new()))
    }

    /// Keeps one more handle. Frees the oldest one if there are more than [`KEPT`].
    ///
    /// # Safety
    /// The handle comes from [`Box::into_raw`], and is passed here only once.
    pub(crate) unsafe fn keep(&self, handle: NonNull<T>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back(Kept(handle));
        let oldest = if kept.len() > KEPT { kept.pop_front() } else { None };
        drop(kept);
        if let Some(Kept(oldest)) = oldest {
            // SAFETY: it came from `Box::into_raw`, is here once, and its time as a late handle is over.
            drop(unsafe { Box::from_raw(oldest.as_ptr()) });
        }
    }
}
