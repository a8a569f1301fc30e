//! The HTTP client: hyper's connections, each driven by the task that sends requests on it.
//!
//! A connection carries one request at a time, over HTTP/1.1 or HTTP/2. With HTTP/1.1 the task
//! polls the connection and the answer together, so a request needs no second task and no wake-up
//! between two. Names are resolved once, before the run.

pub(crate) mod args;
pub(crate) mod connection;
pub(crate) mod endpoint;
pub(crate) mod failure;
mod labels;
pub(crate) mod plan;
pub(crate) mod proxy;
mod requests;
pub(crate) mod session;
mod stream;
pub(crate) mod targets;
#[cfg(test)]
mod tests;
