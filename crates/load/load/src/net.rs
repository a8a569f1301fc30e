//! What is needed to talk to servers over a network.

pub mod once;
#[cfg_attr(not(feature = "tls"), path = "net/no_tls.rs")]
pub mod tls;
pub mod trust;
pub mod url;
