//! Defines a segment that follows a shape and need not be straight.
//!
//! Two counts run along a curve. The *shape's count* begins at 0 with the shape. Slots have positions on the *load's
//! count*. At the time `since`, the two counts are `shape_since` and `load_since`. When the shape's count grows by one,
//! the load's count grows by `ratio_q32` / 2^32.
//!
//! Usually `since` is the beginning of the segment. For a *corrected* load
//! ([`History::correct`](super::history::History::correct)), it is the beginning of the load, where the load's count
//! was 0. The anchor is then the position that the load had reached when it was corrected, which may be before or after
//! the position that the new shape has reached.
//!
//! Times are rounded as for a [`Line`](super::Line), so `time_of(p) <= t` is equivalent to `p <= position_at(t)`,
//! except that all positions up to the anchor stay reached while the rate is zero.

use super::slots::Slots;
use crate::count::{Count, ONE, slots};
use crate::position::{RANGE, SLOT, later};
use crate::shape::Shape;
use std::cell::Cell;

#[derive(Clone, Debug)]
pub(crate) struct Curve {
    pub(crate) shape: Shape,
    pub(crate) origin: i64,
    pub(crate) position: u64,
    /// The time to which `load_since` and `shape_since` belong: when the segment begins, or when a corrected load
    /// began. It can't be derived from these counts, which stay the same for a long time where the shape is very slow.
    pub(crate) since: i64,
    /// The load's count at `since`: 0 for a corrected load. Otherwise it usually exceeds the count of `position` by up
    /// to a tick. The excess is larger if it was not known which slots come next, and negative after a correction to a
    /// smaller load.
    load_since: Count,
    shape_since: Count,
    pub(crate) ratio_q32: u64,
    /// The time that was computed last. It is cached because a start needs the same time several times.
    known: Cell<Known>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// The revision of the schedule for which the time was computed; 0 if no time has been computed yet.
    revision: u64,
    position: u64,
    time: i64,
}

pub(crate) const ONE_Q32: u64 = 1 << 32;

impl Curve {
    pub(crate) fn new(
        shape: &Shape,
        origin: i64,
        now: i64,
        position: u64,
        load_since: Count,
    ) -> Curve {
        Curve {
            shape: shape.clone(),
            origin,
            position,
            since: now,
            load_since,
            shape_since: shape.count_at_ns(now.saturating_sub(origin)),
            ratio_q32: ONE_Q32,
            known: Cell::default(),
        }
    }

    pub(crate) fn times(self, ratio_q32: u64) -> Curve {
        Curve { ratio_q32, ..self }
    }

    pub(crate) fn anchored(self, position: u64) -> Curve {
        Curve { position, ..self }
    }

    #[inline]
    pub(crate) fn time_of(&self, position: u64, slots: &Slots) -> i64 {
        self.time_of_count(slots.count_of(position))
    }

    #[inline]
    pub(crate) fn known_time(&self, position: u64, revision: u64) -> Option<i64> {
        let known = self.known.get();
        ((known.revision, known.position) == (revision, position)).then_some(known.time)
    }

    #[inline]
    pub(crate) fn time_in(&self, revision: u64, position: u64, slots: &Slots) -> i64 {
        self.known_time(position, revision).unwrap_or_else(|| {
            let time = self.time_of(position, slots);
            self.known.set(Known { revision, position, time });
            time
        })
    }

    /// Returns `i64::MAX` if the count is never reached or not known yet ([`Count::MAX`]).
    #[inline]
    fn time_of_count(&self, load_count: Count) -> i64 {
        if load_count == Count::MAX {
            return i64::MAX;
        }
        let time_of =
            |shape_count| self.origin.saturating_add(self.shape.time_of_count(shape_count));
        if load_count < self.load_since {
            // That count lies before the segment. If the count also lies before the shape, the slot starts when the
            // shape begins: it does not wait until the rate rises from zero.
            let less = self.load_to_shape(self.load_since - load_count);
            return self.shape_since.checked_sub(less).map_or(self.origin, time_of);
        }
        let more = self.load_to_shape(load_count - self.load_since);
        time_of(self.shape_since.saturating_add(more)).max(self.since)
    }

