//! Counts the slots of the requested load, and finds the slots that were due in a span of time.

use super::Schedule;
use super::asked::Asked;
use crate::count::{Count, approximate, fine};
use crate::position::{after, before, earlier, later, slots_between, ticks_between};
use std::iter;
use std::ops::Range;

/// The intended starts of a batch differ by at most 1/`FINENESS` of the time from the batch's first slot to the end of
/// the requested span.
const FINENESS: i64 = 10_000;

impl Schedule {
    pub(crate) fn asked_before(&self, moment: i64) -> u64 {
        let (moment, slots) = (self.stopped(moment), self.history.slots());
        let Some(asked) = &self.asked else {
            return slots.own_at(self.first_from(moment)).unwrap_or(0);
        };
        let came = asked.came_before(&self.load, self.end.no_later_than_first_without_slot(moment));
        came.checked_sub(1).map_or(0, |last| slots.own_by(last)).min(self.end.most())
    }

    pub(crate) fn asked_count(&self, moment: i64) -> f64 {
        let slots = self.history.slots();
        if slots.is_recorded() {
            return float(self.asked_before(moment));
        }
        let time =
            self.end.no_later_than_end(self.paused_since.map_or(moment, |since| moment.min(since)));
        approximate(fine(slots.share_of(self.count_at(time)))).min(float(self.end.most()))
    }

    fn count_at(&self, time: i64) -> Count {
        match &self.asked {
            Some(asked) => asked.count_at(&self.load, time),
            None => self.history.count_of_load(&self.load, time),
        }
    }

    /// During a pause, no slot starts after the nanosecond at which the pause began.
    fn stopped(&self, moment: i64) -> i64 {
        self.paused_since.map_or(moment, |since| moment.min(since.saturating_add(1)))
    }

    fn first_from(&self, moment: i64) -> u64 {
        let first = self.history.first_from(moment);
        self.end().map_or(first, |end| earlier(first, end))
    }

    /// Must be called before `load` is replaced.
    pub(super) fn change_asked(&mut self, now: i64) {
        if let Some(asked) = &mut self.asked {
            asked.change(&self.load, &self.end, now);
        }
    }

    /// Called before each forfeit. Only the first call since the beginning or a correction has an effect.
    pub(super) fn keep_asked(&mut self) {
        if self.asked.is_none() {
            self.asked = Some(Box::new(Asked::new(&self.history, &self.end, &self.load)));
        }
    }

    /// A batch is a pair: the intended start of its last slot, and its number of slots.
    pub(crate) fn batches(
        &self,
        (from, to): (u64, u64),
        span: &Range<i64>,
    ) -> impl Iterator<Item = (i64, u64)> {
        let end = span.end;
        let mut at = later(from, self.first_from(span.start));
        let to = earlier(to, self.first_from(self.stopped(end)));
        iter::from_fn(move || {
            let begin = at;
            if ticks_between(begin, to) <= 0 {
                return None;
            }
            let due = self.intended(begin);
            let until = due.saturating_add(end.saturating_sub(due) / FINENESS).saturating_add(1);
            // Slots that a correction made due have times from before the piece that `first_from` uses.
            let along = self.history.first_along(after(begin, 1), until);
            at = earlier(later(self.first_from(until), along), to);
            Some((self.intended(before(at)), slots_between(begin, at)))
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts above 2^53 need not be exact")]
fn float(slots: u64) -> f64 {
    slots as f64
}
