//! Why a request was refused.

use nanopace::Nanos;
use thiserror::Error;

/// Why a request was refused. Nothing was counted.
///
/// Ordered by how long it takes until the request can be let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Error)]
pub enum Refused {
    /// Not yet: if nothing else is let in before, the same request gets in from this moment on, and not earlier.
    #[error("not before {0:?}")]
    NotUntil(Nanos),
    /// Never: the request is for more than the limiter lets in at once.
    #[error(
        "asked for more than the {capacity} that can be let in at once: ask for less, or raise the limit"
    )]
    ExceedsCapacity {
        /// The most that can be let in at once.
        capacity: u64,
    },
}
