//! What the rules that count in windows of the clock share: the counts in one word, and how they
//! move on.

use crate::counts::Counts;
use crate::windows::Windows;
use crate::{Quota, QuotaError};
use nanopace_nanos::Nanos;

/// Counts in windows of one period, packed into a word beside the window's number: that of the
/// latest window and, if `BEFORE`, that of the window before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowCounts<const BEFORE: bool> {
    pub(crate) windows: Windows,
    pub(crate) limit: u64,
    /// The bits of each count.
    bits: u32,
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
        let counts = self.seen(word).in_window(self.windows.number(now));
        Counts { before: if BEFORE { counts.before } else { 0 }, ..counts }
    }

    /// The counts of the latest window that was seen.
    #[inline]
    pub(crate) fn seen(&self, word: u64) -> Counts {
        let (number, counts) = self.windows.unpack(word);
        let before = if BEFORE { counts >> self.bits } else { 0 };
        Counts { number, before, now: counts & self.most() }
    }

    /// The word with these counts, which fit.
    #[inline]
    pub(crate) fn pack(&self, Counts { number, before, now }: Counts) -> u64 {
        let before = if BEFORE { before << self.bits } else { 0 };
        self.windows.pack(number, before | now)
    }

    /// The word with `n` more in the latest window.
    #[inline]
    pub(crate) fn with(&self, word: u64, now: Nanos, n: u64) -> u64 {
        if n == 0 {
            return word;
        }
        let counts = self.latest(word, now);
        // Other limits may have let in more than fits.
        self.pack(Counts { now: counts.now.saturating_add(n).min(self.most()), ..counts })
    }

    /// The largest count.
    pub(crate) fn most(&self) -> u64 {
        (1 << self.bits) - 1
    }

    /// From when on nothing that the word counts is in sight.
    pub(crate) fn empty_from(&self, word: u64) -> Nanos {
        let counts = self.seen(word);
        self.windows.start(counts.number + counts.in_sight().min(1 + u64::from(BEFORE)))
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

            fn advance(&self, _state: &mut u64, _now: ::nanopace_nanos::Nanos) {}

            #[inline]
            fn peek(
                &self,
                state: &u64,
                now: ::nanopace_nanos::Nanos,
                n: u64,
            ) -> Result<(), $crate::Rejected> {
                $crate::rejected::room_beside(n, self.counts.limit)?;
                let first = if n == 0 { None } else { self.first(*state, now, n) };
                first.map_or(Ok(()), |first| Err($crate::Rejected::NotUntil(first)))
            }

            #[inline]
            fn debit(&self, state: &mut u64, now: ::nanopace_nanos::Nanos, n: u64) {
                *state = self.counts.with(*state, now, n);
            }

            fn idle_from(&self, state: &u64) -> ::nanopace_nanos::Nanos {
                self.counts.empty_from(*state)
            }
        }
    };
}
pub(crate) use window_rule;
