//! The shape of a load: from counts to time, and back.

mod custom;
mod leaf;
mod level;
mod parse;
mod program;
mod rise;
mod search;

pub use custom::Curve;
pub use level::Level;

use crate::count::{Count, Fine, ONE, approximate, div_ceil, fine, whole};
use crate::error::ShapeError;
use crate::nanos::{duration, span_ns};
use leaf::Leaf;
use program::Program;
use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

/// How a load's rate goes over time.
#[derive(Clone, Debug)]
pub struct Shape {
    program: Arc<Program>,
    /// It is nothing but this, for ever.
    constant: Option<Level>,
}

/// What the rate does between the points of a [`Shape::table`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Between {
    /// It goes straight from each point to the next.
    Linear,
    /// It stays until the next point. The last point's is never reached: it is the end.
    Step,
}

impl Shape {
    /// Always the same rate, for ever.
    pub fn constant(level: impl Into<Level>) -> Shape {
        let level = level.into();
        let program = Program::Leaf(Leaf::hold(level.fine(), i64::MAX));
        Shape { program: Arc::new(program), constant: Some(level) }
    }

    /// The same rate for some time.
    pub fn hold(level: impl Into<Level>, time: Duration) -> Result<Shape, ShapeError> {
        Shape::leaf(Leaf::hold(level.into().fine(), part_ns(time)?))
    }

    /// Evenly from one rate to another.
    pub fn ramp(
        from: impl Into<Level>,
        to: impl Into<Level>,
        time: Duration,
    ) -> Result<Shape, ShapeError> {
        let (from, to) = (from.into().fine(), to.into().fine());
        let time_ns = part_ns(time)?;
        Shape::leaf(match from.cmp(&to) {
            Ordering::Less => Leaf::rise(from, to, time_ns),
            Ordering::Equal => Leaf::hold(from, time_ns),
            Ordering::Greater => Leaf::rise(to, from, time_ns).reversed(),
        })
    }

    /// One period of a raised cosine.
    pub fn sine(
        from: impl Into<Level>,
        to: impl Into<Level>,
        period: Duration,
    ) -> Result<Shape, ShapeError> {
        Shape::spike(from, to, period)
    }

    /// Evenly from one rate to another and back.
    pub fn spike(
        base: impl Into<Level>,
        peak: impl Into<Level>,
        time: Duration,
    ) -> Result<Shape, ShapeError> {
        Shape::ramp(base, peak, time / 2)?.mirrored()
    }

    /// Level by level, at equal distances, from one rate to another.
    pub fn ladder(
        from: impl Into<Level>,
        to: impl Into<Level>,
        steps: u32,
        each: Duration,
    ) -> Result<Shape, ShapeError> {
        let (from, to) = (from.into().fine(), to.into().fine());
        let last = steps.checked_sub(1).filter(|&last| last > 0).ok_or(ShapeError::TooFewSteps)?;
        let each = part_ns(each)?;
        let level = |step: u32| {
            let (past, left) = (Fine::from(step), Fine::from(last - step));
            div_ceil(from * left + to * past, Fine::from(last))
        };
        Shape::row((0..steps).map(|step| Program::leaf(Leaf::hold(level(step), each))))
    }

    /// Rates at moments.
    pub fn table(points: &[(Duration, Level)], between: Between) -> Result<Shape, ShapeError> {
        if points.len() < 2 || points[0].0 != Duration::ZERO {
            return Err(ShapeError::TableStart);
        }
        let mut shape: Option<Shape> = None;
        for pair in points.windows(2) {
            let ((start, from), (end, to)) = (pair[0], pair[1]);
            let time = end.checked_sub(start).filter(|time| !time.is_zero());
            let time = time.ok_or(ShapeError::TableOrder(end))?;
            let part = match between {
                Between::Linear => Shape::ramp(from, to, time)?,
                Between::Step => Shape::hold(from, time)?,
            };
            shape = Some(match shape {
                Some(shape) => shape.then(part)?,
                None => part,
            });
        }
        shape.ok_or(ShapeError::TableStart)
    }

    /// A curve of the user's own.
    pub fn custom(
        curve: impl Curve + 'static,
        time: Option<Duration>,
    ) -> Result<Shape, ShapeError> {
        let time_ns = time.map(part_ns).transpose()?;
        custom::check(&curve, time_ns)?;
        Shape::leaf(Leaf::custom(Arc::new(curve), time_ns.unwrap_or(i64::MAX)))
    }

    /// This shape, then the `next`.
    pub fn then(self, next: Shape) -> Result<Shape, ShapeError> {
        Arc::unwrap_or_clone(self.program).then(Arc::unwrap_or_clone(next.program)).map(Shape::of)
    }

    /// So many times.
    pub fn repeat(self, times: u64) -> Result<Shape, ShapeError> {
        if times == 0 {
            return Err(ShapeError::NoTimes);
        }
        Arc::unwrap_or_clone(self.program).cycle(Some(times)).map(Shape::of)
    }

    /// Again and again, without end.
    pub fn forever(self) -> Result<Shape, ShapeError> {
        Arc::unwrap_or_clone(self.program).cycle(None).map(Shape::of)
    }

    /// Backwards in time.
    pub fn reversed(self) -> Result<Shape, ShapeError> {
        self.program.reversed().map(Shape::of)
    }

    /// This shape, then backwards.
    pub fn mirrored(self) -> Result<Shape, ShapeError> {
        let back = self.clone().reversed()?;
        self.then(back)
    }

