//! Contains the two scripts that the store runs. They are scripts and not a library of functions, because some servers
//! forbid functions.

pub(super) const CLAIM: &str = concat!(include_str!("common.lua"), include_str!("claim.lua"));

/// Handles all requests except claims. Only this script checks that the node has the same version as the run, because
/// each node has used this script to join before it claims.
pub(super) const REST: &str = concat!(
    "local OWN = '",
    env!("CARGO_PKG_VERSION"),
    "'\n",
    include_str!("common.lua"),
    include_str!("rest.lua")
);
