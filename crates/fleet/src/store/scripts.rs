//! The two scripts that the store runs. Claims have one of their own, because they are run more often
//! than all else. Scripts and not a library of functions, because servers that forbid functions take
//! them too.

/// Claims in several frames.
pub(super) fn claim() -> String {
    concat!(include_str!("common.lua"), include_str!("claim.lua")).to_owned()
}

/// Everything but claims.
pub(super) fn rest() -> String {
    concat!(include_str!("common.lua"), include_str!("rest.lua")).to_owned()
}
