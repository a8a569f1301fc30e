//! Counts the slots that the load has asked for by a moment, regardless of late policies.
//!
//! Until a policy has moved a slot, the load's count is the count that the schedule has reached. From the first forfeit
//! on, until the load is corrected, the load's count is kept separately. Changes and pauses move it as they move the
//! schedule.
//!
//! A slot *has come* if its moment in the load as it was asked for has passed.

use super::end::End;
use super::history::History;
use super::load::Load;
use super::segment::Segment;
use crate::count::Count;
use crate::position::{before, earlier, first_after};

/// The load's own count of slots, kept besides a schedule that has forfeited time.
#[derive(Debug)]
pub(super) struct Asked {
    /// The moment at which the load in force has the count 0.
    origin: i64,
    /// The moment from which the load counts. It is when the piece in force came into force, or when the load began, if
    /// the load was corrected.
    since: i64,
    /// How many slots all loads together had asked for by `since`, with fractions of slots; or by the end by time, if
    /// the schedule ended before `since`.
    count: Count,
    /// The result of [`came_before`](Asked::came_before) for any moment up to `since`.
    came_before_since: Count,
    /// For moments after `since`, `came_before` is never below this. It includes the slots from before the load in
    /// force began. After a correction to less, that load alone would give a lower count.
    came_at_least: Count,
}

impl Asked {
    /// The count of a schedule that has not forfeited anything, or nothing since the load was corrected. `load` is the
    /// load in force.
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

    /// Moves the load to `span_ns` later.
    pub(super) fn shift(&mut self, span_ns: i64) {
        self.origin = self.origin.saturating_add(span_ns);
        self.since = self.since.saturating_add(span_ns);
    }

    /// How many slots all loads together have asked for by `time`, or by `since` if that is later, with fractions of
    /// slots. `load` is the load in force.
    pub(super) fn count_at(&self, load: &Load, time: i64) -> Count {
        let count_of_this = |time: i64| load.count_at_ns(time.saturating_sub(self.origin));
        self.count + count_of_this(time.max(self.since)) - count_of_this(self.since)
    }

    /// A count: all slots below it have come before `moment`. `load` is the load in force.
    pub(super) fn came_before(&self, load: &Load, moment: i64) -> Count {
        let last = moment.saturating_sub(1);
        if last < self.since {
            return self.came_before_since;
        }
        let is_waiting = load.is_waiting_at_ns(last.saturating_sub(self.origin));
        self.came_at_least.max(self.count_at(load, last) + Count::from(!is_waiting))
    }

    /// Records that another load begins now. `load` is the load that was in force until now.
    pub(super) fn change(&mut self, load: &Load, end: &End, now: i64) {
        let count = self.count_at(load, end.no_later_than_end(now));
        let came_before_since = self.came_before(load, end.no_later_than_first_without_slot(now));
        let came_at_least =
            self.came_before(load, end.no_later_than_first_without_slot(now.saturating_add(1)));
        *self = Asked { origin: now, since: now, count, came_before_since, came_at_least };
    }
}

/// A count: all slots of the whole load below it have come before `moment`. Some of them may belong to another process,
/// and can become this process's by a change of shard. `next` is this process's first slot that has not come.
fn below(history: &History, end: &End, next: u64, moment: i64) -> Count {
    let slots = history.slots();
    let stop = end.no_later_than_first_without_slot(moment);
    let next = if stop < moment { earlier(next, history.first_from(stop)) } else { next };
    let has_any = slots.own_at(next).is_some_and(|own| own > 0);
    // Just after this process's last slot that has come.
    let least = if has_any { slots.count_of(before(next)).saturating_add(1) } else { 0 };
    let most = slots.count_of(next);
    // Rounding may have carried the count past one of the two.
    let come = history.count_at(stop.saturating_sub(1)).saturating_add(1);
    come.min(most).max(least)
}
