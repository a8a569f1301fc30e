//! Counts the slots that the requested load contains before a given time, regardless of late policies.
//!
//! The schedule's own count serves until time is forfeited. From then until a correction of the load, [`Asked`] keeps a
//! separate count. A slot *has come* if its time in the requested load has passed.

use super::end::End;
use super::history::History;
use super::load::Load;
use super::segment::Segment;
use crate::count::Count;
use crate::position::{before, earlier, first_after};

#[derive(Debug)]
pub(super) struct Asked {
    /// The time at which the current load has the count 0.
    origin: i64,
    /// The time at which the current load's piece began to apply, or at which a corrected load began.
    since: i64,
    /// The number of slots of all loads together by `since`, or by the end by time if that is earlier.
    count: Count,
    /// The result of [`came_before`](Asked::came_before) for every time up to `since`.
    came_before_since: Count,
    /// The minimum result of `came_before` for times after `since`. It includes the slots from before the current load
    /// began. After a correction to a smaller load, that load alone would give a lower count.
    came_at_least: Count,
}

impl Asked {
    /// The schedule must have forfeited no time since its beginning or its last correction.
    pub(super) fn new(history: &History, end: &End, load: &Load) -> Asked {
        let (origin, since, count, first_of_load) = match history.current() {
            Segment::Curve(curve) => (
                curve.origin,
                curve.since,
                curve.count_at(curve.since),
                first_after(curve.position),
            ),
            Segment::Line(line) => {
                let since = history.since();
                let count = history.count_of_load(load, since);
                (line.time.min(since), since, count, history.first_from(since.saturating_add(1)))
            }
        };
        let end_moment = end.no_later_than_end(since);
        let count = if end_moment < since { history.count_at(end_moment) } else { count };
        Asked {
            origin,
            since,
            count,
            came_before_since: below(history, end, history.first_from(since), since),
            came_at_least: below(history, end, first_of_load, since.saturating_add(1)),
        }
    }

    pub(super) fn shift(&mut self, span_ns: i64) {
        self.origin = self.origin.saturating_add(span_ns);
        self.since = self.since.saturating_add(span_ns);
    }

    pub(super) fn count_at(&self, load: &Load, time: i64) -> Count {
        let count_of_this = |time: i64| load.count_at_ns(time.saturating_sub(self.origin));
        let more = count_of_this(time.max(self.since)).saturating_sub(count_of_this(self.since));
        self.count.saturating_add(more)
    }

    /// Returns a count such that all slots below it have come before `moment`.
    pub(super) fn came_before(&self, load: &Load, moment: i64) -> Count {
        let last = moment.saturating_sub(1);
        if last < self.since {
            return self.came_before_since;
        }
        let is_waiting = load.is_waiting_at_ns(last.saturating_sub(self.origin));
        self.came_at_least.max(self.count_at(load, last).saturating_add(Count::from(!is_waiting)))
    }

    /// `load` is the load that applied until `now`.
    pub(super) fn change(&mut self, load: &Load, end: &End, now: i64) {
        let count = self.count_at(load, end.no_later_than_end(now));
        let came_before_since = self.came_before(load, end.no_later_than_first_without_slot(now));
        let came_at_least =
            self.came_before(load, end.no_later_than_first_without_slot(now.saturating_add(1)));
        *self = Asked { origin: now, since: now, count, came_before_since, came_at_least };
    }
}

/// Returns a count such that all slots of the whole load below it have come before `moment`. A change of the shard can
/// make these slots this process's slots. `next` is this process's first slot that has not come.
fn below(history: &History, end: &End, next: u64, moment: i64) -> Count {
    let slots = history.slots();
    let stop = end.no_later_than_first_without_slot(moment);
    let next = if stop < moment { earlier(next, history.first_from(stop)) } else { next };
    let has_any = slots.own_at(next).is_some_and(|own| own > 0);
    // The count just after this process's last slot that has come.
    let least = if has_any { slots.count_of(before(next)).saturating_add(1) } else { 0 };
    let most = slots.count_of(next);
    // Rounding may have carried the count beyond one of these two limits.
    let come = history.count_at(stop.saturating_sub(1)).saturating_add(1);
    come.min(most).max(least)
}
