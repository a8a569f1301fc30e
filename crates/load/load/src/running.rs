//! What runs: threads and workers, the controller of a run, searches, nodes of a fleet.

pub mod args;
pub(crate) mod closed_loop;
pub mod compare;
pub(crate) mod control;
pub(crate) mod controller;
pub mod files;
pub mod fleet;
pub(crate) mod invitation;
pub(crate) mod keyboard;
pub mod member;
pub(crate) mod message;
pub(crate) mod open_files;
mod opening;
pub(crate) mod outlets;
pub(crate) mod policy;
#[cfg(feature = "otlp")]
pub(crate) mod push;
pub(crate) mod recording;
pub(crate) mod run;
pub mod search;
pub mod setup;
pub(crate) mod until;
pub mod workers;
