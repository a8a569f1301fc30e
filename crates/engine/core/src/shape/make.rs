//! Builds the parts of shapes.

use super::leaf::Leaf;
use super::program::Program;
use super::show::{Text, time_text};
use super::{Between, Curve, Level, Shape, custom, part_ns, rising};
use crate::count::{Fine, div_ceil};
use crate::error::ShapeError;
use std::sync::Arc;
use std::time::Duration;

impl Shape {
    /// Returns a constant rate that never ends. The count is `rate * t`.
    ///
    /// ```text
    /// | _____________ ...
    /// |
    /// +-------------- ...
    /// ```
    ///
    /// ```
    /// use nanopace::{Rate, Shape};
    /// use std::time::Duration;
    ///
    /// let shape = Shape::constant(Rate::per_second(4)?);
    /// assert_eq!(shape.time_of(3), Some(Duration::from_millis(750)));
    /// assert_eq!(shape.duration(), None);
    /// # Ok::<(), nanopace::RateError>(())
    /// ```
    pub fn constant(level: impl Into<Level>) -> Shape {
        let level = level.into();
        let program = Program::Leaf(Leaf::hold(level.fine(), i64::MAX));
        Shape::of(program, Text::Hold(level, i64::MAX))
    }

    /// Returns a constant rate for `time`. The count is `rate * t`.
    ///
    /// ```text
    /// |  ___________
    /// | |           |
    /// +-+-----------+-
    /// ```
    ///
    /// ```
    /// use nanopace::{Level, Rate, Shape};
    /// use std::time::Duration;
    ///
    /// let shape = Shape::hold(Rate::per_second(4)?, Duration::from_secs(10))?;
    /// assert_eq!(shape.time_of(39), Some(Duration::from_millis(9_750)));
    /// assert_eq!(shape.time_of(40), None);
    /// // Nothing starts for a while:
    /// let pause = Shape::hold(Level::ZERO, Duration::from_secs(5))?;
    /// assert_eq!(pause.time_of(0), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ShapeError::Empty`] if `time` is zero. Returns [`ShapeError::TooLong`] or
    /// [`ShapeError::TooManySlots`] if the shape exceeds a limit of [`Shape`].
    pub fn hold(level: impl Into<Level>, time: Duration) -> Result<Shape, ShapeError> {
        let level = level.into();
        let time_ns = part_ns(time)?;
        Shape::leaf(Leaf::hold(level.fine(), time_ns), Text::Hold(level, time_ns))
    }

    /// Returns a linear change from one rate to another. The count is `from * t + (to - from) * t^2 / (2 * time)`.
    ///
    /// ```text
    /// |        .
    /// |    . '
    /// |. '
    /// +---------
    /// ```
    ///
    /// Slot n of a ramp from zero starts at `sqrt(2 n time / to)`:
    ///
    /// ```
    /// use nanopace::{Level, Rate, Shape};
    /// use std::time::Duration;
    ///
    /// let shape = Shape::ramp(Level::ZERO, Rate::per_second(100)?, Duration::from_secs(10))?;
    /// assert_eq!(shape.count(), Some(500.0));
    /// assert_eq!(shape.time_of(1), Some(Duration::from_nanos(447_213_596)));
    /// assert_eq!(shape.time_of(5), Some(Duration::from_secs(1)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ShapeError::Empty`] if `time` is zero. Returns [`ShapeError::TooLong`] or
    /// [`ShapeError::TooManySlots`] if the shape exceeds a limit of [`Shape`].
    pub fn ramp(
        from: impl Into<Level>,
        to: impl Into<Level>,
        time: Duration,
    ) -> Result<Shape, ShapeError> {
        let (from, to) = (from.into(), to.into());
        let text = Text::between("ramp", from, to, &time_text(time));
        Shape::leaf(rising(Leaf::rise, from, to, part_ns(time)?), text)
    }

    /// Returns one period of a sine wave, as a raised cosine: it starts at `from`, reaches `to` after half of the
    /// period, and returns to `from`.
    ///
    /// ```text
    /// |     . - .
    /// |   .       .
    /// |_ .         . _
    /// +---------------
    /// ```
    ///
    /// With `mean = (from + to) / 2` the rate is `mean - (to - from) / 2 * cos(2 pi t / period)`, and the count is
    /// `mean * t - (to - from) / 2 * period / (2 pi) * sin(2 pi t / period)`. The count of a whole period is exactly
    /// `mean * period`. If the period is an odd number of nanoseconds, the second half is 1 ns longer.
    ///
    /// ```
    /// use nanopace::{Rate, Shape};
    /// use std::time::Duration;
    ///
    /// let (low, high) = (Rate::per_second(1_000)?, Rate::per_second(5_000)?);
    /// let hour = Duration::from_secs(3_600);
    /// let waves = Shape::sine(low, high, hour)?.repeat(24)?;
    /// assert_eq!(waves.count(), Some(24.0 * 3_600.0 * 3_000.0));
    /// assert_eq!(waves.rate_at(hour / 2), 5_000.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ShapeError::Empty`] for a period below 2 ns. Returns [`ShapeError::TooLong`] or
    /// [`ShapeError::TooManySlots`] if the shape exceeds a limit of [`Shape`].
    pub fn sine(
        from: impl Into<Level>,
        to: impl Into<Level>,
        period: Duration,
    ) -> Result<Shape, ShapeError> {
        Shape::there_and_back(Leaf::swell, "sine", (from.into(), to.into()), period)
    }

