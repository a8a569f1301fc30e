//! How the target answers.

use super::latency::Latency;
use super::share::Share;
use super::stall::Stall;

/// How the target answers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Behaviour {
    /// How long each answer takes.
    pub(crate) latency: Latency,
    /// The planned outage, if any.
    pub(crate) stall: Option<Stall>,
    /// The share of requests that fail.
    pub(crate) errors: Share,
    /// What the latencies and the errors are drawn from.
    pub(crate) seed: u64,
    /// The length of a body in bytes.
    pub(crate) body: u32,
    /// Whether the target speaks TLS.
    pub(crate) tls: bool,
}
