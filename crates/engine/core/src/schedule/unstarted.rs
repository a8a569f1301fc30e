//! Slots of a range of positions that were intended to start within a span, in batches: there may be billions. It is
//! for those that nobody has started.

use super::Schedule;
use crate::position::{after, before, earlier, later, slots_between, ticks_between};
use std::iter;
use std::ops::Range;

/// The slots of a batch are intended to start within a time that is this many times shorter than their age.
/// Their age is counted to the end of the span that was asked for.
const FINENESS: i64 = 10_000;

impl Schedule {
    /// The slots at positions from `from` on and before `to` that are intended to start in `span` and are not
    /// stopped by a pause, in batches. Each batch is the intended start of its last slot, and how many slots it
    /// has.
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