    /// Returns a linear change from one rate to another in the first half of the time, and back in the second half.
    ///
    /// ```text
    /// |      .
    /// |    .   .
    /// |. '       ' .
    /// +--------------
    /// ```
    ///
    /// The count is that of two successive [ramps](Shape::ramp). The whole spike has `(base + peak) / 2 * time` slots.
    /// If the time is an odd number of nanoseconds, the second half is 1 ns longer.
    ///
    /// ```
    /// use nanopace::{Rate, Shape};
    /// use std::time::Duration;
    ///
    /// let (base, peak) = (Rate::per_second(100)?, Rate::per_second(900)?);
    /// let shape = Shape::spike(base, peak, Duration::from_secs(10))?;
    /// assert_eq!(shape.count(), Some(5_000.0));
    /// assert_eq!(shape.time_of(2_500), Some(Duration::from_secs(5)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ShapeError::Empty`] for a time below 2 ns. Returns [`ShapeError::TooLong`] or
    /// [`ShapeError::TooManySlots`] if the shape exceeds a limit of [`Shape`].
    pub fn spike(
        base: impl Into<Level>,
        peak: impl Into<Level>,
        time: Duration,
    ) -> Result<Shape, ShapeError> {
        Shape::there_and_back(Leaf::rise, "spike", (base.into(), peak.into()), time)
    }

    /// Returns a smooth peak: the rate rises from `base` to `peak` and falls back, like a bell curve. In strings, this
    /// shape is called `peak`.
    ///
    /// ```text
    /// |      . .
    /// |     .   .
    /// |_ _ '     ' _ _
    /// +---------------
    /// ```
    ///
    /// The rate is `base + (peak - base) * sin^4(pi t / time)`. It is above the middle between `base` and `peak` for
    /// 0.36 of the time. (In a [sine](Shape::sine), the rate is above the middle for half of the time.) The whole peak
    /// has `(5 base + 3 peak) / 8 * time` slots. If `base` is above `peak`, the rate is `peak + (base - peak) *
    /// cos^4(pi t / time)` and the number of slots is `(3 base + 5 peak) / 8 * time`. If the time is an odd number of
    /// nanoseconds, the second half is 1 ns longer.
    ///
    /// ```
    /// use nanopace::{Level, Rate, Shape};
    /// use std::time::Duration;
    ///
    /// let shape = Shape::bell(Level::ZERO, Rate::per_second(1_000)?, Duration::from_secs(32))?;
    /// assert_eq!(shape.count(), Some(12_000.0));
    /// assert_eq!(shape.rate_at(Duration::from_secs(16)), 1_000.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ShapeError::Empty`] for a time below 2 ns. Returns [`ShapeError::TooLong`] or
    /// [`ShapeError::TooManySlots`] if the shape exceeds a limit of [`Shape`].
    pub fn bell(
        base: impl Into<Level>,
        peak: impl Into<Level>,
        time: Duration,
    ) -> Result<Shape, ShapeError> {
        Shape::there_and_back(Leaf::bell, "peak", (base.into(), peak.into()), time)
    }

    /// Returns steps from one rate to another, both included. All steps have the same height and the same duration.
    ///
    /// ```text
    /// |         ____
    /// |    ____|
    /// |___|
    /// +-------------
    /// ```
    ///
    /// Step i, counted from 0, has the rate `from + (to - from) * i / (steps - 1)`. The count of the whole ladder is
    /// `(from + to) / 2 * steps * each`.
    ///
    /// ```
    /// use nanopace::{Rate, Shape};
    /// use std::time::Duration;
    ///
    /// let (low, high) = (Rate::per_second(1_000)?, Rate::per_second(5_000)?);
    /// let shape = Shape::ladder(low, high, 5, Duration::from_secs(30))?;
    /// assert_eq!(shape.duration(), Some(Duration::from_secs(150)));
    /// assert_eq!(shape.rate_at(Duration::from_secs(30)), 2_000.0);
    /// assert_eq!(shape.time_of(30_000), Some(Duration::from_secs(30)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ShapeError::TooFewSteps`] for fewer than two steps, [`ShapeError::TooManyParts`] for more than 65536
    /// steps, and [`ShapeError::Empty`] if `each` is zero. Returns [`ShapeError::TooLong`] or
    /// [`ShapeError::TooManySlots`] if the shape exceeds a limit of [`Shape`].
    pub fn ladder(
        from: impl Into<Level>,
        to: impl Into<Level>,
        steps: u32,
        each: Duration,
    ) -> Result<Shape, ShapeError> {
        let (from, to, each_ns) = (from.into(), to.into(), part_ns(each)?);
        let last = steps.saturating_sub(1);
        if last == 0 {
            return Err(ShapeError::TooFewSteps);
        }
        let rate = |step: u32| {
            let sum = from.fine() * Fine::from(last - step) + to.fine() * Fine::from(step);
            div_ceil(sum, Fine::from(last))
        };
        let rungs = (0..steps).map(|step| Program::leaf(Leaf::hold(rate(step), each_ns)));
        let rest = format!("steps {steps} each {}", time_text(each));
        Ok(Shape::of(Program::row(rungs)?, Text::between("ladder", from, to, &rest)))
    }

