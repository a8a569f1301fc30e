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

/// Building blocks for a limiter of your own. `Keyed` of `nanopace-keyed` is built from them.
///
/// [`Limits`] make the decisions. You can store their state ([`LimitsState`](custom::LimitsState)) anywhere. A
/// [`Receipt`](custom::Receipt) of a request allows you to refund the request or to correct its cost. A `WaitQueue` and
/// a `Waitable` add a FIFO queue.
///
/// ```
/// use nanopace_limits::{Limits, Rule};
/// use nanopace_nanos::Nanos;
/// use std::sync::Arc;
///
/// let limits: Arc<Limits> = Arc::new("10/s burst 20".parse()?);
/// let (mut state, now) = (limits.fresh(), Nanos::ZERO);
/// let receipt = limits.reserve(&mut state, now, 15)?;
/// limits.settle(&mut state, now, &receipt, 5); // it has cost less
/// assert_eq!(limits.remaining(&state, now), 15);
///
/// let new: Limits = "10/s burst 8".parse()?;
/// let state = new.carry_over(&limits, &state, now); // the five still count
/// assert_eq!(new.remaining(&state, now), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub mod custom {
    #[cfg(feature = "std")]
    pub use crate::limiter::Meter;
    pub use crate::limits::{LimitsState, Receipt};
    #[cfg(feature = "std")]
    pub use crate::waiting::{Step, WaitQueue, Waitable, Waiter};
}
