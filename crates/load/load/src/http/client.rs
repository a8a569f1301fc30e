//! The HTTP client: connections that carry one request at a time, over HTTP/1.1 or HTTP/2.
//!
//! HTTP/1.1 is our own: the task that has a request writes it and reads the answer, so a request needs no
//! second task, no wake-up between two and no memory of its own. HTTP/2 is hyper's. Names are resolved
//! once, before the run.

#![cfg_attr(not(feature = "http2"), expect(dead_code, reason = "some of it is for HTTP/2 alone"))]

pub(crate) mod addresses;
pub(crate) mod args;
pub(crate) mod connection;
pub(crate) mod content;
mod cookies;
pub(crate) mod endpoint;
pub(crate) mod environment;
pub(crate) mod failure;
pub(crate) mod filled;
mod form;
mod http1;
#[cfg_attr(not(feature = "http2"), path = "client/no_http2.rs")]
mod http2;
pub(crate) mod items;
pub(crate) mod kept;
pub(crate) mod kernel;
mod labels;
mod parts;
mod patience;
pub(crate) mod plan;
pub(crate) mod proxy;
mod requests;
pub(crate) mod session;
mod shared;
pub(crate) mod single;
#[cfg_attr(not(target_os = "linux"), path = "client/no_stamps.rs")]
mod stamped;
pub(crate) mod steps;
mod stream;
pub(crate) mod targets;
#[cfg(test)]
mod tests;
pub(crate) mod timed;
mod turns;
pub(crate) mod watch;
