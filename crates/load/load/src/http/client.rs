//! Implements the HTTP client. Each connection carries one request at a time, over HTTP/1.1 or HTTP/2.
//!
//! HTTP/1.1 is implemented here: one task writes the request and reads its response. This needs no second task, no
//! wake-up between tasks and no allocation. HTTP/2 uses hyper. Host names are resolved once, before the run.

#![cfg_attr(not(feature = "http2"), expect(dead_code, reason = "some of it is for HTTP/2 alone"))]

pub(crate) mod args;
mod connection;
mod cookies;
pub(crate) mod failure;
mod labels;
pub(crate) mod plan;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod session;
pub(crate) mod single_request;
pub(crate) mod steps;
#[cfg(test)]
mod tests;
pub(crate) mod transport;
