//! Load: workers take slots from the pacer and send requests.

pub(crate) mod client;
pub(crate) mod cpu;
pub(crate) mod shared;
pub(crate) mod span;
mod utilization;
pub(crate) mod worker;
