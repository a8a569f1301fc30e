//! What the rules that count in windows of the clock share: the counts in one word, and how they
//! move on.

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

/// The latest window's number, what was let in during the window before it, and during itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
        let seen = self.seen(word);
        let current = self.windows.number(now);
        match current.checked_sub(seen.number) {
            None | Some(0) => seen,
            Some(1) if BEFORE => Counts { number: current, before: seen.now, now: 0 },
            Some(_) => Counts { number: current, before: 0, now: 0 },
        }
    }

    /// The counts of the latest window that was seen.
    #[inline]
    pub(crate) fn seen(&self, word: u64) -> Counts {
        let (number, counts) = self.windows.unpack(word);
        let before = if BEFORE { counts >> self.bits } else { 0 };
        Counts { number, before, now: counts & self.most() }
    }

    /// The word with these counts, if they fit.
    pub(crate) fn word(&self, counts: Counts) -> Option<u64> {
        let Counts { number, before, now } = counts;
        let fits = before.max(now) <= self.most() && (BEFORE || before == 0);
        let is_in_time = number <= self.windows.number(Nanos::MAX);
        let before = if BEFORE { before << self.bits } else { 0 };
        (fits && is_in_time).then(|| self.windows.pack(number, before | now))
    }

    /// The word with `n` more in the latest window.
    #[inline]
    pub(crate) fn with(&self, word: u64, now: Nanos, n: u64) -> u64 {
        if n == 0 {
            return word;
        }
        let counts = self.latest(word, now);
        let before = if BEFORE { counts.before << self.bits } else { 0 };
        // Other limits may have let in more than fits.
        let now = counts.now.saturating_add(n).min(self.most());
        self.windows.pack(counts.number, before | now)
    }

    /// The largest count.
    pub(crate) fn most(&self) -> u64 {
        (1 << self.bits) - 1
    }

    /// From when on nothing that the word counts is in sight.
    pub(crate) fn empty_from(&self, word: u64) -> Nanos {
        let (number, counts) = self.windows.unpack(word);
        let in_sight = match counts {
            0 => 0,
            _ if BEFORE && counts & self.most() > 0 => 2,
            _ => 1,
        };
        self.windows.start(number + in_sight)
    }

    /// What still counts at `now`, oldest first: the latest moment at which it may have been let
    /// in, and how much it is.
    pub(crate) fn let_in(&self, word: u64, now: Nanos) -> impl Iterator<Item = (Nanos, u64)> {
        let counts = self.latest(word, now);
        let before =
            Nanos::from_nanos(self.windows.start(counts.number).as_nanos().saturating_sub(1));
        [(before, counts.before), (now, counts.now)].into_iter().filter(|(_, count)| *count > 0)
    }

    /// The number of the word's window.
    pub(crate) fn window(&self, word: u64) -> u64 {
        self.windows.unpack(word).0
    }

    /// The word with `n` less in a window, if that is still in sight.
    pub(crate) fn without(&self, word: u64, window: u64, n: u64) -> u64 {
        let (number, counts) = self.windows.unpack(word);
        let shift = match number.checked_sub(window) {
            Some(0) => 0,
            Some(1) if BEFORE => self.bits,
            _ => return word,
        };
        word - ((counts >> shift & self.most()).min(n) << shift)
    }
}

/// Makes a type a rule whose state is one word. The type has a field `counts`, and a function
/// `first` that says when `n` more get in, or nothing if they do at once.
macro_rules! window_rule {
    ($rule:ty) => {
        impl $rule {
            /// The counts of the latest window that was seen.
            pub(crate) fn seen(&self, state: u64) -> $crate::window_counts::Counts {
                self.counts.seen(state)
            }

            /// The state with these counts, if they fit.
            pub(crate) fn state(&self, counts: $crate::window_counts::Counts) -> Option<u64> {
                self.counts.word(counts)
            }

            /// The largest count that a state can hold.
            pub(crate) fn largest_count(&self) -> u64 {
                self.counts.most()
            }

            pub(crate) fn let_in(
                &self,
                state: u64,
                now: ::nanopace_nanos::Nanos,
            ) -> impl Iterator<Item = (::nanopace_nanos::Nanos, u64)> {
                self.counts.let_in(state, now)
            }

            /// Where the last request was counted.
            pub(crate) fn window(&self, state: u64) -> u64 {
                self.counts.window(state)
            }

            /// The state without `n` that were counted there.
            pub(crate) fn without(&self, state: u64, window: u64, n: u64) -> u64 {
                self.counts.without(state, window, n)
            }
        }

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
            fn check(
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
