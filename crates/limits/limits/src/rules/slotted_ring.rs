//! The rolling count in a ring of slots, with constant memory.

use super::windows::Windows;
use crate::rules::{last_to_leave, room_beside};
use crate::{Quota, QuotaError, Rejected, Rule};
use core::time::Duration;
use nanopace_nanos::Nanos;

/// The rolling count of events in `N` slots of time: the current slot and the `N` - 1 slots before it.
///
/// # Law
///
/// Slots are counted from the clock's origin. At a moment in slot s, the ring counts the events of the slots s - N + 1
/// to s. The result is never less than the exact count over N - 1 slots, and never more than the exact count over N
/// slots. A jump of N slots or more empties the ring. A moment before the latest one counts as the latest. Sums
/// saturate at 2^64 - 1.
///
/// # Cost
///
/// N + 6 words. Adding takes constant time on average, because each slot is emptied once.
///
/// # Source
///
/// The rolling number of Netflix's library Hystrix (`HystrixRollingNumber`), which also counts in buckets of time.
#[derive(Clone, Debug)]
pub struct RingCount<const N: usize> {
    slots: Windows,
    counts: [u64; N],
    newest: u64,
    total: u64,
}

impl<const N: usize> RingCount<N> {
    /// Creates an empty count with slots of length `slot`, from 1 ns to 2^63 - 1 ns.
    ///
    /// # Errors
    /// Returns [`QuotaError::Interval`] if `slot` is zero, and [`QuotaError::PeriodTooLong`] if `slot` is 2^63 ns or
    /// more.
    pub fn new(slot: Duration) -> Result<RingCount<N>, QuotaError> {
        match i64::try_from(slot.as_nanos()) {
            Ok(0) => Err(QuotaError::Interval),
            Ok(slot_ns) => Ok(RingCount::with(Windows::new(slot_ns.unsigned_abs()))),
            Err(_) => Err(QuotaError::PeriodTooLong),
        }
    }

    fn with(slots: Windows) -> RingCount<N> {
        const { assert!(N > 0, "a ring has at least one slot") };
        RingCount { slots, counts: [0; N], newest: 0, total: 0 }
    }

    /// Adds `n` events at `now` and returns the number of events within the ring.
    pub fn add(&mut self, now: Nanos, n: u64) -> u64 {
        self.advance(now);
        let n = n.min(u64::MAX - self.total);
        self.counts[place::<N>(self.newest)] += n;
        self.total += n;
        self.total
    }

    /// Drops the events of slots that have left the ring at `now`, and returns the number of the remaining events.
    pub fn advance(&mut self, now: Nanos) -> u64 {
        let slot = self.slots.number(now);
        let passed = slot.saturating_sub(self.newest);
        if passed >= N as u64 {
            self.counts = [0; N];
            self.total = 0;
        } else {
            for number in self.newest + 1..=self.newest + passed {
                self.total -= core::mem::take(&mut self.counts[place::<N>(number)]);
            }
        }
        self.newest += passed;
        self.total
    }

    /// Returns the result of the last call of [`add`](RingCount::add) or [`advance`](RingCount::advance).
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the number of events within the ring at `now`, if no event is added.
    #[must_use]
    pub fn total_at(&self, now: Nanos) -> u64 {
        let passed = self.slots.number(now).saturating_sub(self.newest);
        if passed >= N as u64 {
            return 0;
        }
        let left = (self.newest + 1..=self.newest + passed).map(place::<N>);
        self.total - left.map(|place| self.counts[place]).sum::<u64>()
    }

    fn falls_to(&self, most: u64) -> Nanos {
        let oldest = (self.newest + 1).saturating_sub(N as u64);
        let counts = (oldest..=self.newest).map(|number| (number, self.counts[place::<N>(number)]));
        let last = last_to_leave(counts, self.total, most).unwrap_or(self.newest);
        self.slots.start(last + N as u64)
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "less than N")]
fn place<const N: usize>(number: u64) -> usize {
    (number % N as u64) as usize
}

