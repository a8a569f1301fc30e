//! Errors, whose messages say what to do instead.

use crate::Nanos;
use std::time::Duration;
use thiserror::Error;

/// An error shows at most this many characters of the input.
const MOST_SHOWN: usize = 60;

/// The input as an error shows it: a long string is cut.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

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

/// Why there is no such [`Shape`](crate::Shape). The message says what to do instead.
///
/// ```
/// use nanopace::{Rate, Shape};
/// use std::time::Duration;
///
/// let error = Shape::hold(Rate::FASTEST, Duration::ZERO).unwrap_err();
/// assert_eq!(error.to_string(), "a part of a shape cannot be empty: it lasts 1 ns or longer");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// A part without any time.
    #[error("a part of a shape cannot be empty: it lasts 1 ns or longer")]
    Empty,
    /// It would last 2^63 ns or longer.
    #[error("that shape lasts too long: it may last 292 years, or `forever`")]
    TooLong,
    /// It would have 2^63 slots or more.
    #[error("that shape has too many slots: it may have 2^63 - 1")]
    TooManySlots,
    /// More parts, or more of them within each other, than can be kept.
    #[error(
        "that shape has too many parts: at most 65536, and at most 64 within each other; repeated ones count once"
    )]
    TooManyParts,
    /// Something is to follow, repeat or reverse a shape that never ends.
    #[error("that shape never ends, so nothing follows it, and it neither repeats nor reverses")]
    Endless,
    /// Repeated zero times.
    #[error("a shape is repeated once or more often")]
    NoTimes,
    /// A ladder with fewer than two steps.
    #[error("a ladder has two steps or more: for one level, hold it")]
    TooFewSteps,
    /// A table with fewer than two points, or whose first point is not at zero.
    #[error("a table has two points or more, and the first one is at zero")]
    TableStart,
    /// A point of a table that is not later than the one before.
    #[error("the points of a table come one after the other, and the one at {0:?} does not")]
    TableOrder(Duration),
    /// A curve that is not 0 at 0, is below zero, goes down, is not finite, or has too many slots,
    /// at this moment.
    #[error(
        "a curve starts with 0 slots and never goes down, and all its numbers are finite and below 2^63: not so after {0:?}"
    )]
    Curve(Duration),
}

/// Why a text is not a [`Shape`](crate::Shape), and where.
///
/// ```
/// use nanopace::Shape;
///
/// let error = "hold 5k/s 10s, jump 3s".parse::<Shape>().unwrap_err();
/// assert_eq!(error.column(), 16);
/// assert!(error.to_string().starts_with("column 16: "));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("column {column}: {message}")]
pub struct ShapeSyntaxError {
    column: usize,
    message: String,
}

impl ShapeSyntaxError {
    pub(crate) fn new(column: usize, message: String) -> ShapeSyntaxError {
        ShapeSyntaxError { column, message }
    }

    /// Where it is, in characters; the first one is 1.
    ///
    /// ```
    /// use nanopace::Shape;
    ///
    /// assert_eq!("hold".parse::<Shape>().unwrap_err().column(), 5);
    /// ```
    #[must_use]
    pub fn column(&self) -> usize {
        self.column
    }
}

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
// As wide as the words of a grant, so that those of a `Result` are moved whole.
#[repr(u64)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Ended {
    /// The pacer has been [closed](crate::Pacer::close).
    #[error("the pacer is closed")]
    Closed,
    /// The schedule has no slot left: after [`PacerBuilder::slots`](crate::PacerBuilder::slots) or
    /// [`PacerBuilder::until`](crate::PacerBuilder::until), or where its [`Shape`](crate::Shape) or
    /// the recording that it [replays](crate::Arrivals::replay) ends. With another rate or shape one
    /// that ended with its shape goes on.
    #[error("the schedule has no slot left")]
    Finished,
}

/// Why a slot was refused. Nothing was taken, unless by a [`Poller`](crate::Poller), which keeps what is not
/// due.
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
    /// The reason to refuse a single slot to a caller without a deadline.
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
