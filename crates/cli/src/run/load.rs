//! Load: workers take slots from the pacer and send requests.

pub(crate) mod client;
pub(crate) mod cpu;
pub(crate) mod shared;
pub(crate) mod span;
#[cfg_attr(not(test), expect(dead_code, reason = "the run will read its targets"))]
pub(crate) mod targets;
mod utilization;
pub(crate) mod worker;
