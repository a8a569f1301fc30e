//! Presents the status, the account and the results of a fleet.

pub(crate) mod account;
pub(crate) mod object;
pub(crate) mod page;
pub(crate) mod status;
pub(crate) mod whole;
