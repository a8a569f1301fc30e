//! Defines leases: ranges of a load, with the slots of each range that belong to a process.

use crate::Shard;

/// A range of slots of a load, and this process's share of the range, for
/// [`Drive::lease`](crate::driver::Drive::lease).
///
/// The range begins where the previous lease in the list ends. The range of the first lease begins at the slot that is
/// passed to [`Drive::lease`](crate::driver::Drive::lease), or that
/// [`Drive::lease_rest`](crate::driver::Drive::lease_rest) returns.
///
/// ```
/// use nanopace::driver::{Drive, Lease, leased};
/// use nanopace::{ManualClock, Pacer, Rate, Refused, Shard};
///
/// let builder = leased(Pacer::builder(Rate::per_second(1_000)?));
/// let pacer = builder.clock(ManualClock::jumping()).build();
/// assert!(matches!(pacer.try_acquire(), Err(Refused::NotUntil(_)))); // nothing is leased yet
///
/// // Up to slot 10 every fourth slot, then up to slot 20 nothing, then up to slot 30 two in four.
/// let (fourth, two) = (Shard::new(3, 4)?, Shard::of(4, &[0, 1])?);
/// pacer.lease(0, &[Lease::of(fourth, 10), Lease::nothing(20), Lease::of(two, 30)])?;
/// let started = pacer.now();
/// let ms = |grant: nanopace::Grant| (grant.intended_start() - started).as_millis();
/// let starts: Result<Vec<_>, _> = (0..7).map(|_| pacer.acquire().map(ms)).collect();
/// assert_eq!(starts?, [3, 7, 20, 21, 24, 25, 28]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub(crate) until: u64,
    pub(crate) shard: Option<Shard>,
}

impl Lease {
    /// Leases the slots of `shard` up to the slot with the number `until` in the whole load. Slot `until` is not
    /// included.
    #[must_use]
    pub fn of(shard: Shard, until: u64) -> Lease {
        Lease { until, shard: Some(shard) }
    }

    /// Leases no slot up to the slot with the number `until` in the whole load.
    #[must_use]
    pub fn nothing(until: u64) -> Lease {
        Lease { until, shard: None }
    }
}
