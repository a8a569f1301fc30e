//! Counts the slots that the load has asked for by a moment, and finds those of a range that were due in a span.

use super::Schedule;
use super::asked::Asked;
use crate::count::{Count, approximate, fine};
use crate::position::{after, before, earlier, later, slots_between, ticks_between};
use std::iter;
use std::ops::Range;

/// The slots of a batch are intended to start within a time that is this many times shorter than their age at the end
/// of the requested span.
const FINENESS: i64 = 10_000;

impl Schedule {
    /// How many of this process's slots the load has asked for before `moment`. `moment` must not be before the last
    /// change of the load or the last pause.
    pub(crate) fn asked_before(&self, moment: i64) -> u64 {
        let (moment, slots) = (self.stopped(moment), self.history.slots());
        let Some(asked) = &self.asked else {
            return slots.own_at(self.first_from(moment)).unwrap_or(0);
        };
        let came = asked.came_before(&self.load, self.end.no_later_than_first_without_slot(moment));
        came.checked_sub(1).map_or(0, |last| slots.own_by(last)).min(self.end.most())
    }

    /// How many of this process's slots the load has asked for by `moment`, with fractions of slots. For random
    /// arrivals it is the average number. Recorded slots have no fractions.
    pub(crate) fn asked_count(&self, moment: i64) -> f64 {
        let slots = self.history.slots();
        if slots.is_recorded() {
            return float(self.asked_before(moment));
        }
        let time =
            self.end.no_later_than_end(self.paused_since.map_or(moment, |since| moment.min(since)));
        approximate(fine(slots.share_of(self.count_at(time)))).min(float(self.end.most()))
    }

    /// The count that the load has reached at `time`, regardless of late policies.
    fn count_at(&self, time: i64) -> Count {
        match &self.asked {
            Some(asked) => asked.count_at(&self.load, time),
            None => self.history.count_of_load(&self.load, time),
        }
    }

    /// This moment, or the nanosecond after the beginning of the pause if that comes first. No slot comes from that
    /// nanosecond on.
    fn stopped(&self, moment: i64) -> i64 {
        self.paused_since.map_or(moment, |since| moment.min(since.saturating_add(1)))
    }

    /// The first slot that is intended to start at `moment` or later, or the end if that comes first.
    fn first_from(&self, moment: i64) -> u64 {
        let first = self.history.first_from(moment);
        self.end().map_or(first, |end| earlier(first, end))
    }

    /// Records that another load begins now. Called before `load` is replaced.
    pub(super) fn change_asked(&mut self, now: i64) {
        if let Some(asked) = &mut self.asked {
            asked.change(&self.load, &self.end, now);
        }
    }

    /// Begins to keep the load's own count. Called before each forfeit, of which the first has this effect.
    pub(super) fn keep_asked(&mut self) {
        if self.asked.is_none() {
            self.asked = Some(Box::new(Asked::new(&self.history, &self.end, &self.load)));
        }
    }

    /// The slots from position `from` on and before `to` that are intended to start in `span` and are not stopped by a
    /// pause, in batches. Each batch is the intended start of its last slot, and its number of slots.
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
            at = earlier(later(self.first_from(until), after(begin, 1)), to);
            Some((self.intended(before(at)), slots_between(begin, at)))
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "far fewer slots than 2^53, or as good as infinite")]
fn float(slots: u64) -> f64 {
    slots as f64
}
