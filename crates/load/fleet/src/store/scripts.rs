//! Contains the two scripts that the store runs. They are scripts instead of a library of functions, because some
//! servers forbid functions.

pub(super) const CLAIM: &str = concat!(include_str!("common.lua"), include_str!("claim.lua"));

/// Handles all other requests. Only this script compares versions, because every node that claims has joined through
/// it.
pub(super) const REST: &str = concat!(
    "local OWN = '",
    env!("CARGO_PKG_VERSION"),
    "'\n",
    include_str!("common.lua"),
    include_str!("rest.lua")
);
