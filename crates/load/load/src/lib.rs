// The README's links to its page are for readers of the file; these come first, for rustdoc.
//! [How to write one]: crate::_documentation::own
//! [What a call may do]: crate::_documentation::own#what-a-call-may-do
//!
#![doc = include_str!("../README.md")]
#![expect(clippy::must_use_candidate, reason = "the hidden modules are parts of a program")]

pub mod _documentation;
#[doc(hidden)]
pub mod console;
#[doc(hidden)]
pub mod front;
mod judged;
#[doc(hidden)]
pub mod load;
#[doc(hidden)]
pub mod net;
#[doc(hidden)]
pub mod recorded;
#[doc(hidden)]
pub mod running;
mod shown;

pub use front::builder::{Load, LoadError};
pub use front::groups::{LoadArgs, SearchArgs};
pub use front::program::main;
pub use front::report::{LabelReport, Report, TimeInterval};
pub use load::blocking::BlockingTarget;
pub use load::stream_times::{StreamTimes, StreamWatch};
pub use load::target::{Done, Failure, Slot, Target};
