//! Defines a slot: the right to make one call, with its intended start.

use nanopace::Nanos;
use std::time::Duration;

/// The right to make one call, with its intended start.
///
/// # Examples
///
/// ```
/// use nanopace_load::{Done, Failure, Load, Slot};
/// use std::time::Duration;
///
/// /// The slot's number determines the operation: here, every tenth operation is a write.
/// fn call(slot: Slot) -> Result<Done, Failure> {
///     if slot.wait_time() > Duration::from_secs(10) {
///         println!("due at {:?}, and far too late", slot.intended_start());
///     }
///     Ok(Done::new().label(if slot.number() % 10 == 0 { "write" } else { "read" }))
/// }
///
/// # fn main() -> Result<(), nanopace_load::LoadError> {
/// let report = Load::new("1k/s".parse()?).requests(100).run_blocking(call)?;
/// assert_eq!(report.labels().map(|calls| calls.completed()).sum::<u64>(), 100);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    pub(crate) number: u64,
    pub(crate) intended_start: Nanos,
    pub(crate) start: Nanos,
    pub(crate) is_recorded: bool,
    /// The slot's index in its thread's table of calls.
    pub(crate) place: usize,
}

impl Slot {
    /// The slot of a call outside any load.
    pub(crate) const ALONE: Slot = Slot {
        number: 0,
        intended_start: Nanos::ZERO,
        start: Nanos::ZERO,
        is_recorded: false,
        place: 0,
    };

    /// Returns the slot's number in the whole load, counted from 0. The number is the same in all shards and nodes of
    /// the load, so the data of an operation can be derived from it. The first slot of the warm-up has the number 0,
    /// and the first recorded slot follows the last slot of the warm-up. Skipped slots have numbers too. A slot that
    /// repeats a request of an earlier run (`--again`) has the number of that request's slot.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the intended start on the clock of the load's pacer.
    #[must_use]
    pub fn intended_start(&self) -> Nanos {
        self.intended_start
    }

    /// Returns the time from the intended start to the actual start of the call.
    #[must_use]
    pub fn wait_time(&self) -> Duration {
        self.start - self.intended_start
    }
}
