//! The sliding window counter whose counts have a word each.

use crate::counts::Counts;
use crate::windows::Windows;
use crate::{Quota, Rejected, Rule, rejected};
use nanopace_nanos::Nanos;

/// The law of [`SlidingCounter`](crate::SlidingCounter), for any quota.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WideCounter {
    windows: Windows,
    limit: u64,
}

impl WideCounter {
    pub(crate) fn new(quota: Quota) -> WideCounter {
        WideCounter { windows: Windows::new(quota.period_ns()), limit: quota.count() }
    }

    fn latest(&self, counts: Counts, now: Nanos) -> Counts {
        counts.in_window(self.windows.number(now))
    }

    /// What still counts at `now`.
    pub(crate) fn let_in(&self, counts: Counts, now: Nanos) -> impl Iterator<Item = (Nanos, u64)> {
        self.latest(counts, now).let_in(&self.windows, now)
    }

    /// Whether there is a window of that number.
    pub(crate) fn has(&self, window: u64) -> bool {
        self.windows.has(window)
    }
}

impl Rule for WideCounter {
    type State = Counts;

    fn fresh(&self) -> Counts {
        Counts::default()
    }

    fn most(&self) -> u64 {
        self.limit
    }

    fn advance(&self, _counts: &mut Counts, _now: Nanos) {}

    fn peek(&self, counts: &Counts, now: Nanos, n: u64) -> Result<(), Rejected> {
        rejected::room_beside(n, self.limit)?;
        let counts = self.latest(*counts, now);
        let first = if n == 0 { None } else { counts.slides_in(&self.windows, self.limit, now, n) };
        first.map_or(Ok(()), |first| Err(Rejected::NotUntil(first)))
    }

    fn debit(&self, counts: &mut Counts, now: Nanos, n: u64) {
        if n > 0 {
            let latest = self.latest(*counts, now);
            *counts = Counts { now: latest.now.saturating_add(n), ..latest };
        }
    }

    fn idle_from(&self, counts: &Counts) -> Nanos {
        self.windows.start(counts.number + counts.in_sight())
    }
}
