//! `nanopace limit` as a library: it tries limiters on a sequence of requests, in virtual time.
//!
//! A program mounts the command with [`LimitArgs`] and [`EXAMPLES`], and calls [`run`]. Nothing
//! here sleeps or listens to signals.

mod args;
mod candidate;
mod chart;
mod columns;
#[doc(hidden)]
pub mod fuzzing;
mod input;
mod json;
mod kind;
mod limiter;
mod load;
mod plot;
mod report;
mod request;
mod results;
mod time_series;
mod times;
mod trial;

pub use args::{EXAMPLES, LimitArgs};
pub use trial::{Error, run};
