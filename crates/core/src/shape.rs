//! The shape of a load: from counts to time, and back.
//!
//! A shape is a tree. Its leaves are curves whose rate never falls, or the same backwards, so that
//! every formula is a sum of positive terms. All counts are sums of theirs. The time of a count is
//! found through counts at moments alone: it is estimated, and then corrected until the count is
//! reached there and not reached one nanosecond earlier.

mod custom;
mod leaf;
mod level;
mod parse;
mod program;
mod rise;
mod search;
mod show;
mod swell;
mod token;

pub use custom::Curve;
pub use level::Level;

use crate::count::{Count, Fine, ONE, approximate, div_ceil, fine, whole};
use crate::error::ShapeError;
use crate::nanos::{duration, span_ns};
use leaf::Leaf;
use program::Program;
use show::{Text, time_text};
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How the rate of a load goes over time.
///
/// ```text
/// rate                                     ramp 100/s..5k/s 30s,
///   |      __________                      hold 60s,
///   |     /          \    .-.    .-.       sine 5k/s..1k/s period 20s x3
///   |    /            \  /   \  /   \  /
///   |___/              `-'     `-'   `-'
///   +-----------------------------------> time
/// ```
///
/// The *count* of a shape by a moment is the area under its rate until then: how many slots there
/// are, parts of a slot included. Slot n starts in the first whole nanosecond at which the count is
/// n. So slot 0 starts at once, and a shape with a count of N has the slots with numbers below N.
/// Counts are exact to 2^-64 slots, times to the nanosecond, and repeating a shape adds nothing to
/// that: 10^15 slots into a repeated one, nothing has drifted. (A [`custom`](Shape::custom) curve
/// is as exact as it is.)
///
/// Shapes are put together from parts, by methods or from [text](#impl-FromStr-for-Shape). A clone
/// is cheap. A shape has at most 65536 parts, 64 of them within each other, a duration below 2^63
/// ns (292 years) and a count below 2^63. What is repeated counts once, and what never ends is
/// without these limits; there the count stops at 2^63.
///
/// ```
/// use nanopace::{Rate, Shape};
/// use std::time::Duration;
///
/// let second = Duration::from_secs(1);
/// let (low, high) = (Rate::per_second(100)?, Rate::per_second(5_000)?);
/// let shape = Shape::ramp(low, high, 30 * second)?.then(Shape::hold(high, 60 * second)?)?;
/// assert_eq!(shape.duration(), Some(90 * second));
/// assert_eq!(shape.count(), Some(30.0 * 2_550.0 + 60.0 * 5_000.0));
/// assert_eq!(shape.rate_at(15 * second), 2_550.0);
/// assert_eq!(shape.to_string(), "ramp 100/s..5000/s 30s, hold 5000/s 1min");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Shape {
    program: Arc<Program>,
    text: Arc<Text>,
    /// Its rate, if it is nothing but one hold.
    level: Option<Level>,
}

/// What the rate does between the points of a [`Shape::table`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Between {
    /// It goes straight from each point to the next.
    Linear,
    /// It stays until the next point. The last point is only the end; its own rate is never
    /// reached.
    Step,
}

