#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod answer;
mod by_key;
mod cost;
mod decide;
mod forwarded;
mod future;
mod key;
mod layer;
mod peer;
mod prefix;
mod rejection;
#[cfg(feature = "remote")]
mod remote;
mod rules;
mod service;
mod verdict;

pub use answer::{Answer, OnlyGrpc, TextOrGrpc};
pub use by_key::{ByKey, DecideKey, LimitsByKey, WithoutKey};
pub use cost::{Cost, One};
pub use decide::{Decide, Decided, Deciding};
pub use forwarded::Forwarded;
pub use future::LimitFuture;
pub use key::KeyOf;
pub use layer::LimitLayer;
pub use peer::Peer;
pub use rejection::Rejection;
pub use rules::Fields;
pub use service::LimitService;
pub use verdict::Verdict;

pub use nanopace_keyed::{KeyRejected, Keyed};
pub use nanopace_limits::{Decision, Limiter, Limits, LimitsError};
#[cfg(feature = "remote")]
#[cfg_attr(docsrs, doc(cfg(feature = "remote")))]
pub use nanopace_remote::{AsyncRemoteKeyed, RemoteRejected};
