//! Implements pieces of the schedule in floating point: a rate, or a shape with one formula for each part.

use super::slots::Slots;
use std::f64::consts::PI;
use std::sync::Arc;

/// Rates are per second, and times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) is_wave: bool,
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) time: f64,
}

impl Part {
    fn count_at(&self, time: f64) -> f64 {
        let half = if self.is_wave {
            let wave = PI / self.time;
            time - (wave * time).sin() / wave
        } else {
            time * time / self.time
        };
        (self.from * time + (self.to - self.from) * half / 2.0) / 1e9
    }

    fn count(&self) -> f64 {
        f64::midpoint(self.from, self.to) * self.time / 1e9
    }

    fn time_of(&self, count: f64) -> f64 {
        if self.is_wave {
            return self.search(count);
        }
        let made = count * 1e9;
        let square = self.from * self.from + 2.0 * (self.to - self.from) * made / self.time;
        if made > 0.0 { 2.0 * made / (self.from + square.max(0.0).sqrt()) } else { 0.0 }
    }

    fn search(&self, count: f64) -> f64 {
        let (mut low, mut high) = (0.0, self.time);
        while high - low > 1e-3 {
            let middle = f64::midpoint(low, high);
            *(if self.count_at(middle) < count { &mut low } else { &mut high }) = middle;
        }
        high
    }
}

#[derive(Debug)]
pub(crate) struct Curve {
    parts: Vec<(f64, f64, Part)>,
    time: f64,
    count: f64,
    forever: bool,
}

impl Curve {
    pub(crate) fn new(parts: &[Part], forever: bool) -> Curve {
        let (mut time, mut count) = (0.0, 0.0);
        let located = |&part: &Part| {
            let located = (time, count, part);
            (time, count) = (time + part.time, count + part.count());
            located
        };
        let parts = parts.iter().map(located).collect();
        Curve { parts, time, count, forever }
    }

    /// Unlike an interval, this curve begins at a given time, as every shape does.
    pub(super) fn constant(interval: f64) -> Curve {
        let rate = 1e9 / interval;
        Curve::new(&[Part { is_wave: false, from: rate, to: rate, time: 1e12 }], true)
    }

    fn time(&self) -> f64 {
        if self.forever { f64::INFINITY } else { self.time }
    }

    fn round(&self, time: f64) -> (f64, f64) {
        let rounds = if self.forever { (time.max(0.0) / self.time).floor() } else { 0.0 };
        (rounds, (time - rounds * self.time).max(0.0))
    }

    fn part_at(&self, time: f64) -> &(f64, f64, Part) {
        self.parts.iter().rfind(|(begins, ..)| *begins <= time).expect("the first begins at 0")
    }

    fn count_at(&self, time: f64) -> f64 {
        let (rounds, time) = self.round(time);
        let (begins, before, part) = self.part_at(time);
        let within =
            if time < self.time { before + part.count_at(time - begins) } else { self.count };
        rounds * self.count + within
    }

    fn is_flat_at(&self, time: f64) -> bool {
        let (_, time) = self.round(time);
        let (_, _, part) = self.part_at(time);
        time >= self.time || part.from + part.to == 0.0
    }

    /// Returns the first time at which there are more than `count` slots, or infinity if there is no such time. If
    /// rounding may have moved the time away from the beginning of a part, returns that beginning. Without this rule,
    /// even a tiny error of the count would shift the result by nanoseconds where a rate rises from zero.
    fn time_of(&self, count: f64) -> f64 {
        if count < 0.0 {
            return 0.0;
        }
        let lost = 4.0 * f64::EPSILON * count;
        let rounds = if self.forever { ((count + lost) / self.count).floor() } else { 0.0 };
        let count = (count - rounds * self.count).max(0.0);
        if count >= self.count && !self.forever {
            return f64::INFINITY;
        }
        let part = self.parts.iter().rfind(|(_, before, _)| *before <= count + lost);
        let (begins, before, part) = part.expect("the first begins at 0");
        let made = if count - before > lost { count - before } else { 0.0 };
        rounds * self.time + begins + part.time_of(made)
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Pace {
    /// A constant interval in nanoseconds.
    Interval(f64),
    Shape(Arc<Curve>, f64),
}

impl Pace {
    pub(super) fn ends(&self) -> f64 {
        match self {
            Pace::Interval(_) => f64::INFINITY,
            Pace::Shape(curve, origin) => origin + curve.time(),
        }
    }

    pub(super) fn is_shape(&self) -> bool {
        matches!(self, Pace::Shape(..))
    }

    pub(super) fn interval(&self) -> Option<f64> {
        match self {
            Pace::Interval(interval) => Some(*interval),
            Pace::Shape(..) => None,
        }
    }

    /// A constant rate is a line only if slot n lies at the count n. Otherwise the constant rate becomes a shape.
    pub(super) fn over(self, slots: &Slots, origin: f64) -> Pace {
        match self.interval().filter(|_| !slots.is_plain) {
            Some(interval) => Pace::Shape(Arc::new(Curve::constant(interval)), origin),
            None => self,
        }
    }

    pub(super) fn shift(&mut self, span: f64) {
        if let Pace::Shape(_, origin) = self {
            *origin += span;
        }
    }
}

/// A segment that reaches `count` at `time`. The slots before and after `count` follow at `ratio` times the pace.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) pace: Pace,
    ratio: f64,
    count: f64,
    time: f64,
}

impl Segment {
    pub(super) fn through(pace: &Pace, ratio: f64, count: f64, time: f64) -> Segment {
        Segment { pace: pace.clone(), ratio, count, time }
    }

    pub(super) fn again(&self, count: f64, time: f64) -> Segment {
        Segment { count, time, ..self.clone() }
    }

    pub(super) fn count_at(&self, time: f64) -> f64 {
        let made = match &self.pace {
            Pace::Interval(interval) => (time - self.time) / interval,
            Pace::Shape(curve, origin) => {
                curve.count_at(time - origin) - curve.count_at(self.time - origin)
            }
        };
        self.count + made * self.ratio
    }

    pub(super) fn time_of(&self, count: f64) -> f64 {
        let made = (count - self.count) / self.ratio;
        match &self.pace {
            Pace::Interval(interval) => self.time + made * interval,
            Pace::Shape(curve, origin) => {
                origin + curve.time_of(curve.count_at(self.time - origin) + made)
            }
        }
    }

    pub(super) fn is_flat_at(&self, time: f64) -> bool {
        matches!(&self.pace, Pace::Shape(curve, origin) if curve.is_flat_at(time - origin))
    }

    pub(super) fn blur(&self, time: f64, nanos: f64) -> f64 {
        let [before, here, behind] = [-nanos, 0.0, nanos].map(|off| self.count_at(time + off));
        (here - before).max(behind - here)
    }

    pub(super) fn shift(&mut self, span: f64) {
        self.time += span;
        self.pace.shift(span);
    }
}
