use thiserror::Error;

/// Why a number or a text is no [`Arrivals`](crate::Arrivals). The message says what to write
/// instead.
///
/// ```
/// use nanopace::Arrivals;
///
/// let error = "gamma:0".parse::<Arrivals>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "the shape of gamma arrivals is a number from 0.01 (bursts) over 1 (Poisson) to 1000000 (almost even): write one such as gamma:0.25",
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ArrivalsError {
    /// Runs without slots, or not a whole number of slots up to 2^32 - 1.
    #[error(
        "each run of exact Poisson arrivals needs a whole number of slots from 1 to 4294967295: write one such as exact-poisson:1000"
    )]
    NoSlots,
    /// Not the shape of a gamma distribution, or far from 1.
    #[error(
        "the shape of gamma arrivals is a number from 0.01 (bursts) over 1 (Poisson) to 1000000 (almost even): write one such as gamma:0.25"
    )]
    Gamma,
    /// Not a part of the distance between slots.
    #[error(
        "jitter is a part of the distance between slots, from 0 to 1: write one such as jitter:0.3"
    )]
    Jitter,
    /// A number where none belongs.
    #[error("`{0}` arrivals have no number: write just {0}")]
    NoNumber(String),
    /// No arrival process of that name.
    #[error(
        "`{0}` is no arrival process: write even, poisson, exact-poisson:1000, gamma:0.25 or jitter:0.3"
    )]
    Unknown(String),
}
