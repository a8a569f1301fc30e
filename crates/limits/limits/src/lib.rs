#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod admit;
mod aggregated_window;
#[cfg(feature = "serde")]
mod as_text;
mod atomic;
#[cfg(feature = "std")]
mod builder;
mod costs;
mod counts;
mod fixed_window;
#[cfg(feature = "std")]
mod foresight;
mod gcra;
mod leaky_queue;
mod limit;
#[cfg(feature = "std")]
mod limiter;
mod limits;
mod limits_state;
#[cfg(feature = "std")]
mod line;
#[cfg(feature = "std")]
mod meter;
#[cfg(feature = "std")]
mod open_word;
#[cfg(feature = "pools")]
#[cfg_attr(docsrs, doc(cfg(feature = "pools")))]
pub mod pools;
mod portable;
mod quota;
mod receipt;
mod rejected;
mod replaced;
#[cfg(feature = "std")]
mod reservation;
mod ring_count;
mod rolling_count;
mod rule;
#[cfg(feature = "std")]
mod shared;
#[cfg(all(test, feature = "pools", target_os = "linux", target_pointer_width = "64"))]
mod sizes;
mod sliding_counter;
mod sliding_log;
mod standing;
mod sync;
#[cfg(feature = "async")]
mod tasks;
#[cfg(feature = "std")]
mod text;
mod token_bucket;
mod try_acquire;
#[cfg(feature = "std")]
mod turns;
mod virtual_schedule;
#[cfg(feature = "std")]
mod wait;
#[cfg(feature = "std")]
mod waiter;
#[cfg(feature = "std")]
mod waiting;
mod windows;

pub use aggregated_window::AggregatedWindow;
pub use atomic::Atomic;
#[cfg(feature = "std")]
pub use builder::LimitsBuilder;
pub use costs::Costs;
pub use fixed_window::FixedWindow;
pub use gcra::Gcra;
pub use leaky_queue::LeakyQueue;
pub use limit::{Limit, LimitsError};
#[cfg(feature = "std")]
pub use limiter::Limiter;
pub use limits::Limits;
pub use quota::{Quota, QuotaError};
pub use rejected::{CostsRejected, Rejected};
#[cfg(feature = "std")]
pub use reservation::Reservation;
pub use ring_count::SlottedRing;
pub use rolling_count::RollingCount;
pub use rule::Rule;
#[cfg(feature = "std")]
pub use shared::{Clocked, Locked};
pub use sliding_counter::SlidingCounter;
pub use sliding_log::SlidingLog;
pub use standing::{Decision, Standing};
#[cfg(feature = "async")]
#[cfg_attr(docsrs, doc(cfg(feature = "async")))]
pub use tasks::AsyncLimiter;
pub use token_bucket::TokenBucket;
pub use try_acquire::TryAcquire;
#[cfg(feature = "std")]
pub use wait::{Wait, WaitError};

/// What `nanopace-keyed` and `nanopace-remote` are made of: states of limits, the line of those who
/// wait, laws in doubles. It is outside of what semantic versions promise, and so are the
/// hidden methods that take or return any of it.
#[doc(hidden)]
pub mod internal {
    pub use crate::aggregated_window::AggregatedState;
    pub use crate::counts::Counts;
    pub use crate::limit::Kind;
    pub use crate::limits_state::LimitsState;
    #[cfg(feature = "std")]
    pub use crate::line::Line;
    #[cfg(feature = "std")]
    pub use crate::meter::Meter;
    pub use crate::portable::Numbers;
    pub use crate::receipt::Receipt;
    pub use crate::ring_count::RingCount;
    #[cfg(feature = "async")]
    pub use crate::tasks::wait_in_task;
    #[cfg(feature = "std")]
    pub use crate::wait::Refusal;
    #[cfg(feature = "std")]
    pub use crate::waiter::{Gate, Step, Waiter};
}

#[cfg(feature = "async")]
use internal::Step;
use internal::{AggregatedState, LimitsState};
#[cfg(feature = "std")]
use internal::{Gate, Line, Meter, Receipt, Refusal, Waiter};
