#![doc = include_str!("../README.md")]
#![expect(clippy::must_use_candidate, reason = "the hidden modules are parts of a program")]

#[doc(hidden)]
pub mod alternate;
#[doc(hidden)]
pub mod axis;
mod blocking;
#[doc(hidden)]
pub mod config;
#[doc(hidden)]
pub mod console;
#[doc(hidden)]
pub mod details;
#[doc(hidden)]
pub mod fleet;
mod front;
#[doc(hidden)]
pub mod fuzzing;
#[doc(hidden)]
pub mod gaps;
#[doc(hidden)]
pub mod interrupt;
#[doc(hidden)]
pub mod job;
#[doc(hidden)]
pub mod kind;
mod load;
#[doc(hidden)]
pub mod percentiles;
#[doc(hidden)]
pub mod refusal;
mod report;
#[doc(hidden)]
pub mod run;
#[doc(hidden)]
pub mod schedule;
#[doc(hidden)]
pub mod search;
mod target;
#[doc(hidden)]
pub mod times;
#[doc(hidden)]
pub mod tls;
#[doc(hidden)]
pub mod url;

pub use blocking::BlockingTarget;
pub use front::main;
pub use load::{Load, LoadError};
pub use report::{LabelReport, Report};
pub use target::{Done, Failure, Slot, Target};
