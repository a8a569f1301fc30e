//! The engine `nanopace` for C and C++. `include/nanopace.h` is made from this source, and
//! `README.md` says how to build with it.
//!
//! What holds for every function, so that no function says it again:
//!
//! * A pointer is null or points to what its type says. Null where something is needed gives
//!   [`Status::Null`]; an out pointer that says so may be null.
//! * A handle was made by the function of its kind. It works from any thread. Freeing it twice, or using
//!   it when it is freed, gives [`Status::Freed`] until 256 more of its kind have been freed.
//! * Texts are UTF-8 and end with a zero byte.
//! * No call is made in a handler of a signal, which could be within another one of the same thread.
//! * Nothing unwinds into the caller: a panic is caught and becomes [`Status::Panicked`]. The engine has
//!   none that is known.
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