/// A limit on the rolling count in a ring of `N` slots. Memory is constant, whatever the limit.
///
/// # Law
///
/// Slots are counted from the clock's origin. A request for n is admitted if at most `count` - n were admitted during
/// the slot of its moment and the N - 1 slots before it. With slots of length w, at most `count` are admitted within
/// any span of (N - 1) w, both ends included. Every request that an exact log with a period of N w would admit is
/// admitted.
///
/// [`new`](SlottedRing::new) makes slots of period / N, as is usual, so the limit holds only in spans that are one slot
/// shorter than the period. For example, `300/s` in ten slots admits at most 300 requests within 0.9 s.
/// [`guarding`](SlottedRing::guarding) makes slots of period / (N - 1), so the limit holds in every period. With these
/// slots, a request may wait up to one slot longer than with an exact log.
///
/// # Cost
///
/// N + 6 words and a lock ([`Locked`](crate::Locked)). An admission takes constant time on average. A rejection
/// iterates over slots until the request fits.
///
/// The crate has no ring without a lock. In an experiment, such a ring had to read all slots for each decision, which
/// took 176 ns instead of 61 ns with ten slots, and 962 ns instead of 48 ns with 64. Requests that came at the same
/// moment could also reject each other, so that none of them was admitted.
///
/// # Source
///
/// The rolling number of Netflix's library Hystrix (`HystrixRollingNumber`), with a limit.
///
/// ```
/// use nanopace_nanos::Nanos;
/// use nanopace_limits::{TryAcquire, Locked, Rejected, SlottedRing};
/// use std::time::Duration;
///
/// let at = |millis| Nanos::ZERO + Duration::from_millis(millis);
/// let limiter = Locked::new(SlottedRing::<10>::new("300/s".parse()?));
/// assert_eq!(limiter.try_acquire_n_at(300, at(50)), Ok(()));
/// assert_eq!(limiter.try_acquire_at(at(950)), Err(Rejected::NotUntil(at(1_000))));
/// assert_eq!(limiter.try_acquire_at(at(1_000)), Ok(())); // 0.95 s later
///
/// let limiter = Locked::new(SlottedRing::<11>::guarding("300/s".parse()?));
/// assert_eq!(limiter.try_acquire_n_at(300, at(50)), Ok(()));
/// assert_eq!(limiter.try_acquire_at(at(1_050)), Err(Rejected::NotUntil(at(1_100))));
/// # Ok::<(), nanopace_limits::QuotaError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SlottedRing<const N: usize> {
    slots: Windows,
    limit: u64,
}

impl<const N: usize> SlottedRing<N> {
    /// Creates a ring with slots of `quota.period()` / N, rounded up to whole nanoseconds. `N` = 0 does not compile.
    #[must_use]
    pub fn new(quota: Quota) -> SlottedRing<N> {
        const { assert!(N > 0, "a ring has at least one slot") };
        SlottedRing::of(quota, N as u64)
    }

    /// Creates a ring with slots of `quota.period()` / (N - 1), rounded up to whole nanoseconds. The limit holds in
    /// every period. An `N` below 2 does not compile.
    #[must_use]
    pub fn guarding(quota: Quota) -> SlottedRing<N> {
        const { assert!(N > 1, "a ring that guards a period has at least two slots") };
        SlottedRing::of(quota, N as u64 - 1)
    }

    fn of(quota: Quota, parts: u64) -> SlottedRing<N> {
        SlottedRing { slots: Windows::new(quota.period_ns().div_ceil(parts)), limit: quota.count() }
    }
}

impl<const N: usize> Rule for SlottedRing<N> {
    type State = RingCount<N>;

    fn fresh(&self) -> RingCount<N> {
        RingCount::with(self.slots)
    }

    fn most(&self) -> u64 {
        self.limit
    }

    fn advance(&self, state: &mut RingCount<N>, now: Nanos) {
        state.advance(now);
    }

    fn peek(&self, state: &RingCount<N>, now: Nanos, n: u64) -> Result<(), Rejected> {
        let most = room_beside(n, self.limit)?;
        if n == 0 || state.total_at(now) <= most {
            return Ok(());
        }
        Err(Rejected::NotUntil(state.falls_to(most)))
    }

    fn debit(&self, state: &mut RingCount<N>, now: Nanos, n: u64) {
        state.add(now, n);
    }

    fn idle_from(&self, state: &RingCount<N>) -> Nanos {
        self.slots.start(state.newest + if state.total == 0 { 0 } else { N as u64 })
    }

    fn remaining(&self, state: &RingCount<N>, now: Nanos) -> u64 {
        self.limit.saturating_sub(state.total_at(now))
    }
}
