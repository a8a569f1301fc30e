//! Computes the account of the schedule's time, for the [`Ledger`](crate::Ledger).

use super::Schedule;
use crate::position::ticks_between;

/// `elapsed` is the sum of the other fields. All fields are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) elapsed: i64,
    pub(crate) allocated: i64,
    pub(crate) idle: i64,
    pub(crate) waiting: i64,
    pub(crate) backlog: i64,
}

impl Account {
    pub(crate) fn count_returned(&mut self, unused: i64) {
        // `unused` is exact only while the pieces of the slots are in memory, so it is limited to the allocated time.
        let unused = unused.min(self.allocated);
        self.allocated -= unused;
        self.backlog += unused;
    }
}

impl Schedule {
    pub(crate) fn account(&self, next: u64, now: i64) -> Account {
        let paid_until = self.paid(self.schedule_time(now)).map(|paid| self.history.passes(paid));
        let time = self.time_until_end(now);
        let elapsed = time.saturating_sub(self.began).saturating_sub(self.pauses_ns);
        let passes = self.history.passes(next);
        let claimed = self.claimed(next, now);
        let allocated = claimed.saturating_sub(self.idle);
        let late = elapsed.saturating_sub(claimed);
        // While time is owed, only the slots up to `paid_until` are released and count as backlog.
        let backlog = paid_until.map_or(late, |until| until.saturating_sub(passes).clamp(0, late));
        Account { elapsed, allocated, idle: self.idle, waiting: late - backlog, backlog }
    }

    /// Returns how much of the schedule's time up to `now` is allocated or idle.
    pub(super) fn claimed(&self, next: u64, now: i64) -> i64 {
        let passes = self.history.passes(next).min(self.time_until_end(now));
        passes.saturating_sub(self.began).saturating_sub(self.pauses_ns)
    }

    /// Returns how much of the schedule's time up to `now` belongs to the slots from `start` to before `end`.
    pub(crate) fn unused(&self, start: u64, end: u64, now: i64) -> i64 {
        debug_assert!(ticks_between(start, end) > 0, "a range has slots");
        let time = self.time_until_end(now);
        let (ends, begins) =
            (self.history.time_of(end).min(time), self.history.passes(start).min(time));
        ends.saturating_sub(begins).max(0)
    }
}
