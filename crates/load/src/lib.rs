//! A load generator of your own: write what one operation is, and get the schedule, the workers, the
//! recording by intended start, the verdict, the live view, the page, the search and the fleet.

#![expect(clippy::must_use_candidate, reason = "the hidden modules are parts of a program")]

#[doc(hidden)]
pub mod alternate;
#[doc(hidden)]
pub mod axis;
#[doc(hidden)]
pub mod config;
#[doc(hidden)]
pub mod console;
#[doc(hidden)]
pub mod fleet;
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
#[doc(hidden)]
pub mod percentiles;
#[doc(hidden)]
pub mod refusal;
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

pub use target::{Done, Failure, Slot, Target};
