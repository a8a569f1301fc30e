//! Buckets and pools that a thread refills at fixed times (feature `pools`).
//!
//! All other limiters compute the number of tokens that have accrued since the last request. These buckets and pools
//! are refilled at the same moments for all callers, even without requests.

mod managed_pool;
pub(crate) mod pool_state;
mod refill_thread;
pub(crate) mod refilled_bucket;
mod token_pool;

pub use managed_pool::ManagedPool;
pub use pool_state::AcquireError;
pub use refilled_bucket::RefilledBucket;
pub use token_pool::TokenPool;
