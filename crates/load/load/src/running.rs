//! Runs loads on worker threads.

pub(crate) mod args;
mod before_start;
mod chrony;
pub(crate) mod compare;
pub(crate) mod control;
pub(crate) mod controller;
pub(crate) mod files;
pub(crate) mod fleet;
pub(crate) mod invitation;
pub(crate) mod keyboard;
pub(crate) mod loads;
pub(crate) mod measuring;
pub(crate) mod member;
pub(crate) mod merge;
pub(crate) mod message;
pub(crate) mod observed;
pub(crate) mod open_files;
pub(crate) mod outputs;
pub(crate) mod policy;
pub(crate) mod pool_size;
pub(crate) mod prepared;
#[cfg(feature = "otlp")]
pub(crate) mod push;
pub(crate) mod run;
mod run_mode;
pub(crate) mod search;
pub(crate) mod setup;
mod slow_requests;
mod start_at;
pub(crate) mod steering;
pub(crate) mod versus;
pub(crate) mod workers;
