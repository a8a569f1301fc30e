#![doc = include_str!("../README.md")]

mod aggregated_window;
mod atomic;
mod fixed_window;
mod flow;
mod gcra;
mod leaky_meter;
mod leaky_queue;

mod managed_pool;
mod pool_state;
mod quota;
mod refill_thread;
mod refilled_bucket;
mod rejected;
mod ring_count;
mod rolling_count;
mod rule;
mod shared;
#[cfg(all(test, target_os = "linux", target_pointer_width = "64"))]
mod sizes;
mod sliding_counter;
mod sliding_log;
mod sync;
mod token_bucket;
mod token_pool;
mod virtual_schedule;
mod window_counts;
mod windows;

pub use aggregated_window::{AggregatedState, AggregatedWindow};
pub use atomic::Atomic;
pub use fixed_window::FixedWindow;
pub use gcra::{Cooldown, Gcra};
pub use leaky_meter::LeakyMeter;
pub use leaky_queue::LeakyQueue;
pub use managed_pool::ManagedPool;
pub use pool_state::AcquireError;
pub use quota::{Quota, QuotaError};
pub use refilled_bucket::RefilledBucket;
pub use rejected::Rejected;
pub use ring_count::{RingCount, SlottedRing};
pub use rolling_count::RollingCount;
pub use rule::Rule;
pub use shared::{Clocked, Locked, TryAcquire};
pub use sliding_counter::SlidingCounter;
pub use sliding_log::SlidingLog;
pub use token_bucket::TokenBucket;
pub use token_pool::TokenPool;
