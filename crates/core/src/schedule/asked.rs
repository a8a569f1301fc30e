//! How many slots the load has asked for by a moment, whatever a late policy has done to them.
//!
//! While no policy has moved a slot, that is how far the schedule has come. From the first forfeit on, the
//! load's count is kept apart. Changes and pauses move it as they move the schedule.
//!
//! A slot *has come* if its moment in the load as it was asked for has passed.

use super::course::Course;
use super::end::End;
use super::history::History;
use super::load::Load;
use crate::count::Count;
use crate::position::{before, earlier, first_after};

/// The load as it was asked for, kept beside a schedule that has forfeited time.
#[derive(Debug)]
pub(super) struct Asked {
    /// The moment at which the load in force has the count 0.
    origin: i64,
    /// From when on that load counts: when it came into force, or where it was corrected, when it began.
    since: i64,
    /// How many slots all loads together had asked for by `since`, with parts of slots; or by the schedule's
    /// end by time if that came first.
    count: Count,
    /// The slots that earlier loads asked for before `since` lie below this count.
    came_before_since: Count,
    /// Behind the last change of the load, at least the slots below this count have come: those that were asked for
    /// before `since` or at it, and where a load was corrected, all that had come by then. The load in force may have
    /// fewer.
    came_at_least: Count,
}

impl Asked {
    /// The load as it is asked for, taken from a schedule that has not forfeited anything yet. `load` is the one in
    /// force.
    pub(super) fn new(history: &History, end: &End, load: &Load) -> Asked {
        let slots = history.slots();
        let (origin, since, count, first_of_this) = match history.current() {
            Course::Curve(curve) => (
                curve.origin,
                curve.since,
                curve.count_at(curve.since),
                first_after(curve.position),
            ),
            // The line is in force from a moment on at which it has passed its anchor already.
            Course::Line(line) => {
                let since = history.since();
                let passed = load.count_at_ns(since.saturating_sub(line.time));
                let count = slots.count_of(line.position).saturating_add(passed);
                (line.time, since, count, history.first_from(since.saturating_add(1)))
            }
        };
        let end_moment = end.no_later_than_end(since);
        let count = if end_moment < since { history.count_at(end_moment) } else { count };
        // The count below which all slots lie that came before `moment`, of whatever process: with another shard they
        // may become this one's. The count at a moment is rounded. So this process's own slots bound it: those before
        // `position` have come, the one there has not.
        let came_before = |position, moment: i64| {
            let stop = end.no_later_than_first_without_slot(moment);
            let is_over = stop < moment;
            let next = if is_over { earlier(position, history.first_from(stop)) } else { position };
            let has_any = slots.own_at(next).is_some_and(|own| own > 0);
            let own = if has_any { slots.count_of(before(next)).saturating_add(1) } else { 0 };
            let all = history.count_at(stop.saturating_sub(1)).saturating_add(1);
            all.min(slots.count_of(next)).max(own)
        };
        Asked {
            origin,
            since,
            count,
            came_before_since: came_before(history.first_from(since), since),
            came_at_least: came_before(first_of_this, since.saturating_add(1)),
        }
    }

    /// Moves the load to `span_ns` later.
    pub(super) fn shift(&mut self, span_ns: i64) {
        self.origin = self.origin.saturating_add(span_ns);
        self.since = self.since.saturating_add(span_ns);
    }

    /// How many slots all loads together have asked for by `time`, which is `since` or later, with parts of slots.
    /// `load` is the one in force.
    pub(super) fn count_at(&self, load: &Load, time: i64) -> Count {
        let count_of_this = |time: i64| load.count_at_ns(time.saturating_sub(self.origin));
        self.count + count_of_this(time.max(self.since)) - count_of_this(self.since)
    }

    /// The slots that have come before `moment` are those below this count. `load` is the one in force.
    pub(super) fn came_before(&self, load: &Load, moment: i64) -> Count {
        let last = moment.saturating_sub(1);
        if last < self.since {
            return self.came_before_since;
        }
        let is_waiting = load.is_waiting_at_ns(last.saturating_sub(self.origin));
        self.came_at_least.max(self.count_at(load, last) + Count::from(!is_waiting))
    }

    /// Notes that another load begins now. `load` is the one that was in force until now.
    pub(super) fn change(&mut self, load: &Load, end: &End, now: i64) {
        let count = self.count_at(load, end.no_later_than_end(now));
        let came_before_since = self.came_before(load, end.no_later_than_first_without_slot(now));
        let came_at_least =
            self.came_before(load, end.no_later_than_first_without_slot(now.saturating_add(1)));
        *self = Asked { origin: now, since: now, count, came_before_since, came_at_least };
    }
}
