//! How many slots the load has had by a moment, whatever a late policy has done to them.
//!
//! While no policy has moved a slot, the load is where the schedule is. From the first time that is
//! given up, its count is kept apart, and changes and pauses move it as they move the schedule.

use super::course::Course;
use super::end::End;
use super::history::History;
use super::load::Load;
use crate::count::Count;
use crate::position::{before, earlier, first_after};

/// The load as it was asked for, of which the schedule has given up some time.
#[derive(Debug)]
pub(super) struct Asked {
    /// When the load in force began, by its own time.
    origin: i64,
    /// From when on that load has been in force.
    since: i64,
    /// How many slots all loads together had had at `since`, with parts of slots; or at the schedule's
    /// end if that was before.
    count: Count,
    /// Slots that came before `since` lie below this count.
    come_before: Count,
    /// Slots that came at `since` or before it, by the load before this one, lie below this count. A slot at a
    /// line's anchor is not one of them: it comes at `since` by this load.
    come_by: Count,
}

impl Asked {
    /// The load while it still is where the schedule is. At `end_position` the schedule has no slot any
    /// more.
    pub(super) fn new(history: &History, end: &End, end_position: Option<u64>) -> Asked {
        let slots = history.slots();
        let (origin, since, count, first) = match history.current() {
            Course::Curve(curve) => (
                curve.origin,
                curve.since,
                curve.count_at(curve.since),
                first_after(curve.position),
            ),
            // The slot at the line's anchor, if there is one, comes at the anchor's time.
            Course::Line(line) => {
                let first = first_after(line.position.wrapping_sub(1));
                (line.time, line.time, slots.count_of(line.position), first)
            }
        };
        let end = end.no_later_than_end(since);
        let count = if end < since { history.count_at(end) } else { count };
        let below = |first| {
            let first = end_position.map_or(first, |end| earlier(first, end));
            let has_any = slots.number(first).is_some_and(|slots| slots > 0);
            if has_any { slots.count_of(before(first)).saturating_add(1) } else { 0 }
        };
        let come_before = below(history.first_from(since));
        Asked { origin, since, count, come_before, come_by: below(first) }
    }

    pub(super) fn shift(&mut self, span_ns: i64) {
        self.origin = self.origin.saturating_add(span_ns);
        self.since = self.since.saturating_add(span_ns);
    }

    /// How many slots all loads together have had at `time`, with parts of slots.
    pub(super) fn count_at(&self, load: &Load, time: i64) -> Count {
        let made_by = |time: i64| load.count_at_ns(time.saturating_sub(self.origin));
        self.count + made_by(time.max(self.since)) - made_by(self.since)
    }

    /// The count below which the slots lie that come before `moment`.
    pub(super) fn come_before(&self, load: &Load, moment: i64) -> Count {
        let last = moment.saturating_sub(1);
        if last < self.since {
            return self.come_before;
        }
        let is_waiting = load.is_waiting_at_ns(last.saturating_sub(self.origin));
        self.come_by.max(self.count_at(load, last) + Count::from(!is_waiting))
    }

    /// Lets another load begin now.
    pub(super) fn change(&mut self, load: &Load, end: &End, now: i64) {
        let count = self.count_at(load, end.no_later_than_end(now));
        let come_before = self.come_before(load, end.no_later_than_first_without_slot(now));
        let come_by =
            self.come_before(load, end.no_later_than_first_without_slot(now.saturating_add(1)));
        *self = Asked { origin: now, since: now, count, come_before, come_by };
    }
}
