//! What is counted beside the ledger.

use std::time::Duration;

/// What a pacer's callers have done so far that the [`Ledger`](crate::Ledger) does not show.
/// Reading it takes no lock.
///
/// ```
/// use nanopace::{ManualClock, Pacer};
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let threshold = Duration::from_millis(5);
/// let pacer =
///     Pacer::builder("10/s".parse()?).sleep_threshold(threshold).clock(clock.clone()).build();
/// pacer.acquire()?; // slot 0, at 0 ms
/// clock.advance(Duration::from_millis(98));
/// pacer.acquire()?; // slot 1, 2 ms early
///
/// let counters = pacer.counters();
/// assert_eq!(counters.early_starts, 1);
/// assert_eq!(counters.spun, Duration::ZERO); // pauses sleep unless told otherwise
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Operations that started before their intended start. Each was early by less than the [sleep
    /// threshold](crate::PacerBuilder::sleep_threshold), so without a threshold there are none.
    pub early_starts: u64,
    /// How long callers have spun under [`Pause::Hybrid`](crate::Pause::Hybrid), added up over all
    /// of them.
    pub spun: Duration,
}
