//! Load: workers take slots from the pacer and send requests.

pub(crate) mod client;
pub(crate) mod cpu;
pub(crate) mod shared;
mod utilization;
pub(crate) mod window;
pub(crate) mod worker;
