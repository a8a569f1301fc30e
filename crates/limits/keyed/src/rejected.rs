//! Why a request for a key was rejected.

use nanopace_limits::{CostsRejected, Rejected};
use thiserror::Error;

/// Why a request for a key was rejected. Nothing was counted.
///
/// ```
/// use nanopace_keyed::{Keyed, KeyRejected, MemoryConfig};
///
/// let users: Keyed<String, _> = Keyed::builder(MemoryConfig::new()).build()?;
/// assert_eq!(users.try_acquire("alice"), Err(KeyRejected::NoLimits));
/// # Ok::<(), nanopace_keyed::LimitsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum KeyRejected {
    /// The key's limits do not let it in.
    #[error(transparent)]
    Limit(#[from] Rejected),
    /// There is not one cost for each limit of the key.
    #[error("limits {limits}, costs {costs}: give one cost for each limit, in their order")]
    Costs {
        /// How many limits there are.
        limits: usize,
        /// How many costs were given.
        costs: usize,
    },
    /// The key is new, and there are as many keys as there may be.
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

impl From<CostsRejected> for KeyRejected {
    fn from(rejected: CostsRejected) -> KeyRejected {
        match rejected {
            CostsRejected::Limit(rejected) => KeyRejected::Limit(rejected),
            CostsRejected::Number { limits, costs } => KeyRejected::Costs { limits, costs },
        }
    }
}
