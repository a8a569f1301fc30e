//! The engine `nanopace` for C and C++. `include/nanopace.h` is generated from this source; see `README.md` for how to
//! build with it.
//!
//! These rules apply to every function, and are not repeated for each:
//!
//! * A pointer is null or points to a value of its type. If a required pointer is null, the function returns
//!   [`Status::Null`]. An out pointer may be null if its function says so.
//! * A handle must come from the function that creates its type. A handle can be used in any thread, unless its type
//!   says otherwise. If a handle is freed twice, or used after it was freed, the function returns [`Status::Freed`]
//!   until 256 more handles of its type have been freed.
//! * Strings are UTF-8 and end with a zero byte.
//! * Do not call these functions in a signal handler, which could run within another call of the same thread.
//! * A panic is caught and becomes [`Status::Panicked`], so no panic unwinds into the caller. No panic of the engine is
//!   known.
#![expect(
    clippy::missing_safety_doc,
    reason = "the crate's page lists the safety rules of all functions"
)]

mod changes;
mod claim;
mod exclusive;
mod ffi;
mod freed;
mod grant;
mod lane;
mod options;
mod pacer;
mod poller;
mod queries;
mod status;
mod thread;
#[cfg(target_os = "linux")]
mod watch;

pub use changes::*;
pub use claim::*;
pub use grant::Grant;
pub use lane::*;
pub use options::{Clock, Options, Start};
pub use pacer::*;
pub use poller::*;
pub use queries::*;
pub use status::*;
#[cfg(target_os = "linux")]
pub use watch::*;
