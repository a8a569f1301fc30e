//! What is needed to talk to servers over a network.

pub mod tls;
pub mod url;
