#![doc = include_str!("../README.md")]

mod cluster;
mod not_judged;
mod port;
mod product;
mod proxy;
mod ready;
mod server;
mod wire;

pub use cluster::Cluster;
pub use not_judged::{Machine, assert_unless_busy, not_judged, watched};
pub use product::Product;
pub use proxy::{NewConnections, Proxy};
pub use server::{Options, Server};
