#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod costs;
mod decision;
#[cfg(feature = "std")]
mod limiter;
mod limits;
#[cfg(feature = "pools")]
#[cfg_attr(docsrs, doc(cfg(feature = "pools")))]
pub mod pools;
mod quota;
mod rule;
mod rules;
mod shared;
#[cfg(all(test, feature = "pools", target_os = "linux", target_pointer_width = "64"))]
mod sizes;
mod sync;
#[cfg(feature = "std")]
mod text;
#[cfg(feature = "std")]
mod waiting;

pub use costs::Costs;
pub use decision::{CostsRejected, Decision, Rejected, Standing};
#[cfg(feature = "async")]
#[cfg_attr(docsrs, doc(cfg(feature = "async")))]
pub use limiter::AsyncLimiter;
#[cfg(feature = "std")]
pub use limiter::{Limiter, LimitsBuilder, Reservation};
pub use limits::{Limit, LimitKind, Limits, LimitsError};
pub use quota::{Quota, QuotaError};
pub use rule::Rule;
pub use rules::{
    AggregatedWindow, FixedWindow, Gcra, LeakyQueue, RingCount, RollingCount, SlidingCounter,
    SlidingLog, SlottedRing, TokenBucket,
};
pub use shared::{Atomic, TryAcquire};
#[cfg(feature = "std")]
pub use shared::{Clocked, Locked};
#[cfg(feature = "std")]
pub use waiting::{Wait, WaitError};

/// Building blocks for a limiter of your own, such as `Keyed` of `nanopace-keyed`.
///
/// [`Limits`] decide on a state ([`LimitsState`](custom::LimitsState)) that you keep wherever you like. A
/// [`WaitQueue`](custom::WaitQueue) and a [`Waitable`](custom::Waitable) add waiting in FIFO order.
pub mod custom {
    #[cfg(feature = "std")]
    pub use crate::limiter::Meter;
    pub use crate::limits::{LimitsState, Receipt};
    #[cfg(feature = "std")]
    pub use crate::waiting::{Step, WaitQueue, Waitable, Waiter};
}
