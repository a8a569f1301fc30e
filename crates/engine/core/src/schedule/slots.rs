//! Finds the count at which each slot of this process lies, in two steps: from the slot's number among the process's
//! own slots (`own`) to its number in the whole load (`slot`, by [`Shard`]), and from that number to a count (by
//! [`Arrivals`]).
//!
//! A position between two slots lies between their counts, in proportion. A position's count is rounded up, and a
//! count's position is rounded down, so `count_of(p) <= c` is equivalent to `p <= position_by(c)`.

use crate::arrivals::{Arrivals, Process};
use crate::count::{Count, ONE};
use crate::lease::Lease;
use crate::position::{REACH, SLOT, after, before, ticks_between};
use crate::shard::Shard;

const TICK_BITS: u32 = SLOT.trailing_zeros();

#[derive(Clone, Copy, Debug)]
pub(crate) struct Even {
    /// The number of evenly spaced slots after the first one.
    pub(super) more: u64,
    pub(super) slot: u64,
    pub(super) stride: u64,
}

/// The number of most recent stripes that are always kept. Callers that are about to start may have slots on them
/// without being registered as holders. (With a new stripe every 20 ms, these stripes cover the last 20 s.)
const STRIPES_KEPT: usize = 1024;

#[derive(Debug)]
pub(crate) struct Slots {
    /// `None` if slot n of the load lies at the count n.
    arrivals: Option<Box<Process>>,
    /// The slots of this process, in order. All slots before the first stripe are this process's, or were dropped. The
    /// last stripe may be *open*: it is not known yet which of its slots are this process's.
    stripes: Vec<Stripe>,
    /// The position and the own number of one slot of this process. All other slots are counted from that slot.
    counted: (u64, u64),
}

#[derive(Debug)]
struct Stripe {
    own_from: u64,
    from: u64,
    /// `None` if the process has no slot of the stripe, or if the stripe is open.
    shard: Option<Shard>,
}

impl Stripe {
    #[inline]
    fn slot_of(&self, own: u64) -> Option<u64> {
        let shard = self.shard.as_ref()?;
        Some(shard.global(shard.locals_before(self.from).saturating_add(own - self.own_from)))
    }

    fn own_before(&self, slot: u64) -> u64 {
        let more = |shard: &Shard| shard.locals_before(slot) - shard.locals_before(self.from);
        self.own_from.saturating_add(self.shard.as_ref().map_or(0, more))
    }

    fn share_of(&self, count: Count) -> Count {
        let more = count - Count::from(self.from) * ONE;
        Count::from(self.own_from) * ONE
            + self.shard.as_ref().map_or(0, |shard| shard.part_of(more))
    }
}

impl Slots {
    pub(crate) fn new(arrivals: &Arrivals, shard: Shard) -> Slots {
        let arrivals = (!arrivals.is_even()).then(|| Box::new(arrivals.process()));
        let stripe =
            (!shard.is_whole()).then_some(Stripe { own_from: 0, from: 0, shard: Some(shard) });
        Slots { arrivals, stripes: stripe.into_iter().collect(), counted: (0, 0) }
    }

    pub(crate) fn leased(self) -> Slots {
        Slots { stripes: vec![Stripe { own_from: 0, from: 0, shard: None }], ..self }
    }

    /// Returns whether slot n of the process lies at the load's count n, so that a constant rate is a straight line.
    pub(crate) fn is_plain(&self) -> bool {
        self.arrivals.is_none() && self.stripes.is_empty()
    }

    pub(crate) fn has_arrivals(&self) -> bool {
        self.arrivals.is_some()
    }

    /// Returns `None` if the slots are not evenly spaced, or not known.
    pub(crate) fn even_from(&self, position: u64) -> Option<Even> {
        let own = self.own_at(position).unwrap_or(0);
        let index = self.stripes.iter().rposition(|stripe| stripe.own_from <= own);
        let next = self.stripes.get(index.map_or(0, |index| index + 1));
        let last = next.map_or(u64::MAX, |next| next.own_from - 1);
        let stride_of = |index: usize| self.stripes[index].shard.as_ref().and_then(Shard::stride);
        let stride = index.map_or(Some(1), stride_of).filter(|_| self.arrivals.is_none())?;
        Some(Even { more: last - own, slot: self.slot_of(own)?, stride })
    }

    pub(crate) fn share_from(&self, position: u64) -> f64 {
        let stripe = self.stripe_of(self.own_at(position).unwrap_or(0));
        stripe.and_then(|stripe| stripe.shard.as_ref()).map_or(1.0, Shard::share)
    }

    pub(crate) fn count_claimed(&mut self, next: u64, claimed: u64) {
        self.counted = (next, claimed);
    }

