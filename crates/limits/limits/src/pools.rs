//! Buckets and pools that a thread refills on time (feature `pools`).
//!
//! All other limiters compute what has come since the last request. These are refilled at the same moments
//! for all callers, whether anybody asks or not.

mod managed_pool;
pub(crate) mod pool_state;
mod refill_thread;
pub(crate) mod refilled_bucket;
mod token_pool;

pub use managed_pool::ManagedPool;
pub use pool_state::AcquireError;
pub use refilled_bucket::RefilledBucket;
pub use token_pool::TokenPool;