    /// Returns rates at given times, with straight lines or steps [`Between`] them. The shape ends at the last time.
    ///
    /// ```text
    /// |      .             |      ______
    /// |    .   ' .         |     |      |
    /// |. '         ' .     |_____|      |
    /// +---------------     +---------------
    ///     Linear                Step
    /// ```
    ///
    /// The parts of the shape are [ramps](Shape::ramp) or [holds](Shape::hold).
    ///
    /// ```
    /// use nanopace::{Between, Rate, Shape};
    /// use std::time::Duration;
    ///
    /// let at = |second, rate: &str| Ok::<_, nanopace::RateError>(
    ///     (Duration::from_secs(second), rate.parse()?)
    /// );
    /// let points = [at(0, "1k/s")?, at(10, "5k/s")?, at(40, "0/s")?];
    /// assert_eq!(Shape::table(&points, Between::Linear)?.count(), Some(105_000.0));
    /// assert_eq!(Shape::table(&points, Between::Step)?.count(), Some(160_000.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ShapeError::TableStart`] for fewer than two points or if the first point is not at zero, and
    /// [`ShapeError::TableOrder`] if a point is not later than the one before it. Returns [`ShapeError::TooManyParts`],
    /// [`ShapeError::TooLong`] or [`ShapeError::TooManySlots`] if the shape exceeds a limit of [`Shape`].
    pub fn table(points: &[(Duration, Level)], between: Between) -> Result<Shape, ShapeError> {
        if points.first().is_none_or(|(start, _)| !start.is_zero()) {
            return Err(ShapeError::TableStart);
        }
        let part = |pair: &[(Duration, Level)]| {
            let ((start, from), (end, to)) = (pair[0], pair[1]);
            let time = end.checked_sub(start).filter(|time| !time.is_zero());
            let time = time.ok_or(ShapeError::TableOrder(end))?;
            match between {
                Between::Linear => Shape::ramp(from, to, time),
                Between::Step => Shape::hold(from, time),
            }
        };
        let mut parts = points.windows(2).map(part);
        let first = parts.next().ok_or(ShapeError::TableStart)??;
        parts.try_fold(first, |shape, part| shape.then(part?))
    }

    /// Returns a curve that you define. The curve ends after `time`, or never if `time` is `None`. See [`Curve`].
    ///
    /// The curve is checked at two sets of times: 1001 evenly spaced ones, over a day if the curve never ends, and 1
    /// ns, 2 ns, 4 ns and so on, up to 146 years. At other times the curve is not checked: a negative count or NaN
    /// counts as 0, and a count above the count at the end of the curve counts as the count at the end. If the curve
    /// decreases between the checked times, slots near the decrease start at some time near the decrease.
    ///
    /// ```
    /// use nanopace::{Curve, Shape};
    /// use std::time::Duration;
    ///
    /// /// Slot n starts at the cube root of n seconds.
    /// #[derive(Debug)]
    /// struct Cubic;
    ///
    /// impl Curve for Cubic {
    ///     fn count_at(&self, elapsed: Duration) -> f64 {
    ///         elapsed.as_secs_f64().powi(3)
    ///     }
    /// }
    ///
    /// let shape = Shape::custom(Cubic, Some(Duration::from_secs(100)))?;
    /// assert_eq!(shape.time_of(27), Some(Duration::from_secs(3)));
    /// # Ok::<(), nanopace::ShapeError>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ShapeError::Curve`] if the function is not a valid curve at one of the checked times,
    /// [`ShapeError::Empty`] if `time` is zero, and [`ShapeError::TooLong`] if `time` is 2^63 - 1 ns or longer.
    pub fn custom(
        curve: impl Curve + 'static,
        time: Option<Duration>,
    ) -> Result<Shape, ShapeError> {
        let time_ns = time.map_or(Ok(i64::MAX), part_ns)?;
        custom::check(&curve, time_ns)?;
        let text = Text::Item(format!("custom {curve:?}"));
        Shape::leaf(Leaf::custom(Arc::new(curve), time_ns), text)
    }

    /// `part` builds a leaf from the lower rate, the higher rate and the leaf's duration.
    fn there_and_back(
        part: fn(Fine, Fine, i64) -> Leaf,
        word: &str,
        (from, to): (Level, Level),
        time: Duration,
    ) -> Result<Shape, ShapeError> {
        let there = part_ns(time / 2)?;
        let back = part_ns(time)? - there;
        let parts = [rising(part, from, to, there), rising(part, to, from, back)];
        let rest =
            if word == "sine" { format!("period {}", time_text(time)) } else { time_text(time) };
        Ok(Shape::of(Program::row(parts.map(Program::leaf))?, Text::between(word, from, to, &rest)))
    }
}
