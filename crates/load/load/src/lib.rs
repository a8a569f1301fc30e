// The README's own links work only in the repository. Rustdoc uses the first definition of a link, so these definitions
// come before the README and replace its own.
//! [How to write one]: crate::_documentation::own
//! [Rules for calls]: crate::_documentation::own#rules-for-calls
//!
#![doc = include_str!("../README.md")]
#![cfg_attr(
    not(all(feature = "fleet", feature = "http", feature = "otlp", feature = "tls")),
    allow(dead_code, reason = "each of these features uses more of the private modules")
)]

pub mod _documentation;
#[cfg(feature = "http")]
mod calibrate;
#[cfg(feature = "http")]
pub mod commands;
mod console;
mod front;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "http")]
pub mod instruments;
mod judged;
mod load;
mod net;
#[cfg(feature = "http")]
mod plan;
mod results;
mod running;
mod shown;
#[cfg(feature = "http")]
mod witness;

pub use front::builder::{Load, LoadError};
pub use front::data::DataArgs;
pub use front::groups::{LoadArgs, SearchArgs};
pub use front::loads::Loads;
pub use front::program::main;
pub use front::report::{LabelReport, Report, TimeInterval};
pub use load::about::About;
pub use load::blocking::BlockingTarget;
pub use load::data::rows::{Row, Rows};
pub use load::measures::{Counter, Trend};
pub use load::stream_times::{StreamTimes, StreamWatch};
pub use load::target::{Done, Failure, Slot, Target};
