#![doc = include_str!("../README.md")]

mod answer;
mod cost;
mod decide;
mod forwarded;
mod future;
mod key;
mod layer;
mod peer;
mod prefix;
mod rejection;
mod service;
mod verdict;

pub use answer::{Answer, OnlyGrpc, TextOrGrpc};
pub use cost::{Cost, One};
pub use decide::{ByKey, Decide, WithoutKey};
pub use forwarded::Forwarded;
pub use future::LimitFuture;
pub use key::KeyOf;
pub use layer::LimitLayer;
pub use peer::Peer;
pub use rejection::Rejection;
pub use service::{Fields, LimitService};
pub use verdict::Verdict;

pub use nanopace_keyed::{KeyRejected, Keyed};
pub use nanopace_limits::{Decision, Limiter, Limits, LimitsError};
