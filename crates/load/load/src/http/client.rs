//! Implements the HTTP client, which sends requests over HTTP/1.1 or HTTP/2.
//!
//! The client has its own implementation of HTTP/1.1. The task that writes a request also reads the response, so a call
//! needs no second task and no wake-up between tasks, and usually no allocation. For HTTP/2, the client uses hyper.
//! Host names are resolved once, before the run.

#![cfg_attr(not(feature = "http2"), expect(dead_code, reason = "only HTTP/2 uses some items"))]

pub(crate) mod args;
mod auth;
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