    /// How long it lasts; none if it never ends.
    #[must_use]
    pub fn duration(&self) -> Option<Duration> {
        Some(self.duration_ns()).filter(|&ns| ns < i64::MAX).map(duration)
    }

    /// How many slots it has, parts of a slot included; none if it never ends.
    #[must_use]
    pub fn count(&self) -> Option<f64> {
        self.duration().map(|_| approximate(self.program.total()))
    }

    /// How many slots there are by then, parts of a slot included.
    #[must_use]
    pub fn count_at(&self, elapsed: Duration) -> f64 {
        approximate(self.program.count_at(span_ns(elapsed)))
    }

    /// Slots per second. At a jump it is the later rate, and behind the end it is 0.
    #[must_use]
    pub fn rate_at(&self, elapsed: Duration) -> f64 {
        let leaf = self.program.leaf_at(span_ns(elapsed));
        leaf.map_or(0.0, |(leaf, time_ns)| leaf.rate_hz(time_ns))
    }

    /// The intended start of a slot.
    #[must_use]
    pub fn time_of(&self, slot: u64) -> Option<Duration> {
        let count = Count::from(slot) * ONE;
        if count >= whole(self.program.total()) {
            return None;
        }
        Some(self.time_of_count(count)).filter(|&ns| ns < i64::MAX).map(duration)
    }

    /// The highest rate, per second.
    #[must_use]
    pub fn peak(&self) -> f64 {
        self.program.peak_hz()
    }

    /// How many slots there are after so long: 0 before the beginning, all behind the end.
    pub(crate) fn count_at_ns(&self, elapsed_ns: i64) -> Count {
        whole(self.program.count_at(elapsed_ns))
    }

    /// The first nanosecond at which there are `count` slots; `i64::MAX`: never.
    pub(crate) fn time_of_count(&self, count: Count) -> i64 {
        self.program.time_of(fine(count))
    }

    /// `i64::MAX`: it never ends.
    pub(crate) fn duration_ns(&self) -> i64 {
        self.program.time_ns()
    }

    /// From `elapsed_ns` on, for so long, the chord of time by count is within 1 ns of the curve. A
    /// lower bound, at least 1; `i64::MAX` behind the end.
    #[cfg_attr(not(test), expect(dead_code, reason = "the schedule asks"))]
    pub(crate) fn straight_for_ns(&self, elapsed_ns: i64) -> i64 {
        let leaf = self.program.leaf_at(elapsed_ns.max(0));
        leaf.map_or(i64::MAX, |(leaf, time_ns)| leaf.straight_for(time_ns))
    }

    /// Its rate, if that is the same for ever.
    #[cfg_attr(not(test), expect(dead_code, reason = "the schedule asks"))]
    pub(crate) fn as_constant(&self) -> Option<Level> {
        self.constant
    }

    fn leaf(leaf: Leaf) -> Result<Shape, ShapeError> {
        Program::leaf(leaf).map(Shape::of)
    }

    fn row(
        parts: impl IntoIterator<Item = Result<Program, ShapeError>>,
    ) -> Result<Shape, ShapeError> {
        let parts: Result<Vec<_>, _> = parts.into_iter().collect();
        Program::row(parts?).map(Shape::of)
    }

    fn of(program: Program) -> Shape {
        Shape { program: Arc::new(program), constant: None }
    }
}

/// How long a part lasts, in nanoseconds.
fn part_ns(time: Duration) -> Result<i64, ShapeError> {
    match span_ns(time) {
        0 => Err(ShapeError::Empty),
        i64::MAX => Err(ShapeError::TooLong),
        time_ns => Ok(time_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(text: &str) -> Level {
        text.parse().unwrap()
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_ramp_of_500_slots() {
        let ramp = Shape::ramp(Level::ZERO, level("100/s"), 10 * SECOND).unwrap();
        assert_eq!(ramp.count(), Some(500.0));
        assert_eq!(ramp.time_of(0), Some(Duration::ZERO));
        assert_eq!(ramp.time_of(5), Some(SECOND));
        assert_eq!(ramp.time_of(1), Some(Duration::from_nanos(447_213_596)));
        assert_eq!(ramp.time_of(500), None);
        let down = ramp.clone().reversed().unwrap();
        assert_eq!(down.time_of(495), Some(9 * SECOND));
        assert_eq!(down.time_of(500), None);
        let hill = ramp.mirrored().unwrap().then(Shape::constant(level("1/s"))).unwrap();
        assert_eq!(hill.time_of(1_000), Some(20 * SECOND));
        assert_eq!(hill.time_of(1_001), Some(21 * SECOND));
    }
    #[test]
    fn straight() {
        let ramp = Shape::ramp(Level::ZERO, level("100/s"), 10 * SECOND).unwrap();
        assert!(ramp.straight_for_ns(0) < 10);
        assert_eq!(ramp.as_constant(), None);
    }
    #[test]
    fn forever() {
        let shape = Shape::hold(level("3/s"), SECOND)
            .unwrap()
            .then(Shape::hold(Level::ZERO, SECOND).unwrap())
            .unwrap();
        let shape = shape.forever().unwrap();
        assert_eq!(shape.time_of(3_000_000_003), Some(2_000_000_001 * SECOND));
        let none = Shape::hold(Level::ZERO, SECOND).unwrap().forever().unwrap();
        assert_eq!(none.time_of(0), None);
    }
}
