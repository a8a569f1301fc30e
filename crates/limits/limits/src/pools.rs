//! Buckets and pools that are refilled at fixed times, usually by a thread (feature `pools`).
//!
//! All other limiters need no refills: they compute at each request how much may be admitted. A refill comes at the
//! same moment for all callers.

mod managed_pool;
pub(crate) mod pool_state;
mod refill_thread;
pub(crate) mod refilled_bucket;
mod token_pool;

pub use managed_pool::ManagedPool;
pub use pool_state::AcquireError;
pub use refilled_bucket::RefilledBucket;
pub use token_pool::TokenPool;
