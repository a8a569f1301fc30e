#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;

mod aggregated_window;
#[cfg(feature = "serde")]
mod as_text;
mod atomic;
mod builder;
mod costs;
mod fixed_window;
mod flow;
mod gcra;
mod leaky_meter;
mod leaky_queue;
mod limit;
mod limiter;
mod limits;
mod limits_state;
mod limits_text;
mod line;
mod managed_pool;
mod meter;
mod pool_state;
mod quota;
mod refill_thread;
mod refilled_bucket;
mod rejected;
mod replaced;
mod ring_count;
mod rolling_count;
mod rule;
mod shared;
#[cfg(all(test, target_os = "linux", target_pointer_width = "64"))]
mod sizes;
mod sliding_counter;
mod sliding_log;
mod standing;
mod sync;
#[cfg(feature = "async")]
mod tasks;
mod token_bucket;
mod token_pool;
mod virtual_schedule;
mod wait;
mod window_counts;
mod windows;

pub use aggregated_window::{AggregatedState, AggregatedWindow};
pub use atomic::Atomic;
pub use builder::LimitsBuilder;
pub use costs::Costs;
pub use fixed_window::FixedWindow;
pub use gcra::{Cooldown, Gcra};
pub use leaky_meter::LeakyMeter;
pub use leaky_queue::LeakyQueue;
pub use limit::{Limit, LimitsError};
pub use limiter::{Limiter, Reservation};
pub use limits::{Limits, Receipt};
pub use limits_state::LimitsState;
pub use line::{Line, Ticket};
pub use managed_pool::ManagedPool;
pub use meter::Meter;
pub use pool_state::AcquireError;
pub use quota::{Quota, QuotaError};
pub use refilled_bucket::RefilledBucket;
pub use rejected::{CostsRejected, Rejected};
pub use ring_count::{RingCount, SlottedRing};
pub use rolling_count::RollingCount;
pub use rule::Rule;
pub use shared::{Clocked, Locked, TryAcquire};
pub use sliding_counter::SlidingCounter;
pub use sliding_log::SlidingLog;
pub use standing::{Decision, Standing};
#[cfg(feature = "async")]
#[cfg_attr(docsrs, doc(cfg(feature = "async")))]
pub use tasks::{AsyncLimiter, wait_in_task};
pub use token_bucket::TokenBucket;
pub use token_pool::TokenPool;
pub use wait::{Refusal, Step, Wait, WaitError, Waiter};
