//! What the rules that count in windows of the clock share: the counts in one word, and how they
//! move on.

use crate::windows::Windows;
use crate::{Quota, QuotaError};
use nanopace::Nanos;

/// Counts in windows of one period, packed into a word beside the window's number: that of the
/// latest window and, if `BEFORE`, that of the window before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowCounts<const BEFORE: bool> {
    pub(crate) windows: Windows,
    pub(crate) limit: u64,
    /// The bits of each count.
    bits: u32,
}

/// The latest window's number, what was let in during the window before it, and during itself.
#[derive(Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) number: u64,
    pub(crate) before: u64,
    pub(crate) now: u64,
}

impl<const BEFORE: bool> WindowCounts<BEFORE> {
    /// # Errors
    /// [`QuotaError::TooManyForAWord`] where the counts do not fit beside the window's number. One
    /// count always fits: number times period is below 2^63 ns, and a quota counts no more than one
    /// per nanosecond.
    pub(crate) fn new(quota: Quota) -> Result<WindowCounts<BEFORE>, QuotaError> {
        let windows = Windows::new(quota.period_ns());
        let bits = windows.spare_bits / if BEFORE { 2 } else { 1 };
        match (1 << bits) - 1 {
            most if quota.count() > most => Err(QuotaError::TooManyForAWord { most }),
            _ => Ok(WindowCounts { windows, limit: quota.count(), bits }),
        }
    }

    /// The counts as of `now`, or as of the latest window that was seen, if that is later.
    #[inline]
    pub(crate) fn latest(&self, word: u64, now: Nanos) -> Counts {
        let (number, counts) = self.windows.unpack(word);
        let seen = Counts {
            number,
            before: if BEFORE { counts >> self.bits } else { 0 },
            now: counts & ((1 << self.bits) - 1),
        };
        let current = self.windows.number(now);
        match current.checked_sub(number) {
            None | Some(0) => seen,
            Some(1) if BEFORE => Counts { number: current, before: seen.now, now: 0 },
            Some(_) => Counts { number: current, before: 0, now: 0 },
        }
    }

    /// The word with `n` more in the latest window.
    #[inline]
    pub(crate) fn with(&self, word: u64, now: Nanos, n: u64) -> u64 {
        if n == 0 {
            return word;
        }
        let counts = self.latest(word, now);
        let before = if BEFORE { counts.before << self.bits } else { 0 };
        self.windows.pack(counts.number, before | (counts.now + n))
    }

    /// Whether nothing is counted at `now`.
    pub(crate) fn is_empty(&self, word: u64, now: Nanos) -> bool {
        let counts = self.latest(word, now);
        counts.before == 0 && counts.now == 0
    }
}

/// Makes a type a rule whose state is one word. The type has a field `counts`, and a function
/// `first` that says when `n` more get in, or nothing if they do at once.
macro_rules! window_rule {
    ($rule:ty) => {
        impl $crate::Rule for $rule {
            /// The number of the latest window that let anything in, and beside it what was
            /// counted; 0 at first.
            type State = u64;

            fn fresh(&self) -> u64 {
                0
            }

            fn most(&self) -> u64 {
                self.counts.limit
            }

            fn advance(&self, _state: &mut u64, _now: ::nanopace::Nanos) {}

            #[inline]
            fn check(
                &self,
                state: &u64,
                now: ::nanopace::Nanos,
                n: u64,
            ) -> Result<(), $crate::Rejected> {
                $crate::rejected::room_beside(n, self.counts.limit)?;
                let first = if n == 0 { None } else { self.first(*state, now, n) };
                first.map_or(Ok(()), |first| Err($crate::Rejected::NotUntil(first)))
            }

            #[inline]
            fn debit(&self, state: &mut u64, now: ::nanopace::Nanos, n: u64) {
                *state = self.counts.with(*state, now, n);
            }

            fn is_idle(&self, state: &u64, now: ::nanopace::Nanos) -> bool {
                self.counts.is_empty(*state, now)
            }
        }
    };
}
pub(crate) use window_rule;
