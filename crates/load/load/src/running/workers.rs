//! Implements workers: tasks and threads that take slots from the pacer and make calls.

pub(crate) mod any_backend;
pub(crate) mod apart;
mod backoff;
mod blocking;
pub(crate) mod connection_slots;
pub(crate) mod cores;
pub(crate) mod deadline;
pub(crate) mod growth;
pub(crate) mod guarded;
mod held;
pub(crate) mod length;
pub(crate) mod pool;
pub(crate) mod realtime;
pub(crate) mod shared;
mod slots;
pub(crate) mod span;
pub(crate) mod thread_cpu;
pub(crate) mod threads;
mod worker;

#[cfg(test)]
mod tests;
