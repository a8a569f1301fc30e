//! The engine `nanopace` for C and C++. `include/nanopace.h` is generated from this source; see `README.md` for how to
//! build with it.
//!
//! Rules for every function, which are not repeated for each:
//!
//! * A pointer is null or points to a value of its type. Null for a required pointer returns [`Status::Null`]; an out
//!   pointer may be null where its function says so.
//! * A handle was made by the function of its kind. It works from any thread. Freeing it twice, or using it after it
//!   was freed, returns [`Status::Freed`] until 256 more handles of its kind have been freed.
//! * Strings are UTF-8 and end with a zero byte.
//! * Do not call these functions in a signal handler, which could run within another call of the same thread.
//! * Nothing unwinds into the caller: a panic is caught and becomes [`Status::Panicked`]. No panic of the engine is
//!   known.
#![expect(
    clippy::missing_safety_doc,
    reason = "it is the same for all, and the crate's page has it"
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
