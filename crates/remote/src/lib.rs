#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod breaker;
mod builder;
mod core;
mod decide;
mod error;
mod keyed;
mod lease;
mod loss;
mod plan;
mod record;
mod remote;
mod script;
mod settings;
mod share;
mod stats;
mod store;
mod sweep;

pub use builder::RemoteBuilder;

pub use error::{RemoteError, RemoteRejected, StoreError, UnsupportedLimit};
pub use keyed::RemoteKeyed;
pub use loss::OnLoss;
pub use nanopace_keyed::{Costs, Decision, Limits, LimitsError, Rejected};
pub use remote::Remote;
pub use settings::Settings;
pub use stats::Stats;
