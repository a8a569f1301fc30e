//! The aggregated window: a sliding window of any length that stores one count per slot of time.

use crate::rules::{last_to_leave, room_beside};
use crate::{Quota, Rejected, Rule};
use alloc::collections::VecDeque;
use core::fmt;
use core::num::NonZeroU16;
use nanopace_nanos::Nanos;

/// A sliding window that stores one count per slot of time, so that windows of hours or days take little memory.
///
/// # Law
///
/// The period is divided into `slots` slots of equal width, rounded up to whole nanoseconds and aligned to the clock's
/// origin. A request counts as admitted at the last nanosecond of its slot, until one period has passed since then. So
///
/// * no more than the quota's count is admitted within any period, wherever it begins;
/// * a request is admitted whenever it fits together with the requests of the last period and one slot before that.
///
/// A request from before the newest slot counts in that slot. After the limiter has dropped a slot that stopped
/// counting at t, a request from before t counts as made at t.
///
/// # Cost
///
/// A lock ([`Locked`](crate::Locked)), 48 bytes, and 16 bytes for each slot in use, at most `slots` + 1 of them.
/// (Queues grow by doubling, so up to about twice as much memory is allocated.) A decision drops the slots that have
/// stopped counting. An admission takes one division. A rejection iterates over slots until the request fits.
///
/// # Source
///
/// The sliding window counters in N. Mahdi, "An alternative approach to rate limiting", the Figma blog, 2017: the log
/// of a sliding window, with its entries merged by time.
///
/// ```
/// use nanopace_nanos::Nanos;
/// use nanopace_limits::{AggregatedWindow, TryAcquire, Locked, Rejected};
/// use std::num::NonZeroU16;
///
/// let limiter = Locked::new(AggregatedWindow::new("10/h".parse()?, NonZeroU16::new(60).unwrap()));
/// let minute = |number: u64| Nanos::from_nanos(number * 60_000_000_000);
/// assert!(limiter.try_acquire_n_at(10, minute(0)).is_ok());
/// // They count as admitted at the end of minute 0, so they stop counting just before minute 61.
/// let rejected = Rejected::NotUntil(Nanos::from_nanos(minute(61).as_nanos() - 1));
/// assert_eq!(limiter.try_acquire_at(minute(30)), Err(rejected));
/// assert!(limiter.try_acquire_at(minute(61)).is_ok());
/// # Ok::<(), nanopace_limits::QuotaError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AggregatedWindow {
    quota: Quota,
    slots: NonZeroU16,
    /// The width of a slot in nanoseconds.
    width: u64,
}

/// The counts of an [`AggregatedWindow`].
#[derive(Clone, Default, PartialEq, Eq)]
pub struct AggregatedState {
    /// The slots in use, in ascending order of their indices.
    slots: VecDeque<Slot>,
    total: u64,
    /// The moment at which the latest of the dropped slots stopped counting, in nanoseconds.
    dropped_at: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Slot {
    index: u64,
    count: u64,
}

impl AggregatedWindow {
    /// Creates a rule that admits at most `quota.count()` requests in any `quota.period()`, counted in `slots` slots.
    #[must_use]
    pub fn new(quota: Quota, slots: NonZeroU16) -> AggregatedWindow {
        AggregatedWindow { quota, slots, width: quota.period_ns().div_ceil(u64::from(slots.get())) }
    }

    /// Returns the quota of this rule.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.quota
    }

    /// Returns the number of slots per period.
    #[must_use]
    pub fn slots(&self) -> NonZeroU16 {
        self.slots
    }

    fn end(&self, slot: Slot) -> u64 {
        (slot.index.saturating_add(1)).saturating_mul(self.width).saturating_sub(1)
    }

    fn leaves(&self, slot: Slot) -> u64 {
        self.end(slot).saturating_add(self.quota.period_ns())
    }

    fn total_at(&self, state: &AggregatedState, now: Nanos) -> u64 {
        let left = state.slots.iter().take_while(|&&slot| self.has_left(slot, now));
        state.total - left.map(|slot| slot.count).sum::<u64>()
    }

    fn has_left(&self, slot: Slot, now: Nanos) -> bool {
        self.leaves(slot) <= now.as_nanos()
    }

    /// Returns the counted requests, the oldest first, each with the latest moment at which it may have been admitted.
    pub(crate) fn let_in(
        &self,
        state: &AggregatedState,
        now: Nanos,
    ) -> impl Iterator<Item = (Nanos, u64)> {
        state
            .slots
            .iter()
            .map(move |&slot| (Nanos::from_nanos(self.end(slot)).min(now), slot.count))
    }

    pub(crate) fn newest(state: &AggregatedState) -> u64 {
        state.slots.back().map_or(0, |slot| slot.index)
    }

    /// Takes back up to `n` requests of the slot with this index, for a refund.
    pub(crate) fn take_back(state: &mut AggregatedState, index: u64, n: u64) {
        let Ok(place) = state.slots.binary_search_by_key(&index, |slot| slot.index) else {
            return;
        };
        let back = state.slots[place].count.min(n);
        state.slots[place].count -= back;
        state.total -= back;
        if state.slots[place].count == 0 {
            state.slots.remove(place);
        }
    }
}

impl Rule for AggregatedWindow {
    type State = AggregatedState;

    fn fresh(&self) -> AggregatedState {
        AggregatedState::default()
    }

    fn most(&self) -> u64 {
        self.quota.count()
    }

    fn advance(&self, state: &mut AggregatedState, now: Nanos) {
        while let Some(&oldest) = state.slots.front().filter(|&&slot| self.has_left(slot, now)) {
            state.total -= oldest.count;
            state.dropped_at = self.leaves(oldest);
            state.slots.pop_front();
        }
    }

    fn peek(&self, state: &AggregatedState, now: Nanos, n: u64) -> Result<(), Rejected> {
        let most = room_beside(n, self.quota.count())?;
        if n == 0 || self.total_at(state, now) <= most {
            return Ok(());
        }
        let counts = state.slots.iter().map(|&slot| (slot, slot.count));
        let last = last_to_leave(counts, state.total, most)
            .expect("the slots' counts add up to the total");
        Err(Rejected::NotUntil(Nanos::from_nanos(self.leaves(last))))
    }

    fn debit(&self, state: &mut AggregatedState, now: Nanos, n: u64) {
        let index = now.as_nanos().max(state.dropped_at) / self.width;
        // Other limits may have admitted more requests than the total can count.
        let n = n.min(u64::MAX - state.total);
        state.total += n;
        match state.slots.back_mut() {
            Some(newest) if newest.index >= index => newest.count += n,
            _ if n > 0 => state.slots.push_back(Slot { index, count: n }),
            _ => (),
        }
    }

    fn idle_from(&self, state: &AggregatedState) -> Nanos {
        let newest = state.slots.back();
        Nanos::from_nanos(newest.map_or(state.dropped_at, |&newest| self.leaves(newest)))
    }

    fn remaining(&self, state: &AggregatedState, now: Nanos) -> u64 {
        self.quota.count().saturating_sub(self.total_at(state, now))
    }
}

impl fmt::Debug for AggregatedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.slots.iter().map(|slot| (slot.index, slot.count))).finish()
    }
}
