//! What was let in during the latest window of the clock, and during the one before it.

use crate::windows::Windows;
use core::time::Duration;
use nanopace_nanos::Nanos;

/// The latest window's number, what was let in during the window before it, and during itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub(crate) number: u64,
    pub(crate) before: u64,
    pub(crate) now: u64,
}

impl Counts {
    /// The counts in the window of that number, or in the latest one that was seen, if that is later.
    #[inline]
    pub(crate) fn in_window(self, number: u64) -> Counts {
        match number.checked_sub(self.number) {
            None | Some(0) => self,
            Some(1) => Counts { number, before: self.now, now: 0 },
            Some(_) => Counts { number, before: 0, now: 0 },
        }
    }

    /// For how many windows from its own on something of it is in sight.
    pub(crate) fn in_sight(&self) -> u64 {
        match (self.before, self.now) {
            (_, 1..) => 2,
            (1.., 0) => 1,
            (0, 0) => 0,
        }
    }

    /// What counts at `now`, if these are the counts then, oldest first: the latest moment at which
    /// it may have been let in, and how much it is.
    pub(crate) fn let_in(
        self,
        windows: &Windows,
        now: Nanos,
    ) -> impl Iterator<Item = (Nanos, u64)> {
        let before = Nanos::from_nanos(windows.start(self.number).as_nanos().saturating_sub(1));
        [(before, self.before), (now, self.now)].into_iter().filter(|(_, count)| *count > 0)
    }

    /// When `n` more get in by the law of the [sliding window counter](crate::SlidingCounter), if not
    /// at once. These are the counts at `now`, and `n` is not above `limit`.
    #[inline]
    pub(crate) fn slides_in(
        self,
        windows: &Windows,
        limit: u64,
        now: Nanos,
        n: u64,
    ) -> Option<Nanos> {
        let start = windows.start(self.number);
        let room = limit.checked_sub(self.now.saturating_add(n));
        if let Some(earliest_ns) = earliest_ns(windows, self.before, room) {
            // May be past the last moment there is; then it is later than any `now`.
            let earliest = start.as_nanos() + earliest_ns;
            let is_later = earliest > now.max(start).as_nanos();
            return is_later.then(|| Nanos::from_nanos(earliest));
        }
        let next = windows.start(self.number + 1);
        let earliest_ns = earliest_ns(windows, self.now, limit.checked_sub(n)).unwrap_or_default();
        Some(next + Duration::from_nanos(earliest_ns))
    }

    /// The counts with `n` less in a window, if that is still in sight.
    pub(crate) fn without(self, window: u64, n: u64) -> Counts {
        match self.number.checked_sub(window) {
            Some(0) => Counts { now: self.now.saturating_sub(n), ..self },
            Some(1) => Counts { before: self.before.saturating_sub(n), ..self },
            _ => self,
        }
    }
}

/// How far into a window, after one of `before`, there is so much room: `before` (T - t) <= room T,
/// for the least t.
#[inline]
fn earliest_ns(windows: &Windows, before: u64, room: Option<u64>) -> Option<u64> {
    let length = u128::from(windows.length_ns());
    let unseen = (u128::from(room?) * length)
        .checked_div(u128::from(before))
        .map_or(length, |unseen| unseen.min(length));
    u64::try_from(length - unseen).ok()
}
