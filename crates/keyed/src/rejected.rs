//! Why a request for a key was refused.

use nanopace_limits::Refused;
use thiserror::Error;

/// Why a request for a key was refused. Nothing was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum KeyRefused {
    /// By the key's limits.
    #[error(transparent)]
    Limit(#[from] Refused),
    /// The key is new, and there are as many as there may be.
    #[error(
        "no room for a new key beside {max}: ask again later, sweep idle keys, or allow for more keys"
    )]
    TooManyKeys {
        /// The most keys that are kept.
        max: u64,
    },
    /// Neither the key nor any prefix of it has limits.
    #[error(
        "no limits are configured for the key: set some for it, for a prefix of it, or for all by the empty prefix"
    )]
    NoLimits,
}
