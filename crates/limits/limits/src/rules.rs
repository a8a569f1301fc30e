//! The limiter algorithms, one per file, and the functions that they share. A rule that can be written as a string is
//! also a variant of `LimitKind` in `limits/limit.rs`, and its keyword is in `text.rs`.

mod aggregated_window;
mod fixed_window;
mod gcra;
mod leaky_queue;
mod rolling_count;
mod sliding_counter;
mod sliding_log;
mod slotted_ring;
mod token_bucket;
mod virtual_schedule;
mod windows;

pub(crate) use aggregated_window::AggregatedState;
pub use aggregated_window::AggregatedWindow;
pub use fixed_window::FixedWindow;
pub use gcra::Gcra;
pub use leaky_queue::LeakyQueue;
pub use rolling_count::RollingCount;
pub use sliding_counter::SlidingCounter;
pub use sliding_log::SlidingLog;
pub use slotted_ring::{RingCount, SlottedRing};
pub use token_bucket::TokenBucket;
pub(crate) use virtual_schedule::{double, whole};
pub(crate) use windows::Counts;

use crate::Rejected;

/// Returns the largest count at which `n` more requests still fit into `capacity`.
#[inline]
pub(crate) fn room_beside(n: u64, capacity: u64) -> Result<u64, Rejected> {
    capacity.checked_sub(n).ok_or(Rejected::ExceedsCapacity { capacity })
}

/// Returns the last entry to remove if `entries` are removed in order, oldest first, until at most `most` of the
/// `total` count remains. There is such an entry if `most` is less than the total.
#[inline]
pub(crate) fn last_to_leave<T>(
    entries: impl IntoIterator<Item = (T, u64)>,
    total: u64,
    most: u64,
) -> Option<T> {
    let mut left = total;
    for (entry, count) in entries {
        left -= count;
        if left <= most {
            return Some(entry);
        }
    }
    None
}
