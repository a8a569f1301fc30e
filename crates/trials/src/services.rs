//! Redis and Valkey servers as child processes, and a [`Proxy`] in
//! front of them that makes the connection worse.
//!
//! ```no_run
//! use nanopace_trials::services::{Engine, Proxy, Server};
//! use std::time::Duration;
//!
//! for engine in Engine::ALL {
//!     let server = Server::start(engine)?;
//!     let proxy = Proxy::start(server.address())?;
//!     proxy.delay(Duration::from_millis(5));
//!     println!("{engine} at {}, and slower at {}", server.url(), proxy.url());
//! }
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Everything is on loopback, and ends when it is dropped, also when a test panics.

mod cluster;
mod engine;
mod port;
mod proxy;
mod ready;
mod server;
mod wire;

pub use cluster::Cluster;
pub use engine::Engine;
pub use proxy::{NewConnections, Proxy};
pub use server::{Options, Server};