/// The parts that shapes are made of.
///
/// # Errors
/// All of these: [`ShapeError::Empty`] for a part that lasts less than a nanosecond,
/// [`ShapeError::TooLong`] and [`ShapeError::TooManySlots`] beyond the limits of shapes.
impl Shape {
    /// Always the same rate, for ever: the count is `rate * t`.
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
        let text = Text::Item(format!("hold {level} 1s")).with("forever");
        let program = Program::Leaf(Leaf::hold(level.fine(), i64::MAX));
        Shape { level: Some(level), ..Shape::of(program, text) }
    }

    /// The same rate for some time: the count is `rate * t`.
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
    /// [`ShapeError::Empty`], [`ShapeError::TooLong`] and [`ShapeError::TooManySlots`].
    pub fn hold(level: impl Into<Level>, time: Duration) -> Result<Shape, ShapeError> {
        let level = level.into();
        let text = Text::Item(format!("hold {level} {}", time_text(time)));
        let shape = Shape::leaf(Leaf::hold(level.fine(), part_ns(time)?), text)?;
        Ok(Shape { level: Some(level), ..shape })
    }

    /// Evenly from one rate to another: the count is `from * t + (to - from) * t^2 / (2 * time)`.
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
    /// [`ShapeError::Empty`], [`ShapeError::TooLong`] and [`ShapeError::TooManySlots`].
    pub fn ramp(
        from: impl Into<Level>,
        to: impl Into<Level>,
        time: Duration,
    ) -> Result<Shape, ShapeError> {
        let (from, to) = (from.into(), to.into());
        let text = Text::between("ramp", from, to, &time_text(time));
        Shape::leaf(rising(Leaf::rise, from, to, part_ns(time)?), text)
    }

    /// One period of a wave, a raised cosine: it starts at `from`, is at `to` after half of the
    /// period, and comes back.
    ///
    /// ```text
    /// |     . - .
    /// |   .       .
    /// |_ .         . _
    /// +---------------
    /// ```
    ///
    /// With `mean = (from + to) / 2` the rate is `mean - (to - from) / 2 * cos(2 pi t / period)`,
    /// and the count is `mean * t - (to - from) / 2 * period / (2 pi) * sin(2 pi t / period)`. All
    /// of a period is `mean * period`, exactly. A nanosecond that does not halve goes to the second
    /// half.
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
    /// [`ShapeError::Empty`] for a period below 2 ns, [`ShapeError::TooLong`] and
    /// [`ShapeError::TooManySlots`].
    pub fn sine(
        from: impl Into<Level>,
        to: impl Into<Level>,
        period: Duration,
    ) -> Result<Shape, ShapeError> {
        Shape::there_and_back(Leaf::swell, "sine", (from.into(), to.into()), period)
    }

    /// Evenly from one rate to another in the first half of the time, and back in the second.
    ///
    /// ```text
    /// |      .
    /// |    .   .
    /// |. '       ' .
    /// +--------------
    /// ```
    ///
    /// The count is that of two [ramps](Shape::ramp): all of it is `(base + peak) / 2 * time`.
    /// A nanosecond that does not halve goes to the second half.
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
    /// [`ShapeError::Empty`] for a time below 2 ns, [`ShapeError::TooLong`] and
    /// [`ShapeError::TooManySlots`].
    pub fn spike(
        base: impl Into<Level>,
        peak: impl Into<Level>,
        time: Duration,
    ) -> Result<Shape, ShapeError> {
        Shape::there_and_back(Leaf::rise, "spike", (base.into(), peak.into()), time)
    }

    /// So many levels at equal distances from one rate to another, both included, each as long.
    ///
    /// ```text
    /// |         ____
    /// |    ____|
    /// |___|
    /// +-------------
    /// ```
    ///
    /// Step i, from 0 on, has the rate `from + (to - from) * i / (steps - 1)`, so all of the count
    /// is `(from + to) / 2 * steps * each`.
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
    /// [`ShapeError::TooFewSteps`] for less than two, [`ShapeError::TooManyParts`] for more than
    /// 65536, and [`ShapeError::Empty`], [`ShapeError::TooLong`] and [`ShapeError::TooManySlots`].
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

    /// Rates at moments, straight lines or steps [`Between`] them. It ends at the last moment.
    ///
    /// ```text
    /// |      .             |      ______
    /// |    .   ' .         |     |      |
    /// |. '         ' .     |_____|      |
    /// +---------------     +---------------
    ///     Linear                Step
    /// ```
    ///
    /// Its parts are [ramps](Shape::ramp) or [holds](Shape::hold).
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
    /// [`ShapeError::TableStart`] for fewer than two points, or if the first one is not at zero,
    /// [`ShapeError::TableOrder`] if one does not come behind the one before it,
    /// [`ShapeError::TooManyParts`], [`ShapeError::TooLong`] and [`ShapeError::TooManySlots`].
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

    /// A curve of your own, until `time`; none: for ever. See [`Curve`].
    ///
    /// The curve is tried at some thousand moments. It answers for itself at the others: a count
    /// below zero, or that is not a number, is taken for 0, and one above the last for that. Where
    /// it goes down, slots start at a moment around there.
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
    /// [`ShapeError::Curve`] if one of the moments that are tried shows that it is none,
    /// [`ShapeError::Empty`] and [`ShapeError::TooLong`].
    pub fn custom(
        curve: impl Curve + 'static,
        time: Option<Duration>,
    ) -> Result<Shape, ShapeError> {
        let time_ns = time.map_or(Ok(i64::MAX), part_ns)?;
        custom::check(&curve, time_ns)?;
        let text = Text::Item(format!("custom {curve:?}"));
        Shape::leaf(Leaf::custom(Arc::new(curve), time_ns), text)
    }

    /// A part, and the same back. `part` makes it of the lower rate, the higher one, and how long
    /// it takes.
    fn there_and_back(
        part: fn(Fine, Fine, i64) -> Leaf,
        word: &str,
        (from, to): (Level, Level),
        time: Duration,
    ) -> Result<Shape, ShapeError> {
        let (there, back) = (part_ns(time / 2)?, part_ns(time - time / 2)?);
        let parts = [rising(part, from, to, there), rising(part, to, from, back)];
        let rest =
            if word == "sine" { format!("period {}", time_text(time)) } else { time_text(time) };
        Ok(Shape::of(Program::row(parts.map(Program::leaf))?, Text::between(word, from, to, &rest)))
    }

    fn leaf(leaf: Leaf, text: Text) -> Result<Shape, ShapeError> {
        Ok(Shape::of(Program::leaf(leaf)?, text))
    }

    fn of(program: Program, text: Text) -> Shape {
        Shape { program: Arc::new(program), text: Arc::new(text), level: None }
    }

    fn into_parts(self) -> (Program, Text) {
        (Arc::unwrap_or_clone(self.program), Arc::unwrap_or_clone(self.text))
    }
}

