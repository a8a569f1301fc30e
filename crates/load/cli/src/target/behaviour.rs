//! Defines the behaviour of the embedded target.

use super::latency::Latency;
use super::share::Share;
use super::stall::Stall;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Behaviour {
    pub(crate) latency: Latency,
    pub(crate) stall: Option<Stall>,
    /// The share of requests that fail.
    pub(crate) errors: Share,
    pub(crate) seed: u64,
    /// The length of each response's body, in bytes.
    pub(crate) body: u32,
    pub(crate) tls: bool,
}
