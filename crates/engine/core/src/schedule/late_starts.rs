//! Applies the late policy to the schedule: each slot is judged at most once, when it starts.

use super::Schedule;
use super::policy::Verdict;
use super::segment::Segment;
use crate::position::{RANGE, SLOT, after, before, earlier, later, ticks_between};

/// The duration of the range of positions at the fastest rate, 10 slots per nanosecond.
const LEAST_RANGE_NS: i64 = RANGE / SLOT.cast_signed() / 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Starts,
    Skipped,
}

impl Schedule {
    /// Called when the policy begins to judge starts.
    pub(crate) fn settle_before(&mut self, next: u64, moment: i64) {
        self.settled = later(self.settled, earlier(before(next), self.reached(moment)));
    }

    /// `now` is also the schedule's time, because no slot is due while the pacer is paused.
    pub(crate) fn start(&mut self, position: u64, slots: u64, now: i64) -> Fate {
        let (intended, release) = (self.intended(position), self.release(position));
        let gap = now.saturating_sub(intended);
        if self.skip_limit(now).is_some_and(|limit| gap > limit) {
            return Fate::Skipped;
        }
        if ticks_between(self.settled, position) > 0 {
            self.settled = before(after(position, slots));
            let Verdict { forfeits_ns, owes_at } =
                self.policy.judge(now.saturating_sub(release), gap);
            self.forfeit_until(position, intended.saturating_add(forfeits_ns), true);
            if let Some(ratio) = owes_at {
                let segment =
                    Segment::through(&self.speed(ratio), position, now, self.history.slots());
                self.catch_up = Some(segment);
            }
        }
        Fate::Starts
    }

    /// The forfeited time becomes idle time. Slots of a corrected load may move by more than that time.
    fn forfeit_until(&mut self, position: u64, time: i64, is_started: bool) {
        let passes = self.history.passes(position);
        if time > passes {
            let idle =
                self.end.no_later_than_end(time).saturating_sub(self.end.no_later_than_end(passes));
            self.idle = self.idle.saturating_add(idle);
            self.keep_asked();
            self.history.forfeit(position, time, is_started);
        }
    }

    /// Lateness beyond the range of positions is forfeited, so a limit beyond the range is never reached.
    fn skip_limit(&self, now: i64) -> Option<i64> {
        let is_within = |&limit: &i64| {
            limit < LEAST_RANGE_NS || now.saturating_sub(limit) > self.history.oldest(now)
        };
        self.policy.skip_later_than.filter(is_within)
    }

    /// If the slot at `position` is too late, returns the first slot that is not, or the end if that is earlier.
    pub(crate) fn skip_target(&self, position: u64, now: i64) -> Option<u64> {
        let oldest = now.saturating_sub(self.skip_limit(now)?);
        if self.is_paused() || self.intended(position) >= oldest || self.ends_before(position) {
            return None;
        }
        let target = self.history.first_along(after(position, 1), oldest);
        let target = later(self.history.first_from(oldest), target);
        Some(self.end().map_or(target, |end| earlier(target, end)))
    }

    /// The time that was owed for the skipped slots before `position` is no longer owed.
    pub(crate) fn skipped_to(&mut self, position: u64, now: i64) {
        if let Some(segment) = &mut self.catch_up {
            *segment = Segment::through(&segment.speed(), position, now, self.history.slots());
        }
    }

    /// Returns whether a slot may be late by more than the range of positions, which is shortest at the fastest rate.
    pub(crate) fn may_be_out_of_range(intended: i64, now: i64) -> bool {
        now.saturating_sub(intended) >= LEAST_RANGE_NS
    }

    /// Forfeits lateness beyond the range of positions, where late and early slots can't be distinguished.
    pub(crate) fn cut_to_range(&mut self, next: u64, now: i64) {
        let time = self.time_until_end(now);
        let oldest = self.history.oldest(time).min(time);
        if self.intended(next) < oldest && !self.ends_before(next) {
            let last = before(next);
            let interval_ns = self.history.current().interval_ns(time);
            self.forfeit_until(last, oldest.saturating_sub(interval_ns), false);
            if self.intended(next) < oldest {
                // The interval after `last` is shorter than the one at `time`.
                self.forfeit_until(last, oldest, false);
            }
            // If no slot has been claimed, `last` lies before the schedule's beginning.
            self.idle = self.idle.min(self.claimed(next, now));
            // Slots before `next` that callers still hold are stragglers now.
            self.settled = later(self.settled, last);
        }
    }

    pub(crate) fn is_unsettled(&self, position: u64) -> bool {
        ticks_between(self.settled, position) > 0
    }
}