/// What is made of shapes.
impl Shape {
    /// This shape, and then the `next`.
    ///
    /// ```text
    /// |        ______
    /// |    . '       |
    /// |. '           |
    /// +--------------+-
    /// ```
    ///
    /// ```
    /// use nanopace::{Level, Rate, Shape};
    /// use std::time::Duration;
    ///
    /// let (rate, second) = (Rate::per_second(10)?, Duration::from_secs(1));
    /// let shape = Shape::ramp(Level::ZERO, rate, second)?.then(Shape::constant(rate))?;
    /// assert_eq!(shape.time_of(5), Some(second));
    /// assert_eq!(shape.time_of(15), Some(2 * second));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ShapeError::Endless`] if this one never ends, [`ShapeError::TooManyParts`],
    /// [`ShapeError::TooLong`] and [`ShapeError::TooManySlots`].
    pub fn then(self, next: Shape) -> Result<Shape, ShapeError> {
        let ((program, text), (next, next_text)) = (self.into_parts(), next.into_parts());
        Ok(Shape::of(program.then(next)?, text.then(next_text)))
    }

    /// So many times, one after the other.
    ///
    /// ```
    /// use nanopace::{Rate, Shape};
    /// use std::time::Duration;
    ///
    /// let second = Duration::from_secs(1);
    /// let teeth = Shape::ramp(Rate::per_second(1)?, Rate::per_second(9)?, second)?.repeat(1_000)?;
    /// assert_eq!(teeth.time_of(4_995), Some(999 * second));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ShapeError::NoTimes`] for zero times, [`ShapeError::Endless`] if this one never ends,
    /// [`ShapeError::TooManyParts`] if too many are within each other, [`ShapeError::TooLong`] and
    /// [`ShapeError::TooManySlots`].
    pub fn repeat(self, times: u64) -> Result<Shape, ShapeError> {
        if times == 0 {
            return Err(ShapeError::NoTimes);
        }
        let (program, text) = self.into_parts();
        Ok(Shape::of(program.cycle(Some(times))?, text.with(format!("x{times}"))))
    }

