//! Represents levels: rates that may be zero.

use crate::Rate;
use crate::count::{FINE_BITS, Fine, div_ceil};
use crate::error::RateError;
use std::fmt;
use std::str::FromStr;

/// A rate that may be zero. The parts of a [`Shape`](crate::Shape) are built from such levels.
///
/// ```
/// use nanopace::{Level, Rate};
///
/// let level: Level = "5k/s".parse()?;
/// assert_eq!(level, Level::from(Rate::per_second(5_000)?));
/// assert_eq!("0/s".parse::<Level>()?, Level::ZERO);
/// assert_eq!(level.as_hz(), 5_000.0);
/// # Ok::<(), nanopace::RateError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Level(Option<Rate>);

impl Level {
    /// The rate at which no operation starts.
    ///
    /// ```
    /// use nanopace::Level;
    ///
    /// assert_eq!(Level::ZERO.as_hz(), 0.0);
    /// assert_eq!(Level::ZERO.to_string(), "0/s");
    /// ```
    pub const ZERO: Level = Level(None);

    /// Returns the level in operations per second, rounded to an `f64`. The result is zero, or from 1 per day to 10 G
    /// per second.
    #[must_use]
    pub fn as_hz(self) -> f64 {
        self.0.map_or(0.0, Rate::as_hz)
    }

    /// Returns the rate, or `None` if the level is zero.
    #[must_use]
    pub fn rate(self) -> Option<Rate> {
        self.0
    }

    /// Returns the rate in slots per nanosecond, rounded up.
    pub(crate) fn fine(self) -> Fine {
        let Some((operations, period_ns)) = self.0.map(Rate::fraction) else { return Fine::ZERO };
        div_ceil(Fine::from(operations) << FINE_BITS, Fine::from(period_ns))
    }
}

impl From<Rate> for Level {
    fn from(rate: Rate) -> Level {
        Level(Some(rate))
    }
}

impl FromStr for Level {
    type Err = RateError;

    /// Parses every [`Rate`], and a rate of zero, such as `0/s`.
    ///
    /// # Errors
    /// Returns a [`RateError`]. Its message says what is wrong and what to write instead.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{Level, Rate, RateError};
    ///
    /// assert_eq!("3/min".parse(), Ok(Level::from("3/min".parse::<Rate>()?)));
    /// assert_eq!("0".parse(), Ok(Level::ZERO));
    /// assert_eq!("-1/s".parse::<Level>(), Err(RateError::Negative));
    /// # Ok::<(), RateError>(())
    /// ```
    fn from_str(text: &str) -> Result<Level, RateError> {
        match text.parse() {
            Ok(rate) => Ok(Level(Some(rate))),
            Err(RateError::Zero) => Ok(Level::ZERO),
            Err(error) => Err(error),
        }
    }
}

impl fmt::Display for Level {
    /// Formats the level so that [`FromStr`] can parse it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(rate) => rate.fmt(f),
            None => f.write_str("0/s"),
        }
    }
}
