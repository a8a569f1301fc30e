//! Shows the status, account and results of fleets.

pub(crate) mod account;
pub(crate) mod object;
pub(crate) mod page;
pub(crate) mod status;
mod whole;