    /// Again and again, without end.
    ///
    /// ```
    /// use nanopace::{Level, Rate, Shape};
    /// use std::time::Duration;
    ///
    /// let second = Duration::from_secs(1);
    /// let burst = Shape::hold(Rate::per_second(1_000)?, second)?;
    /// let bursts = burst.then(Shape::hold(Level::ZERO, 9 * second)?)?.forever()?;
    /// assert_eq!(bursts.time_of(1_000_001), Some(10_000 * second + second / 1_000));
    /// assert_eq!(bursts.count(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ShapeError::Endless`] if it never ends as it is, and [`ShapeError::TooManyParts`] if too
    /// many are within each other.
    pub fn forever(self) -> Result<Shape, ShapeError> {
        match self.level {
            Some(level) if self.duration_ns() < i64::MAX => Ok(Shape::constant(level)),
            _ => {
                let (program, text) = self.into_parts();
                Ok(Shape::of(program.cycle(None)?, text.with("forever")))
            }
        }
    }

    /// Backwards in time: by `t` there are as many slots as there are in its last `t`.
    ///
    /// ```
    /// use nanopace::{Level, Rate, Shape};
    /// use std::time::Duration;
    ///
    /// let second = Duration::from_secs(1);
    /// let down = Shape::ramp(Level::ZERO, Rate::per_second(10)?, 10 * second)?.reversed()?;
    /// assert_eq!(down.rate_at(4 * second), 6.0);
    /// assert_eq!(down.count_at(4 * second), 32.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ShapeError::Endless`] if it never ends.
    pub fn reversed(self) -> Result<Shape, ShapeError> {
        let level = self.level;
        let (program, text) = self.into_parts();
        Ok(Shape { level, ..Shape::of(program.reversed()?, text.reversed()) })
    }

    /// This shape, and then backwards.
    ///
    /// ```text
    /// |      __.__
    /// |    .       .
    /// |. '           ' .
    /// +------------------
    /// ```
    ///
    /// ```
    /// use nanopace::{Rate, Shape};
    /// use std::time::Duration;
    ///
    /// let (low, high) = (Rate::per_second(1)?, Rate::per_second(5)?);
    /// let stairs = Shape::ladder(low, high, 5, Duration::from_secs(10))?.mirrored()?;
    /// assert_eq!(stairs.count(), Some(300.0));
    /// assert_eq!(stairs.rate_at(Duration::from_secs(95)), 1.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ShapeError::Endless`] if it never ends, [`ShapeError::TooManyParts`],
    /// [`ShapeError::TooLong`] and [`ShapeError::TooManySlots`].
    pub fn mirrored(self) -> Result<Shape, ShapeError> {
        let (program, text) = self.into_parts();
        let back = program.reversed()?;
        Ok(Shape::of(program.then(back)?, text.with("mirror")))
    }
}

/// What a shape is.
impl Shape {
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
        self.level.filter(|_| self.duration_ns() == i64::MAX)
    }
}

