//! The two scripts that the store runs. Scripts and not a library of functions, because servers that
//! forbid functions take them too.

/// Claims in several frames, the most frequent request.
pub(super) const CLAIM: &str = concat!(include_str!("common.lua"), include_str!("claim.lua"));

/// The operations other than claims. Only this script compares versions: every node that claims has joined by it.
pub(super) const REST: &str = concat!(
    "local OWN = '",
    env!("CARGO_PKG_VERSION"),
    "'\n",
    include_str!("common.lua"),
    include_str!("rest.lua")
);
