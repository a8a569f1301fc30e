//! How many slots the load has had by a moment, whatever a late policy has done to them.
//!
//! While no policy has moved a slot, the load is where the schedule is. From the first time that is
//! given up, its count is kept apart, and changes and pauses move it as they move the schedule.

use super::course::Course;
use super::{Load, Schedule};
use crate::Level;
use crate::count::{Count, Fine, approximate, fine, whole};
use crate::position::{before, earlier, first_after};

/// The load as it was asked for, of which the schedule has given up some time.
#[derive(Debug)]
pub(super) struct Asked {
    /// When the load in force began, by its own time.
    origin: i64,
    /// From when on it has been in force.
    since: i64,
    /// How far all loads had come then, or at the schedule's end if that was before.
    count: Count,
    /// Slots that lie below this count had come by then.
    come: Count,
}

impl Asked {
    /// The load as long as it is where the schedule is.
    fn new(schedule: &Schedule) -> Asked {
        let slots = schedule.history.slots();
        let (origin, since, count, first) = match schedule.history.current() {
            Course::Curve(curve) => (
                curve.origin,
                curve.since,
                curve.count_at(curve.since),
                first_after(curve.position),
            ),
            // The slot at its anchor comes then.
            Course::Line(line) => {
                let first = first_after(line.position.wrapping_sub(1));
                (line.time, line.time, slots.count_of(line.position), first)
            }
        };
        let end = schedule.end.before(since);
        let count = if end < since { schedule.history.count_at(end) } else { count };
        let first = schedule.end().map_or(first, |end| earlier(first, end));
        let has_any = slots.number(first).is_some_and(|slots| slots > 0);
        let come = if has_any { slots.count_of(before(first)).saturating_add(1) } else { 0 };
        Asked { origin, since, count, come }
    }

    pub(super) fn shift(&mut self, span_ns: i64) {
        self.origin = self.origin.saturating_add(span_ns);
        self.since = self.since.saturating_add(span_ns);
    }

    fn count_at(&self, load: &Load, time: i64) -> Count {
        let made_by = |time: i64| load.count_at_ns(time.saturating_sub(self.origin));
        self.count + made_by(time.max(self.since)) - made_by(self.since)
    }

    /// Slots that lie below this count come before `moment`.
    fn come_before(&self, load: &Load, moment: i64) -> Count {
        let last = moment.saturating_sub(1);
        if last < self.since {
            return self.come;
        }
        let is_waiting = load.is_waiting_at_ns(last.saturating_sub(self.origin));
        self.come.max(self.count_at(load, last) + Count::from(!is_waiting))
    }
}

impl Load {
    /// How many slots there are after so long.
    fn count_at_ns(&self, elapsed_ns: i64) -> Count {
        match self {
            Load::Rate(rate) => {
                let elapsed_ns = elapsed_ns.max(0).unsigned_abs();
                whole(Level::from(*rate).fine() * Fine::from(elapsed_ns))
            }
            Load::Shape(shape) => shape.count_at_ns(elapsed_ns),
        }
    }

    /// Whether the slot that lies at the count by then has not come.
    fn is_waiting_at_ns(&self, elapsed_ns: i64) -> bool {
        let shape = self.shape();
        shape.is_some_and(|it| it.is_waiting_at_ns(elapsed_ns, it.count_at_ns(elapsed_ns)))
    }
}

impl Schedule {
    /// How many of this process's slots the load has had before `moment`, which is not before the
    /// last change of the load or the last pause.
    pub(crate) fn asked_before(&self, moment: i64) -> u64 {
        let (moment, slots) = (self.stopped(moment), self.history.slots());
        let Some(asked) = &self.asked else {
            return slots.number(self.first_from(moment)).unwrap_or(0);
        };
        let come = asked.come_before(&self.load, self.end.behind(moment));
        come.checked_sub(1).map_or(0, |last| slots.own_by(last)).min(self.end.most())
    }

    /// The same with parts of slots: as many as there are on average, where they lie at random.
    pub(crate) fn asked_count(&self, moment: i64) -> f64 {
        let slots = self.history.slots();
        if slots.is_recorded() {
            return float(self.asked_before(moment));
        }
        let time = self.end.before(self.paused_since.map_or(moment, |since| moment.min(since)));
        approximate(fine(slots.share_of(self.count_at(time)))).min(float(self.end.most()))
    }

    /// How far the load has come at `time`.
    fn count_at(&self, time: i64) -> Count {
        match (&self.asked, &self.load, self.history.current()) {
            (Some(asked), ..) => asked.count_at(&self.load, time),
            // The line itself knows it to a nanosecond.
            (None, Load::Rate(_), Course::Line(line)) if line.time <= time => {
                let here = self.history.slots().count_of(line.position);
                here + self.load.count_at_ns(time - line.time)
            }
            _ => self.history.count_at(time),
        }
    }

    /// The moment, or that behind the beginning of the pause: nothing comes after that.
    pub(super) fn stopped(&self, moment: i64) -> i64 {
        self.paused_since.map_or(moment, |since| moment.min(since.saturating_add(1)))
    }

    /// The first slot that is intended to start at `moment` or later, or the end before that.
    pub(super) fn first_from(&self, moment: i64) -> u64 {
        let first = self.history.first_from(moment);
        self.end().map_or(first, |end| earlier(first, end))
    }

    /// Another load is about to begin, or a part of it, at `origin`.
    pub(super) fn change_asked(&mut self, origin: i64, now: i64) {
        if let Some(asked) = &mut self.asked {
            let count = asked.count_at(&self.load, self.end.before(now));
            let come = asked.come_before(&self.load, self.end.behind(now.saturating_add(1)));
            **asked = Asked { origin, since: now, count, come };
        }
    }

    /// Before time is given up for the first time: the load goes on as the schedule was.
    pub(super) fn part_from_load(&mut self) {
        if self.asked.is_none() {
            self.asked = Some(Box::new(Asked::new(self)));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "far fewer slots than 2^53, or as good as infinite")]
fn float(slots: u64) -> f64 {
    slots as f64
}
