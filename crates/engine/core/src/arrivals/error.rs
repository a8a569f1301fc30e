use crate::error::errors_by_text;
use std::fmt;

errors_by_text!(ArrivalsError);
/// The reason why a number or a string does not specify a valid [`Arrivals`](crate::Arrivals). The message says what to
/// write instead.
///
/// ```
/// use nanopace::Arrivals;
///
/// let error = "gamma:0".parse::<Arrivals>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "the shape of gamma arrivals is a number from 0.01 (bursts) to 1000000 (almost even), and 1 is Poisson: write one such as gamma:0.25",
/// );
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArrivalsError {
    /// The number of slots in a run is not a whole number from 1 to 2^32 - 1.
    NoSlots,
    /// The shape of a gamma distribution is not a number, or is outside the range from 0.01 to 1 000 000.
    Gamma,
    /// The maximum delay, as a part of the distance between slots, is not a number from 0 to 1.
    Jitter,
    /// A colon follows the name of a process that has no parameter. The field is the name of the process.
    NoNumber(String),
    /// There is no arrival process with this name.
    Unknown(String),
}

impl fmt::Display for ArrivalsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ArrivalsError::NoSlots => "each run of exact Poisson arrivals needs a whole number of slots from 1 to 4294967295: write one such as exact-poisson:1000",
            ArrivalsError::Gamma => "the shape of gamma arrivals is a number from 0.01 (bursts) to 1000000 (almost even), and 1 is Poisson: write one such as gamma:0.25",
            ArrivalsError::Jitter => "jitter is a part of the distance between slots, from 0 to 1: write one such as jitter:0.3",
            ArrivalsError::NoNumber(name) => return write!(f, "`{name}` arrivals have no number: write just {name}"),
            ArrivalsError::Unknown(name) => return write!(f, "`{name}` is not an arrival process: write even, poisson, exact-poisson:1000, gamma:0.25 or jitter:0.3"),
        })
    }
}
