//! Why a request was refused.

use nanopace::Nanos;
use std::cmp::Ordering;
use thiserror::Error;

/// Why a request was refused. Nothing was counted.
///
/// Ordered by how long it takes until the request can be let in; of two capacities, the smaller
/// comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum Refused {
    /// Not yet: if nothing else is let in before, the same request gets in from this moment on, and
    /// not earlier.
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

impl Ord for Refused {
    fn cmp(&self, other: &Refused) -> Ordering {
        match (self, other) {
            (Refused::NotUntil(moment), Refused::NotUntil(other)) => moment.cmp(other),
            (
                Refused::ExceedsCapacity { capacity },
                Refused::ExceedsCapacity { capacity: other },
            ) => other.cmp(capacity),
            (Refused::NotUntil(_), Refused::ExceedsCapacity { .. }) => Ordering::Less,
            (Refused::ExceedsCapacity { .. }, Refused::NotUntil(_)) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Refused {
    fn partial_cmp(&self, other: &Refused) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