/// A leaf from one rate to another, backwards if that is lower.
fn rising(part: fn(Fine, Fine, i64) -> Leaf, from: Level, to: Level, time_ns: i64) -> Leaf {
    let (from, to) = (from.fine(), to.fine());
    match from.cmp(&to) {
        Ordering::Less => part(from, to, time_ns),
        Ordering::Equal => Leaf::hold(from, time_ns),
        Ordering::Greater => part(to, from, time_ns).reversed(),
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

impl fmt::Display for Shape {
    /// Shows it so that [`FromStr`](std::str::FromStr) reads it back, but for
    /// [`custom`](Shape::custom) curves.
    ///
    /// ```
    /// use nanopace::{Rate, Shape};
    /// use std::time::Duration;
    ///
    /// let (low, high) = (Rate::per_second(100)?, Rate::per_second(200)?);
    /// let shape = Shape::spike(low, high, Duration::from_millis(1_500))?.repeat(3)?;
    /// assert_eq!(shape.to_string(), "spike 100/s..200/s 1500ms x3");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rate;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Smooth, and exact in `f64`: `t^2` slots after `t` microseconds.
    #[derive(Debug)]
    struct Square;

    impl Curve for Square {
        fn count_at(&self, elapsed: Duration) -> f64 {
            (elapsed.as_secs_f64() * 1e6).powi(2)
        }
    }

    fn levels() -> impl Strategy<Value = Level> {
        let rates = (1_u64..1 << 40, 1_u64..1 << 40).prop_filter_map("no rate", |(n, ns)| {
            Rate::per(n, Duration::from_nanos(ns)).ok().map(Level::from)
        });
        prop_oneof![1 => Just(Level::ZERO), 4 => rates]
    }

    fn times() -> impl Strategy<Value = Duration> {
        (1_u32..56)
            .prop_flat_map(|bits| (1_u64 << bits)..(2 << bits))
            .prop_map(Duration::from_nanos)
    }

    fn leaves() -> impl Strategy<Value = Shape> {
        let leaf =
            (0_u32..4, levels(), levels(), times()).prop_map(|(kind, from, to, time)| match kind {
                0 => Shape::hold(from, time),
                1 => Shape::leaf(
                    rising(Leaf::swell, from, to, part_ns(time)?),
                    Text::Item(String::new()),
                ),
                _ => Shape::ramp(from, to, time),
            });
        let custom = times().prop_map(|time| Shape::custom(Square, Some(time.min(SECOND))));
        prop_oneof![8 => leaf, 1 => custom].prop_filter_map("no shape", Result::ok)
    }

    fn shapes() -> impl Strategy<Value = Shape> {
        leaves().prop_recursive(4, 12, 3, |inner| {
            prop_oneof![
                (inner.clone(), inner.clone()).prop_map(|(first, second)| first.then(second)),
                (inner.clone(), 1_u64..50).prop_map(|(shape, times)| shape.repeat(times)),
                inner.clone().prop_map(Shape::reversed),
                inner.clone().prop_map(Shape::mirrored),
                inner.prop_map(Shape::forever),
            ]
            .prop_filter_map("no shape", Result::ok)
        })
    }

    /// A moment within the shape, or a little behind it.
    fn moment(shape: &Shape, at: u64) -> i64 {
        let range = shape.duration_ns().min(1 << 60).unsigned_abs() + 3;
        i64::try_from(at % range).unwrap()
    }

    proptest! {
        /// The law that everything else is defined by.
        #[test]
        fn times_and_counts_are_inverse(shape in shapes(), at: u64, off in -3_i128..4, near in -2_i64..3) {
            let t = moment(&shape, at);
            let reached = shape.count_at_ns(t);
            let count = reached.saturating_add_signed(off);
            let time = shape.time_of_count(count);
            for t in [t, time.saturating_add(near), time.saturating_sub(1), time].map(|t| t.clamp(0, i64::MAX - 1)) {
                prop_assert_eq!(time <= t, count <= shape.count_at_ns(t), "{} {} {}", count, time, t);
            }
            prop_assert!(shape.count_at_ns(t + 1) >= reached);
        }

        #[test]
        fn slots_and_times_are_inverse(shape in shapes(), at: u64, near in -2_i64..3) {
            let slot = shape.count_at_ns(moment(&shape, at)) >> 64;
            let time = shape.time_of_count(slot << 64);
            let t = time.saturating_add(near).clamp(0, i64::MAX - 1);
            prop_assert_eq!(time <= t, slot << 64 <= shape.count_at_ns(t));
        }

        /// What is within 1 ns of a chord is as the chord says; three times the length is not.
        #[test]
        fn chords_are_straight_for_as_long_as_they_are_said_to_be(shape in leaves(), at: u64, parts in proptest::array::uniform8(0_u64..=1 << 32)) {
            let time = shape.duration_ns();
            let t = moment(&shape, at).min(time - 1);
            let length = shape.straight_for_ns(t);
            prop_assert!((1..=time - t).contains(&length));
            let between = |part: u64| i64::try_from((u128::from(length.unsigned_abs()) * u128::from(part)) >> 32).unwrap();
            let rounding = 1e-9 + length as f64 * 4e-16;
            for part in parts {
                prop_assert!(deviation(&shape, t, length, between(part)) <= 1.0 + rounding);
            }
        }

        #[test]
        fn chords_of_ramps_are_not_needlessly_short(from in levels(), to in levels(), time in times(), at: u64) {
            prop_assume!(from != to);
            let Ok(shape) = Shape::ramp(from, to, time) else { return Ok(()) };
            let t = moment(&shape, at).min(shape.duration_ns() - 1);
            let length = shape.straight_for_ns(t);
            let longer = 3 * length + 10;
            if t + longer <= shape.duration_ns() {
                let worst = (1..100).map(|part| deviation(&shape, t, longer, longer * part / 100));
                prop_assert!(worst.fold(0.0, f64::max) > 1.0, "{length}");
            }
        }

        #[test]
        fn backwards_the_last_comes_first(shape in shapes(), at: u64) {
            let Ok(back) = shape.clone().reversed() else { return Ok(()) };
            let (time, total) = (shape.duration_ns(), shape.count_at_ns(i64::MAX));
            let t = moment(&shape, at).min(time);
            prop_assert_eq!(back.count_at_ns(i64::MAX), total);
            let sum = back.count_at_ns(t) + shape.count_at_ns(time - t);
            prop_assert!(sum.abs_diff(total) <= 1, "{sum} {total}");
            let again = back.reversed().unwrap();
            prop_assert_eq!(again.count_at_ns(t), shape.count_at_ns(t));
            prop_assert_eq!(again.to_string(), shape.to_string());
        }

        #[test]
        fn a_mirrored_shape_is_the_same_backwards(shape in shapes(), at: u64) {
            let Ok(mirrored) = shape.mirrored() else { return Ok(()) };
            let t = moment(&mirrored, at);
            prop_assert_eq!(mirrored.clone().reversed().unwrap().count_at_ns(t), mirrored.count_at_ns(t));
        }

        /// The rate is the count's slope.
        #[test]
        fn rates_are_slopes(shape in leaves(), at: u64) {
            let time = shape.duration_ns();
            prop_assume!(time > 1 << 20);
            let t = moment(&shape, at).min(time - (time >> 10) - 1);
            let end = t + (time >> 10);
            let grown = crate::count::fine(shape.count_at_ns(end) - shape.count_at_ns(t));
            let mean = approximate(grown) / ((end - t) as f64) * 1e9;
            let rates = [t, end - 1].map(|t| shape.rate_at(duration(t)));
            let (low, high) = (rates[0].min(rates[1]), rates[0].max(rates[1]));
            let rounding = 1e-6 * shape.peak() + 1e-9;
            prop_assert!(low - rounding <= mean && mean <= high + rounding, "{low} {mean} {high}");
            prop_assert!(high <= shape.peak() * (1.0 + 1e-9));
        }
    }

    /// How far the moment `t + part` lies from the chord of time by count over `length`.
    fn deviation(shape: &Shape, t: i64, length: i64, part: i64) -> f64 {
        let grown =
            |part: i64| approximate(shape.program.count_at(t + part) - shape.program.count_at(t));
        let all = grown(length);
        if all == 0.0 { 0.0 } else { (length as f64 * (grown(part) / all) - part as f64).abs() }
    }

    #[test]
    fn only_constants_are_constant() {
        let level: Level = "7/s".parse().unwrap();
        let hold = Shape::hold(level, SECOND).unwrap();
        assert_eq!(Shape::constant(level).as_constant(), Some(level));
        assert_eq!(hold.clone().forever().unwrap().as_constant(), Some(level));
        assert_eq!(hold.as_constant(), None);
        assert_eq!(hold.repeat(3).unwrap().forever().unwrap().as_constant(), None);
    }

    #[test]
    fn what_is_outside_is_empty() {
        let ramp = Shape::ramp(Level::ZERO, Rate::FASTEST, SECOND).unwrap();
        assert_eq!((ramp.count_at_ns(i64::MIN), ramp.count_at_ns(0)), (0, 0));
        assert_eq!((ramp.time_of_count(0), ramp.straight_for_ns(i64::MAX)), (0, i64::MAX));
        assert_eq!(ramp.count_at_ns(i64::MAX), 5_000_000_000 * ONE);
        assert_eq!(ramp.time_of_count(5_000_000_000 * ONE + 1), i64::MAX);
        assert_eq!(ramp.straight_for_ns(-7), ramp.straight_for_ns(0));
    }
}
