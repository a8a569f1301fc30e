#![doc = include_str!("../README.md")]

mod cluster;
mod engine;
mod not_judged;
mod port;
mod proxy;
mod ready;
mod server;
mod wire;

pub use cluster::Cluster;
pub use engine::Engine;
pub use not_judged::not_judged;
pub use proxy::{NewConnections, Proxy};
pub use server::{Options, Server};