    /// Returns false, and changes nothing, if the process has a slot with the number `from` or a higher one before the
    /// position `next`: that slot may have started.
    pub(crate) fn set_shard(&mut self, shard: Shard, from: u64, next: u64) -> bool {
        let own_from = self.own_before(from);
        let is_ahead = self.own_at(next).is_none_or(|next| next <= own_from);
        if is_ahead {
            self.stripes.retain(|stripe| stripe.from < from);
            self.stripes.push(Stripe { own_from, from, shard: Some(shard) });
        }
        is_ahead
    }

    /// Returns false, and changes nothing, if the process has a slot with the number `from` or a higher one before the
    /// position `unstarted`: that slot may have started. An open stripe follows the leases.
    pub(crate) fn lease(&mut self, from: u64, leases: &[Lease], unstarted: u64) -> bool {
        let own_from = self.own_before(from);
        if self.own_at(unstarted).is_some_and(|unstarted| unstarted > own_from) {
            return false;
        }
        self.stripes.retain(|stripe| stripe.from < from);
        let mut at = from;
        for lease in leases {
            if lease.until > at {
                self.extend(at, lease.shard.clone());
                at = lease.until;
            }
        }
        // There is always an open stripe, even if the last lease is empty.
        self.stripes.push(Stripe { own_from: self.own_before(at), from: at, shard: None });
        true
    }

    /// Slots before the position `unstarted` may have started. Returns the end of the leases if no slot is left.
    pub(crate) fn first_leasable(&self, unstarted: u64) -> u64 {
        let own = self.own_at(unstarted).unwrap_or(0);
        let leases_end = || self.stripes.last().map_or(own, |open| open.from);
        self.slot_of(own).unwrap_or_else(leases_end)
    }

    fn extend(&mut self, from: u64, shard: Option<Shard>) {
        if self.stripes.last().is_none_or(|last| last.shard != shard) {
            self.stripes.push(Stripe { own_from: self.own_before(from), from, shard });
        }
    }

    pub(crate) fn is_known_until(&self, count: Count) -> bool {
        let open = self.stripes.last().filter(|stripe| stripe.shard.is_none());
        let is_read = self.arrivals.as_ref().is_none_or(|arrivals| arrivals.is_known_until(count));
        is_read && open.is_none_or(|open| self.slots_by(count) <= open.from)
    }

    /// There is no slot after the last one of a recording, or after leases that end at `u64::MAX`.
    pub(crate) fn has(&self, position: u64) -> bool {
        let Some(slot) = self.slot_of(self.own_at(position).unwrap_or(0)) else {
            return self.stripes.last().is_some_and(|open| open.from < u64::MAX);
        };
        let limited = self.arrivals.as_ref().filter(|arrivals| !arrivals.is_endless());
        limited.is_none_or(|arrivals| arrivals.count_of(slot).is_some())
    }

    #[inline]
    pub(crate) fn count_of(&self, position: u64) -> Count {
        let (own, part) = (self.own_at(position), position % SLOT);
        if self.is_plain() {
            let part = Count::from(part) << (ONE.trailing_zeros() - TICK_BITS);
            return own.map_or(0, |own| Count::from(own) * ONE + part);
        }
        let here = own.map_or(0, |own| self.count_of_own(own));
        if part == 0 || here == Count::MAX {
            return here;
        }
        let next = self.own_at(after(position, 1)).map_or(0, |next| self.count_of_own(next));
        // The gap times part / SLOT is added, rounded up. Multiples of SLOT are separate, so that nothing overflows.
        here + ((next - here) >> TICK_BITS) * Count::from(part)
            + (((next - here) % Count::from(SLOT)) * Count::from(part)).div_ceil(SLOT.into())
    }

    pub(crate) fn position_by(&self, count: Count) -> u64 {
        if self.is_plain() {
            let part = (count % ONE) >> (ONE.trailing_zeros() - TICK_BITS);
            return self.position_of(whole(count / ONE)).wrapping_add(whole(part));
        }
        // `next` is the first slot after `count`, and `here` is the count of the slot before it.
        let next = self.own_by(count);
        let here = next.checked_sub(1).map_or(0, |last| self.count_of_own(last));
        let gap = self.count_of_own(next).saturating_sub(here).max(1);
        let part = parts(count.saturating_sub(here), gap);
        before(self.position_of(next)).wrapping_add(part)
    }

    pub(crate) fn own_by(&self, count: Count) -> u64 {
        self.own_before(self.slots_by(count))
    }

    /// Returns this process's share of the load's slots up to `count`, as if all slots were evenly spaced.
    pub(crate) fn share_of(&self, count: Count) -> Count {
        let begun = |stripe: &Stripe| Count::from(stripe.from) * ONE <= count;
        let (stripe, next) = self.stripe_and_next(begun);
        let share = stripe.map_or(count, |stripe| stripe.share_of(count));
        next.map_or(share, |next| share.min(Count::from(next.own_from) * ONE))
    }

    pub(crate) fn is_recorded(&self) -> bool {
        self.arrivals.as_ref().is_some_and(|arrivals| !arrivals.is_endless())
    }

