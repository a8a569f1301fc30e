//! Defines the reasons why a request for a key is rejected.

use nanopace_limits::{CostsRejected, Rejected};
use thiserror::Error;

/// The reason why a request for a key was rejected. Only limits that count rejected requests may have counted the
/// request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum KeyRejected {
    /// The key's limits reject the request.
    #[error(transparent)]
    Limit(#[from] Rejected),
    /// The number of costs differs from the number of the key's limits.
    #[error(
        "the number of limits is {limits}, and the number of costs is {costs}: give one cost for each limit, in the same order"
    )]
    Costs {
        /// The number of limits that the key has.
        limits: usize,
        /// The number of costs that the request has.
        costs: usize,
    },
    /// The key is new, and the number of keys is at its maximum.
    #[error(
        "the maximum of {max} keys is reached: retry later, sweep idle keys, or raise the maximum"
    )]
    TooManyKeys {
        /// The maximum number of keys, as set by [`max_keys`](crate::KeyedBuilder::max_keys).
        max: u64,
    },
    /// Neither the key nor any prefix of it has limits.
    #[error(
        "no limits are configured for the key: set limits for the key, for a prefix of the key, or for all keys with the empty prefix"
    )]
    NoLimits,
}

impl From<CostsRejected> for KeyRejected {
    fn from(rejected: CostsRejected) -> KeyRejected {
        match rejected {
            CostsRejected::Limit(rejected) => KeyRejected::Limit(rejected),
            CostsRejected::Number { limits, costs } => KeyRejected::Costs { limits, costs },
        }
    }
}
