//! Defines a load: its schedule, its target, and the actions that change it while it runs.

pub(crate) mod about;
pub(crate) mod action;
pub(crate) mod backend;
pub(crate) mod blocking;
pub(crate) mod data;
pub(crate) mod details;
mod function;
pub(crate) mod kind;
pub(crate) mod measures;
pub(crate) mod own_times;
pub(crate) mod repeats;
pub(crate) mod schedule;
pub(crate) mod shortage;
pub(crate) mod slot;
pub(crate) mod stream_times;
pub(crate) mod target;
pub(crate) mod unsupported;
