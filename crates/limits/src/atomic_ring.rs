//! The slotted ring without a lock.
//!
//! # Orderings
//!
//! A request first *reserves*: it adds itself to its slot's word. Then it reads all words. If their
//! sum is within the limit, the request is let in. Otherwise it takes itself back. A word is only
//! ever changed by compare-and-swap from the value that was seen, so no count is lost or taken back
//! twice.
//!
//! Two requests that reserve in different slots must not both overlook the other. So between its
//! reservation and its reading, each request adds one to a word that all of them share. One
//! of two additions to one word comes first. The second request acquires what the first one has
//! released, which is its reservation. So the second one counts the first one, unless the first was
//! rejected and has taken itself back. (A sequentially consistent fence would do as well. It costs
//! the same, but sanitizers do not understand it.)
//!
//! The slot N later takes over a slot's place, and the older count is gone. So a request that finds
//! a later slot than its own can't know any more what there was at its time. It takes itself back
//! and comes again, in the later slot. Models: `a_ring_admits_no_more`,
//! `a_ring_takes_back_what_it_rejects`.

use crate::rejected::{last_to_leave, room_beside};
use crate::ring_count::place;
use crate::sync::{AcqRel, AtomicU64, Relaxed};
use crate::windows::Windows;
use crate::{QuotaError, Rejected, SlottedRing, TryAcquire};
use nanopace::Nanos;

/// A [`SlottedRing`] that threads share without a lock.
///
/// # Law
///
/// That of the ring: never more than its limit within the time that it guards, whatever the threads
/// do. Requests that come one after the other get the ring's own answers. A request may be rejected
/// because of another one that comes at the same time and is about to be rejected as well.
///
/// A moment that goes backwards counts as the latest slot in which there was a request.
///
/// # Cost
///
/// N + 5 words. A decision takes a compare-and-swap, an addition and a look at N words. A rejection
/// takes one more compare-and-swap. A word holds the slot's number above and its count below. The
/// bits that the number leaves bound the limit: for slots of 100 ms it is at most 2^27 - 1, for
/// slots of a millisecond 2^20 - 1.
///
/// # Source
///
/// That of [`RingCount`](crate::RingCount). The way to share it is this crate's own.
///
/// ```
/// use nanopace::Nanos;
/// use nanopace_limits::{AtomicRing, TryAcquire, Rejected, SlottedRing};
/// use std::time::Duration;
///
/// let at = |millis| Nanos::ZERO + Duration::from_millis(millis);
/// let limiter = AtomicRing::new(SlottedRing::<10>::new("300/s".parse()?))?;
/// assert_eq!(limiter.try_acquire_n_at(300, at(50)), Ok(()));
/// assert_eq!(limiter.try_acquire_at(at(950)), Err(Rejected::NotUntil(at(1_000))));
/// assert_eq!(limiter.try_acquire_at(at(1_000)), Ok(()));
/// # Ok::<(), nanopace_limits::QuotaError>(())
/// ```
#[derive(Debug)]
pub struct AtomicRing<const N: usize> {
    slots: Windows,
    limit: u64,
    /// At its place, the latest slot in which anything was asked for, and beside its number how
    /// much was let in. Written by `reserve` (adds) and `take_back` (subtracts), from the value
    /// seen.
    words: [AtomicU64; N],
    /// How many readings have been begun after a reservation: each is behind the ones before it.
    readings: AtomicU64,
}

impl<const N: usize> AtomicRing<N> {
    /// A limiter that has let nothing in yet.
    ///
    /// # Errors
    /// [`QuotaError::TooManyForAWord`] if the limit does not fit beside a slot's number.
    ///
    /// ```
    /// use nanopace_limits::{AtomicRing, SlottedRing};
    ///
    /// assert!(AtomicRing::new(SlottedRing::<10>::new("300/s".parse()?)).is_ok());
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
    pub fn new(ring: SlottedRing<N>) -> Result<AtomicRing<N>, QuotaError> {
        let (slots, limit) = ring.parts();
        match slots.most() {
            most if limit > most => Err(QuotaError::TooManyForAWord { most }),
            _ => Ok(AtomicRing {
                slots,
                limit,
                words: std::array::from_fn(|_| AtomicU64::new(0)),
                readings: AtomicU64::new(0),
            }),
        }
    }

