//! Defines the behaviour of the embedded target.

use super::share::Share;
use super::stall::Stall;
use nanopace_load::commands::TimeDistribution;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Behaviour {
    pub(crate) latency: TimeDistribution,
    pub(crate) stall: Option<Stall>,
    pub(crate) errors: Share,
    pub(crate) seed: u64,
    /// The length of each response's body, in bytes.
    pub(crate) body: u32,
    pub(crate) tls: bool,
}
