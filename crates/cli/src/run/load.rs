//! Load: threads that take slots from the pacer and send requests.

pub(crate) mod shared;
pub(crate) mod span;
pub(crate) mod threads;
mod worker;
