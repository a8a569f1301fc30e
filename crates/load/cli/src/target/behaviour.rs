//! Defines the behaviour of the embedded target.

use super::latency::Latency;
use super::share::Share;
use super::stall::Stall;

/// The behaviour of the embedded target.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Behaviour {
    /// The latency of each response.
    pub(crate) latency: Latency,
    /// The planned outage, if any.
    pub(crate) stall: Option<Stall>,
    /// The share of requests that fail.
    pub(crate) errors: Share,
    /// The seed of random latencies and errors.
    pub(crate) seed: u64,
    /// The length of each response's body, in bytes.
    pub(crate) body: u32,
    /// Whether the target uses TLS.
    pub(crate) tls: bool,
}
