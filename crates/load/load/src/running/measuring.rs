//! Records the operations of load threads, and collects the records of all threads.

pub(crate) mod busy_poll;
#[cfg(test)]
mod causes;
pub(crate) mod collector;
pub(crate) mod connections;
mod in_flight;
mod record;
pub(crate) mod recorder;
mod schedule_shift;
pub(crate) mod steps;
