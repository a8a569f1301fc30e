//! Shapes that are made of shapes.

use super::Shape;
use crate::error::ShapeError;

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
