//! Reads URLs, checks header fields, and sets up TLS for connections to servers.

pub(crate) mod once;
#[cfg_attr(not(feature = "tls"), path = "net/no_tls.rs")]
pub(crate) mod tls;
pub(crate) mod trust;
pub(crate) mod url;
