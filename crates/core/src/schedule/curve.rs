//! A piece of schedule that need not be straight: a shape from a moment on, for slots that lie
//! wherever the arrival process puts them.
//!
//! Rounding as for a [`Line`](super::Line): a position's time is the first whole nanosecond at which
//! the shape has made its count, so `time_of(p) <= t` says exactly the same as
//! `p <= position_at(t)`.

use super::slots::Slots;
use crate::count::{Count, ONE};
use crate::position::{RANGE, SLOT, later};
use crate::shape::Shape;
use std::cell::Cell;

/// A piece of schedule that follows a shape.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    pub(crate) shape: Shape,
    /// The moment at which the shape begins, in nanoseconds of the clock.
    pub(crate) origin: i64,
    /// The piece holds behind this position.
    pub(crate) position: u64,
    /// This count lies there, or before it if a load was corrected to less,
    count: Count,
    /// and is reached at this moment: the shape may be too slow for its counts to tell moments
    /// apart,
    pub(crate) since: i64,
    /// which is when the shape has made this count.
    made: Count,
    /// How many slots there are for one of the shape's, in units of 2^-32.
    pub(crate) ratio_q32: u64,
    /// The last time that was asked for: a start asks several times for one.
    known: Cell<Known>,
}

/// The time of a position, in a revision of the schedule.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    revision: u64,
    position: u64,
    time: i64,
}

/// The ratio of one.
pub(crate) const WHOLE: u64 = 1 << 32;

impl Curve {
    /// The piece in which `count` is reached at `now`, behind `position`.
    pub(crate) fn new(shape: &Shape, origin: i64, now: i64, position: u64, count: Count) -> Curve {
        let made = shape.count_at_ns(now.saturating_sub(origin));
        let known = Cell::default();
        Curve {
            shape: shape.clone(),
            origin,
            position,
            count,
            since: now,
            made,
            ratio_q32: WHOLE,
            known,
        }
    }

    /// The same, but so many times as fast.
    pub(crate) fn times(self, ratio_q32: u64) -> Curve {
        Curve { ratio_q32, ..self }
    }

    /// The same, but behind another position.
    pub(crate) fn behind(self, position: u64) -> Curve {
        Curve { position, ..self }
    }

    pub(crate) fn time_of(&self, position: u64, slots: &Slots) -> i64 {
        self.time_of_count(slots.count_of(position))
    }

    /// [`time_of`](Curve::time_of), if that is what was asked for last.
    pub(crate) fn known_time(&self, position: u64, revision: u64) -> Option<i64> {
        let known = self.known.get();
        ((known.revision, known.position) == (revision, position)).then_some(known.time)
    }

    /// [`time_of`](Curve::time_of), kept as long as the schedule is in this revision.
    pub(crate) fn time_in(&self, revision: u64, position: u64, slots: &Slots) -> i64 {
        self.known_time(position, revision).unwrap_or_else(|| {
            let time = self.time_of(position, slots);
            self.known.set(Known { revision, position, time });
            time
        })
    }

    /// When `count` is reached; `i64::MAX` if never.
    fn time_of_count(&self, count: Count) -> i64 {
        if count == Count::MAX {
            return i64::MAX;
        }
        let time_of = |made| self.origin.saturating_add(self.shape.time_of_count(made));
        if count < self.count {
            // What was reached before the shape began does not wait for its rate to rise from zero.
            let made = self.made.checked_sub(self.shapes(self.count - count));
            return made.map_or(self.origin, time_of);
        }
        time_of(self.made.saturating_add(self.shapes(count - self.count))).max(self.since)
    }

    /// The last position that is reached at `time`. While the rate is zero, that is not the one at
    /// the count so far: it comes when the rate rises again, unless it has come before this piece.
    pub(crate) fn position_at(&self, time: i64, slots: &Slots) -> u64 {
        let (reached, is_waiting) = self.reached_at(time);
        let reached = reached.map(|count| slots.position_by(count));
        if is_waiting {
            return reached.map_or(self.position, |reached| later(reached, self.position));
        }
        reached.unwrap_or(self.position)
    }

    /// Whether it is known which slots are reached by `time`.
    pub(crate) fn is_known_until(&self, time: i64, slots: &Slots) -> bool {
        self.reached_at(time).0.is_none_or(|count| slots.is_known_until(count))
    }

    /// The last count whose slot is reached at `time`, none if there is none; and whether that is the
    /// one before the count so far: while the rate is zero, and before the shape begins.
    fn reached_at(&self, time: i64) -> (Option<Count>, bool) {
        let elapsed_ns = time.saturating_sub(self.origin);
        let made = self.shape.count_at_ns(elapsed_ns);
        let is_waiting = elapsed_ns < 0 || self.shape.is_waiting_at_ns(elapsed_ns, made);
        (self.count_when(made).checked_sub(Count::from(is_waiting)), is_waiting)
    }

    /// Everything is `span_ns` later.
    pub(crate) fn shift(&mut self, span_ns: i64) {
        self.origin = self.origin.saturating_add(span_ns);
        self.since = self.since.saturating_add(span_ns);
    }

    /// The count that is reached at `time`.
    pub(crate) fn count_at(&self, time: i64) -> Count {
        self.count_when(self.shape.count_at_ns(time.saturating_sub(self.origin)))
    }

    /// The count that is reached when the shape has made this one.
    fn count_when(&self, made: Count) -> Count {
        if made >= self.made {
            self.count.saturating_add(self.own(made - self.made))
        } else {
            self.count.saturating_sub(self.own(self.made - made))
        }
    }

    /// How much of the shape so many slots take.
    fn shapes(&self, slots: Count) -> Count {
        if self.ratio_q32 == WHOLE {
            return slots;
        }
        let ratio = Count::from(self.ratio_q32);
        let (whole, rest) = (slots / ratio, slots % ratio);
        whole.saturating_mul(WHOLE.into()).saturating_add((rest << 32).div_ceil(ratio))
    }

    /// How many slots so much of the shape makes.
    fn own(&self, made: Count) -> Count {
        if self.ratio_q32 == WHOLE {
            return made;
        }
        let ratio = Count::from(self.ratio_q32);
        let (whole, rest) = (made >> 32, made & Count::from(WHOLE - 1));
        whole.saturating_mul(ratio).saturating_add((rest * ratio) >> 32)
    }

    /// From `time` on, for so long, a chord is within 1 ns of the curve; and whether the rate falls.
    pub(crate) fn straight(&self, time: i64) -> (i64, bool) {
        self.shape.straight_ns(time.saturating_sub(self.origin))
    }

    /// How far apart slots are at `time`, in nanoseconds, on average.
    #[expect(clippy::cast_possible_truncation, reason = "saturates, as it should")]
    pub(crate) fn interval_ns(&self, time: i64) -> i64 {
        let hz = self.shape.rate_at_ns(time.saturating_sub(self.origin));
        if hz > 0.0 { (1e9 / hz) as i64 } else { i64::MAX }
    }

    /// Slots that were reached before this are later than the range at `now`.
    pub(crate) fn oldest(&self, now: i64) -> i64 {
        let range = Count::from(RANGE.unsigned_abs() / SLOT) * ONE;
        self.count_at(now).checked_sub(range).map_or(i64::MIN, |count| self.time_of_count(count))
    }
}