    /// The slots' numbers and counts, as they are.
    fn seen(&self) -> [(u64, u64); N] {
        // Relaxed: after a reservation `readings` orders it; otherwise it is a look. Model:
        // `a_ring_admits_no_more`.
        std::array::from_fn(|place| self.slots.unpack(self.words[place].load(Relaxed)))
    }

    /// The slot that counts as current at `now`.
    fn current(&self, seen: &[(u64, u64); N], now: Nanos) -> u64 {
        seen.iter().map(|(number, _)| *number).fold(self.slots.number(now), u64::max)
    }

    /// Adds `n` to a slot, and returns the slot: a later one if that had taken the place over.
    /// Returns none if that slot alone would then be over the limit.
    fn reserve(&self, current: u64, n: u64) -> Option<u64> {
        let word = &self.words[place::<N>(current)];
        // Relaxed: acted on by compare-and-swap only. Model: `a_slot_admits_no_more`.
        let mut seen = word.load(Relaxed);
        loop {
            let (number, count) = self.slots.unpack(seen);
            let (slot, count) = if number >= current { (number, count) } else { (current, 0) };
            if count + n > self.limit {
                return None;
            }
            // Relaxed: what orders it before the reading is `readings`. Model:
            // `a_ring_admits_no_more`.
            match word.compare_exchange_weak(
                seen,
                self.slots.pack(slot, count + n),
                Relaxed,
                Relaxed,
            ) {
                Ok(_) => return Some(slot),
                Err(newer) => seen = newer,
            }
        }
    }

    /// Takes `n` out of a slot again, unless the slot has gone by.
    fn take_back(&self, slot: u64, n: u64) {
        let word = &self.words[place::<N>(slot)];
        // Relaxed, here and below: it must be the word that was added to, and needs no order.
        // Model: `a_ring_takes_back_what_it_rejects`.
        let mut seen = word.load(Relaxed);
        while self.slots.unpack(seen).0 == slot {
            match word.compare_exchange_weak(seen, seen - n, Relaxed, Relaxed) {
                Ok(_) => return,
                Err(newer) => seen = newer,
            }
        }
    }

    /// Whether at most `most` are within the ring that ends with slot `current`. Otherwise says
    /// from when on that will be so, if nothing is added.
    fn falls_to(&self, mut seen: [(u64, u64); N], current: u64, most: u64) -> Result<(), Rejected> {
        seen.sort_unstable();
        let within = seen.into_iter().filter(|(number, _)| number + N as u64 > current);
        let total: u64 = within.clone().map(|(_, count)| count).sum();
        if total <= most {
            return Ok(());
        }
        let number = last_to_leave(within, total, most).unwrap_or(current);
        Err(Rejected::NotUntil(self.slots.start(number + N as u64)))
    }
}

impl<const N: usize> TryAcquire for AtomicRing<N> {
    fn try_acquire_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected> {
        let most = room_beside(n, self.limit)?;
        if n == 0 {
            return Ok(());
        }
        loop {
            let Some(slot) = self.reserve(self.current(&self.seen(), now), n) else {
                self.peek_n_at(n, now)?;
                continue;
            };
            // AcqRel: pairs with itself in every other request; see the module's essay. Model:
            // `a_ring_admits_no_more`.
            self.readings.fetch_add(1, AcqRel);
            let mut seen = self.seen();
            if self.current(&seen, now) == slot {
                seen[place::<N>(slot)].1 -= n;
                return self.falls_to(seen, slot, most).inspect_err(|_| self.take_back(slot, n));
            }
            self.take_back(slot, n);
        }
    }

    fn peek_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected> {
        let most = room_beside(n, self.limit)?;
        let seen = self.seen();
        if n == 0 { Ok(()) } else { self.falls_to(seen, self.current(&seen, now), most) }
    }
}