    /// Drops old stripes on which no caller holds a slot. All slots before `free` are claimed.
    pub(crate) fn trim(&mut self, free: u64, is_held: impl Fn(u64, u64) -> bool) {
        let own = self.own_at(free).unwrap_or(0);
        let past = self.stripes.partition_point(|stripe| stripe.own_from <= own);
        for index in (0..past.saturating_sub(STRIPES_KEPT)).rev() {
            let [from, end] =
                [index, index + 1].map(|at| self.position_of(self.stripes[at].own_from));
            if !is_held(from, before(end)) {
                self.stripes.remove(index);
            }
        }
    }

    pub(crate) fn remembers_many_before(&self, position: u64) -> bool {
        let arrivals = self.arrivals.as_ref().zip(self.slot(position));
        arrivals.is_some_and(|(arrivals, slot)| arrivals.remembers_many_before(slot))
    }

    /// If the result is true, the end has to be computed again.
    pub(crate) fn read_ahead(&self, position: u64) -> bool {
        let arrivals = self.arrivals.as_ref().zip(self.slot(position));
        arrivals.is_some_and(|(arrivals, slot)| arrivals.read_ahead(slot))
    }

    pub(crate) fn forget_before(&self, position: u64) {
        if let Some((arrivals, slot)) = self.arrivals.as_ref().zip(self.slot(position)) {
            arrivals.forget_before(slot);
        }
    }

    /// Returns `None` before the first slot, and for a slot that is not leased.
    #[inline]
    pub(crate) fn slot(&self, position: u64) -> Option<u64> {
        self.own_at(position).and_then(|own| self.slot_of(own))
    }

    /// Returns the own number of the last slot at or before `position`, or `None` before the first slot.
    #[inline]
    pub(crate) fn own_at(&self, position: u64) -> Option<u64> {
        let (at, own) = self.counted;
        own.checked_add_signed(ticks_between(at, position) >> TICK_BITS)
    }

    /// Returns the position of the slot with this own number, or of the nearest slot within reach.
    fn position_of(&self, own: u64) -> u64 {
        let (at, counted) = self.counted;
        let reach = REACH.unsigned_abs() / SLOT;
        let own = own.clamp(counted.saturating_sub(reach), counted.saturating_add(reach));
        after(at, own.wrapping_sub(counted))
    }

    /// Returns [`Count::MAX`] if the slot never comes or is not known yet.
    #[inline]
    fn count_of_own(&self, own: u64) -> Count {
        let count = self.slot_of(own).and_then(|slot| match &self.arrivals {
            Some(arrivals) => arrivals.count_of(slot),
            None => Some(Count::from(slot) * ONE),
        });
        count.unwrap_or(Count::MAX)
    }

    fn slots_by(&self, count: Count) -> u64 {
        match &self.arrivals {
            Some(arrivals) => arrivals.slots_by(count),
            None => whole(count / ONE).saturating_add(1),
        }
    }

    fn slot_of(&self, own: u64) -> Option<u64> {
        self.stripe_of(own).map_or(Some(own), |stripe| stripe.slot_of(own))
    }

    fn stripe_of(&self, own: u64) -> Option<&Stripe> {
        self.stripes.iter().rfind(|stripe| stripe.own_from <= own)
    }

    /// If stripes were dropped, the result is at most the `own_from` of the next stripe.
    fn own_before(&self, slot: u64) -> u64 {
        let (stripe, next) = self.stripe_and_next(|stripe| stripe.from <= slot);
        let own = stripe.map_or(slot, |stripe| stripe.own_before(slot));
        next.map_or(own, |next| own.min(next.own_from))
    }

    fn stripe_and_next(
        &self,
        has_begun: impl Fn(&Stripe) -> bool,
    ) -> (Option<&Stripe>, Option<&Stripe>) {
        let next = self.stripes.iter().rposition(has_begun).map_or(0, |index| index + 1);
        (next.checked_sub(1).map(|index| &self.stripes[index]), self.stripes.get(next))
    }
}

/// Returns how many of the [`SLOT`] equal parts of a gap lie within `ahead`, rounded down to less than [`SLOT`].
fn parts(ahead: Count, gap: Count) -> u64 {
    let parts = match ahead.checked_mul(SLOT.into()) {
        Some(ahead) => ahead / gap,
        None => ahead / (gap / Count::from(SLOT) + 1),
    };
    whole(parts).min(SLOT - 1)
}

fn whole(count: Count) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_shards_are_forgotten_when_their_slots_are_claimed() {
        let mut slots = Slots::new(&Arrivals::even(), Shard::whole());
        for change in 0..3_000 {
            let (from, next) = (10 * (change + 1), after(0, slots.own_before(10 * change)));
            assert!(slots.set_shard(Shard::new(0, 2).unwrap(), from, next));
            slots.trim(next, |_, _| false);
            assert!(slots.stripes.len() <= STRIPES_KEPT + 2, "after {change}");
        }
    }
}