    /// While the rate is zero, a slot exactly at the count of `time` is not reached: it waits until the rate rises
    /// again. The result is then never before the anchor, because the slots up to the anchor were reached before this
    /// piece began. While the rate is not zero, the result can be before the anchor after a correction to a smaller
    /// load.
    pub(crate) fn position_at(&self, time: i64, slots: &Slots) -> u64 {
        let (reached, is_waiting) = self.reached_at(time);
        let reached = reached.map(|count| slots.position_by(count));
        if is_waiting {
            return reached.map_or(self.position, |reached| later(reached, self.position));
        }
        reached.unwrap_or(self.position)
    }

    pub(crate) fn is_known_until(&self, time: i64, slots: &Slots) -> bool {
        self.reached_at(time).0.is_none_or(|count| slots.is_known_until(count))
    }

    /// Returns the last count that is reached at `time`, if any, and whether slots are waiting, because the rate is
    /// zero or the shape has not begun or has ended. A waiting slot exactly at the shape's count is not reached.
    fn reached_at(&self, time: i64) -> (Option<Count>, bool) {
        let elapsed_ns = time.saturating_sub(self.origin);
        let shape_count = self.shape.count_at_ns(elapsed_ns);
        let is_waiting = elapsed_ns < 0 || self.shape.is_waiting_at_ns(elapsed_ns, shape_count);
        (self.load_at(shape_count).checked_sub(Count::from(is_waiting)), is_waiting)
    }

    pub(crate) fn shift(&mut self, span_ns: i64) {
        self.origin = self.origin.saturating_add(span_ns);
        self.since = self.since.saturating_add(span_ns);
    }

    pub(crate) fn count_at(&self, time: i64) -> Count {
        self.load_at(self.shape.count_at_ns(time.saturating_sub(self.origin)))
    }

    pub(crate) fn slots_after(&self, first: Count, time: i64) -> f64 {
        slots(self.count_at(time).saturating_sub(first))
    }

    fn load_at(&self, shape_count: Count) -> Count {
        if shape_count >= self.shape_since {
            self.load_since.saturating_add(self.shape_to_load(shape_count - self.shape_since))
        } else {
            self.load_since.saturating_sub(self.shape_to_load(self.shape_since - shape_count))
        }
    }

    #[inline]
    fn load_to_shape(&self, more: Count) -> Count {
        if self.ratio_q32 == ONE_Q32 {
            return more;
        }
        let ratio = Count::from(self.ratio_q32);
        let (whole, rest) = (more / ratio, more % ratio);
        whole.saturating_mul(ONE_Q32.into()).saturating_add((rest << 32).div_ceil(ratio))
    }

    fn shape_to_load(&self, more: Count) -> Count {
        if self.ratio_q32 == ONE_Q32 {
            return more;
        }
        let ratio = Count::from(self.ratio_q32);
        let (whole, rest) = (more >> 32, more & Count::from(ONE_Q32 - 1));
        whole.saturating_mul(ratio).saturating_add((rest * ratio) >> 32)
    }

    /// `first` is the count of a slot that was reached within the nanosecond before `time`. A line may not begin where
    /// the rate drops: at the lower rate, the count from `first` on would take longer than a nanosecond.
    pub(crate) fn may_begin_at(&self, first: Count, time: i64) -> bool {
        // Where the rate does not jump, the counts need not be compared.
        if self.shape.is_smooth_at(time.saturating_sub(self.origin)) {
            return true;
        }
        let [now, next] = [time, time.saturating_add(1)].map(|time| self.count_at(time));
        now.saturating_sub(first) <= next.saturating_sub(now)
    }

    pub(crate) fn straight(&self, time: i64) -> (i64, bool) {
        self.shape.straight_ns(time.saturating_sub(self.origin))
    }

    pub(crate) fn bent_ns(&self, time: i64) -> i64 {
        self.shape.bent_ns(time.saturating_sub(self.origin))
    }

    /// The curve's ratio must be 1.
    #[expect(clippy::cast_possible_truncation, reason = "saturates, as it should")]
    pub(crate) fn interval_ns(&self, time: i64) -> i64 {
        let hz = self.shape.rate_at_ns(time.saturating_sub(self.origin));
        if hz > 0.0 { (1e9 / hz) as i64 } else { i64::MAX }
    }

    pub(crate) fn oldest(&self, now: i64) -> i64 {
        let range = Count::from(RANGE.unsigned_abs() / SLOT) * ONE;
        self.count_at(now).checked_sub(range).map_or(i64::MIN, |count| self.time_of_count(count))
    }
}
