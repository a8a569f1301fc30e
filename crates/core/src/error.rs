//! Errors, and what to do about them.

use crate::Nanos;
use thiserror::Error;

/// Why a number or a text is not a [`Rate`](crate::Rate). The message says what to write instead.
///
/// ```
/// use nanopace::Rate;
///
/// let error = "11G/s".parse::<Rate>().unwrap_err();
/// assert_eq!(error.to_string(), "that rate is too fast: the fastest is 10G/s");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RateError {
    /// Zero operations, in any period.
    #[error(
        "a rate of zero never starts anything: write a positive rate such as 1/h, or pause the pacer"
    )]
    Zero,
    /// A rate below zero.
    #[error("a rate cannot be negative: write a positive rate such as 100/s")]
    Negative,
    /// Not a number, or infinite.
    #[error("a rate must be a finite number: write a rate such as 5000/s, at most 10G/s")]
    NotFinite,
    /// More than 10 G per second, or an empty period.
    #[error("that rate is too fast: the fastest is 10G/s")]
    TooFast,
    /// Less than one per day.
    #[error("that rate is too slow: the slowest is 1/d (one per day)")]
    TooSlow,
    /// Not of the form COUNT/UNIT.
    #[error(
        "that is not a rate: write a count, k, M or G if need be, and a unit, such as 50k/s, 3/min or 1.5/h"
    )]
    Syntax,
    /// An unknown unit of time.
    #[error(
        "`{0}` is not a unit of time for a rate: write ns, us, ms, s, min, h or d, such as 3/min"
    )]
    Unit(String),
    /// More digits than can be kept exactly.
    #[error("a rate is kept exactly and that has too many digits: write at most 18")]
    TooManyDigits,
}

/// Why a number or a text is not a [`Strictness`](crate::Strictness): it is not a number from 0 to
/// 1000.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "strictness is a number from 0 (average rate) over 1 (strict) to 1000 (burst ratio): write one such as 0, 0.5, 1 or 1.1"
)]
pub struct StrictnessError;

/// No operation starts any more, and why.
///
/// It converts to the [`Refused`] of the same name.
///
/// ```
/// use nanopace::{Ended, ManualClock, Pacer};
///
/// let clock = ManualClock::jumping();
/// let pacer = Pacer::builder("10/s".parse()?).slots(3).clock(clock).build();
/// let started = std::iter::from_fn(|| pacer.acquire().ok()).count();
/// assert_eq!(started, 3);
/// assert_eq!(pacer.acquire(), Err(Ended::Finished));
/// pacer.close();
/// assert_eq!(pacer.acquire(), Err(Ended::Closed));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Ended {
    /// The pacer has been [closed](crate::Pacer::close).
    #[error("the pacer is closed")]
    Closed,
    /// The schedule has no slot left: see [`PacerBuilder::slots`](crate::PacerBuilder::slots) and
    /// [`PacerBuilder::until`](crate::PacerBuilder::until).
    #[error("the schedule has no slot left")]
    Finished,
}

/// Why a slot was refused. Nothing was taken.
///
/// ```
/// use nanopace::{ManualClock, Pacer, Refused};
///
/// let clock = ManualClock::new();
/// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
/// pacer.acquire()?; // slot 0
/// match pacer.try_acquire() {
///     Err(Refused::NotUntil(when)) => clock.set(when), // or do something else until then
///     other => unreachable!("slot 1 is due at 100 ms: {other:?}"),
/// }
/// assert!(pacer.try_acquire().is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refused {
    /// The pacer has been closed; it will never grant again.
    #[error("the pacer is closed")]
    Closed,
    /// The schedule has no slot left, or not as many as were asked for.
    #[error("the schedule has no slot left")]
    Finished,
    /// The pacer is paused. When it will grant again is unknown.
    #[error("the pacer is paused")]
    Paused,
    /// Not yet: as things stand, the next slot can be granted from this moment on, on the pacer's
    /// clock.
    #[error("not before {0:?} on the pacer's clock")]
    NotUntil(Nanos),
    /// More than 2^44 slots that are not due yet have been taken. With more of them positions would
    /// wrap.
    #[error("too many slots have been taken ahead of the schedule")]
    TooFarAhead,
}

impl Refused {
    /// Why a caller without a deadline is refused a single slot: there is none any more.
    pub(crate) fn for_good(self) -> Ended {
        match self {
            Refused::Finished => Ended::Finished,
            _ => Ended::Closed,
        }
    }
}

impl From<Ended> for Refused {
    fn from(ended: Ended) -> Refused {
        match ended {
            Ended::Closed => Refused::Closed,
            Ended::Finished => Refused::Finished,
        }
    }
}
