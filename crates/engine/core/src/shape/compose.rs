//! Combines shapes: sequences, repetitions, reversals and parts.

use super::show::Text;
use super::{Shape, part_ns};
use crate::count::MOST;
use crate::error::ShapeError;
use crate::nanos::span_ns;
use std::time::Duration;

impl Shape {
    /// Returns this shape followed by `next`.
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
    /// Returns [`ShapeError::Endless`] if this shape never ends. Returns [`ShapeError::TooManyParts`],
    /// [`ShapeError::TooLong`] or [`ShapeError::TooManySlots`] if the result exceeds a limit of [`Shape`].
    pub fn then(self, next: Shape) -> Result<Shape, ShapeError> {
        let (time_ns, next_ns) = (self.duration_ns(), next.duration_ns());
        let ((program, text), (next, next_text)) = (self.into_parts(), next.into_parts());
        Ok(Shape::of(program.then(next)?, text.then(time_ns, next_text, next_ns)))
    }

    /// Returns this shape repeated `times` times.
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
    /// Returns [`ShapeError::NoTimes`] if `times` is zero, and [`ShapeError::Endless`] if this shape never ends.
    /// Returns [`ShapeError::TooManyParts`] (too many levels of nesting), [`ShapeError::TooLong`] or
    /// [`ShapeError::TooManySlots`] if the result exceeds a limit of [`Shape`].
    pub fn repeat(self, times: u64) -> Result<Shape, ShapeError> {
        if times == 0 {
            return Err(ShapeError::NoTimes);
        }
        let (program, text) = self.into_parts();
        Ok(Shape::of(program.cycle(Some(times))?, text.with(format!("x{times}"))))
    }

    /// Returns this shape repeated forever.
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
    /// Returns [`ShapeError::Endless`] if this shape already never ends, and [`ShapeError::TooManyParts`] if there are
    /// too many levels of nesting.
    pub fn forever(self) -> Result<Shape, ShapeError> {
        match *self.text {
            Text::Hold(level, ns) if ns < i64::MAX => Ok(Shape::constant(level)),
            _ => {
                let (program, text) = self.into_parts();
                Ok(Shape::of(program.cycle(None)?, text.with("forever")))
            }
        }
    }

    /// Returns this shape backwards in time: the first `t` of the result has as many slots as the last `t` of this
    /// shape.
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
    /// Returns [`ShapeError::Endless`] if this shape never ends.
    pub fn reversed(self) -> Result<Shape, ShapeError> {
        let (program, text) = self.into_parts();
        Ok(Shape::of(program.reversed()?, text.reversed()))
    }

    /// Returns this shape followed by the same shape backwards in time.
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
    /// Returns [`ShapeError::Endless`] if this shape never ends. Returns [`ShapeError::TooManyParts`],
    /// [`ShapeError::TooLong`] or [`ShapeError::TooManySlots`] if the result exceeds a limit of [`Shape`].
    pub fn mirrored(self) -> Result<Shape, ShapeError> {
        let (program, text) = self.into_parts();
        let back = program.reversed()?;
        Ok(Shape::of(program.then(back)?, text.with("mirror")))
    }

    /// Returns the first `time` of this shape, or the whole shape if the shape is shorter than `time`.
    ///
    /// ```text
    /// |       .
    /// |   . ' |
    /// | '     |
    /// +-------+- - - -
    /// ```
    ///
    /// Counts and starts are exactly those of the whole shape up to `time`. To describe a load that changes at a given
    /// time, take the old shape up to that time, and append the new one with [`then`](Shape::then):
    ///
    /// ```
    /// use nanopace::{Level, Rate, Shape};
    /// use std::time::Duration;
    ///
    /// let second = Duration::from_secs(1);
    /// let ramp = Shape::ramp(Level::ZERO, Rate::per_second(10)?, 10 * second)?;
    /// let changed = ramp.take(4 * second)?.then(Shape::constant(Rate::per_second(2)?))?;
    /// assert_eq!(changed.count_at(4 * second), 8.0);
    /// assert_eq!(changed.time_of(10), Some(5 * second));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ShapeError::Empty`] if `time` is zero. If the shape never ends, returns [`ShapeError::TooLong`] or
    /// [`ShapeError::TooManySlots`] if the part exceeds a limit of [`Shape`].
    pub fn take(self, time: Duration) -> Result<Shape, ShapeError> {
        let all_ns = self.duration_ns();
        if all_ns < i64::MAX && span_ns(time) >= all_ns {
            return Ok(self);
        }
        self.part(0, part_ns(time)?)
    }

    /// Returns the part of this shape after `time`.
    ///
    /// ```text
    /// |         . |
    /// |     . '   |
    /// |    |      |
    /// +- - +------+-
    /// ```
    ///
    /// The count of this part is exactly the count that the whole shape adds after `time`. Together, the shape that
    /// [`take`](Shape::take) returns and this part therefore equal the whole shape:
    ///
    /// ```
    /// use nanopace::{Level, Rate, Shape};
    /// use std::time::Duration;
    ///
    /// let second = Duration::from_secs(1);
    /// let ramp = Shape::ramp(Level::ZERO, Rate::per_second(10)?, 10 * second)?;
    /// let rest = ramp.clone().skip(4 * second)?;
    /// assert_eq!(rest.count(), Some(42.0));
    /// assert_eq!(rest.rate_at(Duration::ZERO), 4.0);
    /// let whole = ramp.clone().take(4 * second)?.then(rest)?;
    /// assert!((0..50).all(|slot| whole.time_of(slot) == ramp.time_of(slot)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ShapeError::Empty`] if `time` is the whole duration or longer. Returns [`ShapeError::TooLong`] if the
    /// shape never ends and `time` is 2^63 - 1 ns or longer.
    pub fn skip(self, time: Duration) -> Result<Shape, ShapeError> {
        let (from_ns, all_ns) = (span_ns(time), self.duration_ns());
        if from_ns >= all_ns {
            return Err(if all_ns < i64::MAX { ShapeError::Empty } else { ShapeError::TooLong });
        }
        self.part(from_ns, i64::MAX)
    }

    /// `until_ns` is `i64::MAX` for a part that reaches the end of the shape.
    fn part(self, from_ns: i64, until_ns: i64) -> Result<Shape, ShapeError> {
        let program = self.program.part(from_ns, until_ns, MOST)?;
        Ok(Shape { program, text: self.text.part(from_ns, until_ns) })
    }
}
