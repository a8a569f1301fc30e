//! The sliding window counter: the window before, weighted by how much of it is still in sight.

use crate::windows::Windows;
use crate::{Quota, QuotaError, Refused, Rule};
use nanopace::Nanos;
use std::time::Duration;

/// The sliding window counter: what the current window has let in, and of the one before as large a
/// part as is less than a period ago. Nearly the [`SlidingLog`](crate::SlidingLog), in one word.
///
/// # Law
///
/// In a window of the clock that has let in c, after one that has let in p, with the part e of the
/// window gone by: a request for n gets in where p (1 - e) + c + n <= `count`. Computed in whole
/// numbers, without rounding. A request from an earlier moment than the latest window's beginning
/// counts as made then.
///
/// It supposes that the previous window's requests came evenly. Where they did not, more than
/// `count` may get in within one period: fewer than twice as many, as each of the two windows it
/// lies across lets in `count` at most.
///
/// # Cost
///
/// One word ([`Atomic`](crate::Atomic)): the window's number above, both counts below. Per decision
/// three multiplications and one compare-and-swap; a division when refused. What the number leaves
/// of 64 bits bounds `count`: for windows of a second 2^15 - 1, of an hour 2^20 - 1.
///
/// # Source
///
/// The sliding window counter of the seed documents: a limit of 10, 9 before and 5 now, at a
/// quarter of the window weigh 9 x 0.75 + 5 = 11.75, and a request is refused.
///
/// ```
/// use nanopace::Nanos;
/// use nanopace_limits::{Atomic, Limiter, Refused, SlidingCounter};
/// use std::time::Duration;
///
/// let at = |millis| Nanos::ZERO + Duration::from_millis(millis);
/// let limiter = Atomic::new(SlidingCounter::new("10/s".parse()?)?);
/// assert_eq!(limiter.try_acquire_n_at(9, at(500)), Ok(()));
/// assert_eq!(limiter.try_acquire_at(at(1_000)), Ok(())); // 9 x 1 + 0 + 1
/// assert_eq!(limiter.try_acquire_at(at(1_100)), Err(Refused::NotUntil(Nanos::from_nanos(1_111_111_112))));
/// # Ok::<(), nanopace_limits::QuotaError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SlidingCounter {
    windows: Windows,
    limit: u64,
    /// Of each count.
    bits: u32,
}

/// The latest window's number, what the one before has let in, and what it has itself.
#[derive(Clone, Copy)]
struct Counts {
    number: u64,
    before: u64,
    now: u64,
}

impl SlidingCounter {
    /// `quota.count()` in any `quota.period()`, nearly.
    ///
    /// # Errors
    /// [`QuotaError::TooManyForAWord`] where two such counts do not fit beside the window's number.
    pub fn new(quota: Quota) -> Result<SlidingCounter, QuotaError> {
        let windows = Windows::new(quota.period_ns());
        let bits = windows.spare_bits / 2;
        match (1 << bits) - 1 {
            most if quota.count() > most => Err(QuotaError::TooManyForAWord { most }),
            _ => Ok(SlidingCounter { windows, limit: quota.count(), bits }),
        }
    }

    /// As of `now`, and when that counts as.
    fn latest(&self, state: u64, now: Nanos) -> (Counts, Nanos) {
        let (number, counts) = self.windows.unpack(state);
        let seen =
            Counts { number, before: counts >> self.bits, now: counts & ((1 << self.bits) - 1) };
        let current = self.windows.number(now);
        let counts = match current.checked_sub(number) {
            None | Some(0) => seen,
            Some(1) => Counts { number: current, before: seen.now, now: 0 },
            Some(_) => Counts { number: current, before: 0, now: 0 },
        };
        (counts, now.max(self.windows.start(counts.number)))
    }

    /// How far into a window of `now`, after one of `before`, `n` more get in: p (T - t) + (c + n)
    /// T <= limit T, for the least t.
    fn earliest_ns(&self, before: u64, now: u64, n: u64) -> Option<u64> {
        let length = u128::from(self.windows.length_ns());
        let room = u128::from(self.limit.checked_sub(now + n)?);
        let unseen = (room * length)
            .checked_div(u128::from(before))
            .map_or(length, |unseen| unseen.min(length));
        u64::try_from(length - unseen).ok()
    }
}

impl Rule for SlidingCounter {
    /// The latest window's number, and beside it the counts of the one before and of its own; 0 at
    /// first.
    type State = u64;

    fn fresh(&self) -> u64 {
        0
    }

    fn most(&self) -> u64 {
        self.limit
    }

    fn advance(&self, _state: &mut u64, _now: Nanos) {}

    fn check(&self, state: &u64, now: Nanos, n: u64) -> Result<(), Refused> {
        if n > self.limit {
            return Err(Refused::ExceedsCapacity { capacity: self.limit });
        }
        let (counts, now) = self.latest(*state, now);
        let start_ns = self.windows.start(counts.number).as_nanos();
        match self.earliest_ns(counts.before, counts.now, n) {
            _ if n == 0 => Ok(()),
            Some(earliest_ns) if start_ns + earliest_ns <= now.as_nanos() => Ok(()),
            Some(earliest_ns) => Err(Refused::NotUntil(Nanos::from_nanos(start_ns + earliest_ns))),
            None => {
                let next = self.windows.start(counts.number + 1);
                let earliest_ns = self.earliest_ns(counts.now, 0, n).unwrap_or_default();
                Err(Refused::NotUntil(next + Duration::from_nanos(earliest_ns)))
            }
        }
    }

    fn debit(&self, state: &mut u64, now: Nanos, n: u64) {
        if n > 0 {
            let (counts, _) = self.latest(*state, now);
            *state =
                self.windows.pack(counts.number, counts.before << self.bits | (counts.now + n));
        }
    }

    fn is_idle(&self, state: &u64, now: Nanos) -> bool {
        let (counts, _) = self.latest(*state, now);
        counts.before == 0 && counts.now == 0
    }
}
