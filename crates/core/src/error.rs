//! What can be refused, and what to do instead.

use crate::Nanos;
use thiserror::Error;

/// Why something is not a [`Rate`](crate::Rate).
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

/// Why something is not a [`Strictness`](crate::Strictness).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "strictness is a number from 0 (average rate) over 1 (strict) to 1000 (burst ratio): write one such as 0, 0.5, 1 or 1.1"
)]
pub struct StrictnessError;

/// The pacer has been closed: no operation starts any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the pacer is closed")]
pub struct Closed;

/// Why a slot was refused. Nothing was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refused {
    /// The pacer has been closed; it will never grant again.
    #[error("the pacer is closed")]
    Closed,
    /// The pacer is paused; there is no telling when it will grant.
    #[error("the pacer is paused")]
    Paused,
    /// Not yet: as things stand, the next slot can be granted from this moment on.
    #[error("not before {0:?} on the pacer's clock")]
    NotUntil(Nanos),
    /// So many slots have been taken ahead of the schedule that positions would wrap (2^44 of
    /// them).
    #[error("too many slots have been taken ahead of the schedule")]
    TooFarAhead,
}

impl From<Closed> for Refused {
    fn from(Closed: Closed) -> Refused {
        Refused::Closed
    }
}
