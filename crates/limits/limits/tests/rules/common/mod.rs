//! What tests share.

pub(crate) mod crowd;
#[cfg(feature = "pools")]
mod patience;

#[cfg(feature = "pools")]
pub(crate) use patience::until;
