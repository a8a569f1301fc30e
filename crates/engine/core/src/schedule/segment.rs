//! Defines a segment of the schedule: a line or a curve that gives the starts of the slots after its anchor.
//!
//! A *count* is the number of slots that the whole load has reached by a given time, with a fraction of the next slot.

use super::curve::Curve;
use super::line::Line;
use super::slots::Slots;
use crate::count::Count;
use crate::position::{RANGE, REACH, SLOT, ticks_between};
use crate::scale::Scale;
use crate::shape::Shape;

#[derive(Clone, Debug)]
pub(crate) enum Segment {
    /// A segment at a constant rate. It requires even arrivals, and that this process has every slot: slot n is
    /// intended to start when the count reaches n.
    Line(Line),
    /// A segment along a shape, which may be constant. It is boxed, so that a pacer that stores many lines stays small.
    Curve(Box<Curve>),
}

#[derive(Clone, Debug)]
pub(crate) enum Speed {
    /// The length of a tick of a [`Line`].
    Scale(Scale),
    /// A shape that begins at `origin`, at `ratio_q32` times its rate. The ratio is in units of 2^-32.
    Shape { shape: Shape, origin: i64, ratio_q32: u64 },
}

impl Segment {
    pub(crate) fn anchor(&self) -> u64 {
        match self {
            Segment::Line(line) => line.position,
            Segment::Curve(curve) => curve.position,
        }
    }

    pub(crate) fn time_of(&self, position: u64, slots: &Slots) -> i64 {
        match self {
            Segment::Line(line) => line.time_of(position),
            Segment::Curve(curve) => curve.time_of(position, slots),
        }
    }

    pub(crate) fn position_at(&self, time: i64, slots: &Slots) -> u64 {
        match self {
            Segment::Line(line) => line.position_at(time),
            Segment::Curve(curve) => curve.position_at(time, slots),
        }
    }

    pub(crate) fn count_at(&self, time: i64, slots: &Slots) -> Count {
        match self {
            Segment::Line(line) => line.count_at(time, slots.count_of(line.position_at(time))),
            Segment::Curve(curve) => curve.count_at(time),
        }
    }

    /// The fraction of the current interval that has passed at `now` also counts at the new speed.
    pub(crate) fn continued(&self, speed: &Speed, now: i64, slots: &Slots) -> Segment {
        let position = self.position_at(now, slots);
        match (self, speed) {
            (Segment::Line(line), &Speed::Scale(scale)) => {
                Segment::Line(line.continued(now, scale))
            }
            (Segment::Curve(curve), &Speed::Scale(scale)) => {
                let count = curve.count_at(now);
                // After a correction to a smaller load, the curve may not have reached its anchor yet.
                let is_reached = slots.count_of(position) <= count;
                let position = if is_reached { position } else { slots.position_by(count) };
                let ahead = count.saturating_sub(slots.count_of(position));
                Segment::Line(Line::ahead_of(position, ahead, now, scale))
            }
            (_, Speed::Shape { shape, origin, ratio_q32 }) => {
                let count = self.count_at(now, slots);
                let curve = Curve::new(shape, *origin, now, position, count);
                Segment::Curve(curve.times(*ratio_q32).into())
            }
        }
    }

    pub(crate) fn anchored_no_earlier(self, position: u64) -> Segment {
        if ticks_between(self.anchor(), position) <= 0 { self } else { self.anchored(position) }
    }

    pub(crate) fn anchored(self, position: u64) -> Segment {
        match self {
            Segment::Line(line) => Segment::Line(line.anchored(position)),
            Segment::Curve(curve) => Segment::Curve(curve.anchored(position).into()),
        }
    }

    pub(crate) fn starting(speed: &Speed, time: i64) -> Segment {
        match speed {
            &Speed::Scale(scale) => Segment::Line(Line { time, position: 0, scale }),
            Speed::Shape { shape, origin, ratio_q32 } => {
                // A curve counts its anchor as reached, so its anchor lies before slot 0. A line reaches its anchor,
                // slot 0, at `time`.
                let curve = Curve::new(shape, *origin, time, 0_u64.wrapping_sub(1), 0);
                Segment::Curve(curve.times(*ratio_q32).into())
            }
        }
    }

    pub(crate) fn through(speed: &Speed, position: u64, time: i64, slots: &Slots) -> Segment {
        match speed {
            &Speed::Scale(scale) => Segment::Line(Line { time, position, scale }),
            Speed::Shape { shape, origin, ratio_q32 } => {
                let curve = Curve::new(shape, *origin, time, position, slots.count_of(position));
                Segment::Curve(curve.times(*ratio_q32).into())
            }
        }
    }

    pub(crate) fn speed(&self) -> Speed {
        match self {
            Segment::Line(line) => Speed::Scale(line.scale),
            Segment::Curve(curve) => Speed::Shape {
                shape: curve.shape.clone(),
                origin: curve.origin,
                ratio_q32: curve.ratio_q32,
            },
        }
    }

    pub(crate) fn shift(&mut self, span_ns: i64) {
        match self {
            Segment::Line(line) => line.time = line.time.saturating_add(span_ns),
            Segment::Curve(curve) => curve.shift(span_ns),
        }
    }

    /// Returns the average time between the slots of the whole load at `time`, in nanoseconds.
    pub(crate) fn interval_ns(&self, time: i64) -> i64 {
        match self {
            Segment::Line(line) => line.scale.nanos(SLOT),
            Segment::Curve(curve) => curve.interval_ns(time),
        }
    }

    /// Returns the oldest intended start that is within the [`RANGE`] of positions at `now`.
    pub(crate) fn oldest(&self, now: i64) -> i64 {
        match self {
            Segment::Line(line) => now.saturating_sub(line.scale.nanos(RANGE.unsigned_abs())),
            Segment::Curve(curve) => curve.oldest(now),
        }
    }

    /// Returns whether the anchor should be moved. Must be fast, because it is called at every start under the lock.
    pub(crate) fn is_far(&self, next: u64, now: i64) -> bool {
        match self {
            // Beyond its reach, a line can't compute which position it has reached. If the anchor were moved at such a
            // time, the count of the requested load would be too small. Lateness beyond the range is forfeited instead,
            // and that creates a new anchor nearby.
            Segment::Line(line) => line.has_reached(RANGE, now) && !line.has_reached(REACH, now),
            // A curve is computed from counts. Its anchor is only compared with positions.
            Segment::Curve(curve) => ticks_between(curve.position, next) > RANGE,
        }
    }
}

impl Speed {
    pub(crate) fn is_same(&self, other: &Speed) -> bool {
        match (self, other) {
            (Speed::Scale(a), Speed::Scale(b)) => a == b,
            (
                Speed::Shape { shape, origin, ratio_q32 },
                Speed::Shape { shape: other, origin: other_origin, ratio_q32: other_ratio },
            ) => shape.is_same(other) && origin == other_origin && ratio_q32 == other_ratio,
            _ => false,
        }
    }
}
