#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod address;
mod answer;
mod by_key;
mod decide;
mod layer;
mod rejection;
mod service;
mod verdict;

pub use address::{Forwarded, Peer};
pub use answer::{Answer, OnlyGrpc, TextOrGrpc};
pub use by_key::{ByKey, DecideKey, KeyOf, LimitsByKey, WithoutKey};
pub use decide::{Cost, Decide, Decided, Deciding, One};
pub use layer::LimitLayer;
pub use rejection::Rejection;
pub use service::{Fields, LimitFuture, LimitService};
pub use verdict::Verdict;

pub use nanopace_keyed::{KeyRejected, Keyed};
pub use nanopace_limits::{Decision, Limiter, Limits, LimitsError};
#[cfg(feature = "remote")]
#[cfg_attr(docsrs, doc(cfg(feature = "remote")))]
pub use nanopace_remote::{AsyncRemoteKeyed, RemoteRejected};
