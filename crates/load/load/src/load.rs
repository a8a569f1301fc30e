//! What a load is: its schedule, the target that it is for, and what may be asked of it while it runs.

pub(crate) mod action;
pub mod backend;
pub(crate) mod blocking;
pub mod details;
mod function;
pub mod kind;
pub mod own_times;
pub mod schedule;
pub mod shortage;
pub mod slot;
pub(crate) mod stream_times;
pub mod target;
