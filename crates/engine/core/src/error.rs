//! Defines the errors of rates, strictnesses, shapes and starts.

use crate::Nanos;
use std::fmt;
use std::time::Duration;

/// Implements `Debug` so that it prints the error's message. If `main` returns an error, Rust prints its `Debug` form.
macro_rules! errors_by_text {
    ($($error:ty),+) => {$(
        impl std::error::Error for $error {}

        impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    )+};
}
pub(crate) use errors_by_text;

errors_by_text!(RateError, StrictnessError, ShapeError, ShapeSyntaxError, Ended, Refused);

const MOST_SHOWN: usize = 60;

pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// The reason why a number or a string is not a valid [`Rate`](crate::Rate). The message says what to write instead.
///
/// ```
/// use nanopace::Rate;
///
/// let error = "11G/s".parse::<Rate>().unwrap_err();
/// assert_eq!(error.to_string(), "that rate is too fast: the fastest is 10G/s");
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RateError {
    /// A rate of zero operations per period.
    Zero,
    /// A rate below zero.
    Negative,
    /// A rate that is not a number (NaN), or is infinite.
    NotFinite,
    /// A rate of more than 10 G per second, or with a period of zero length.
    TooFast,
    /// A rate of less than one per day.
    TooSlow,
    /// A string that does not have the form of a rate. `5000` and `50k/s` have this form.
    Syntax,
    /// An unknown unit of time.
    Unit(String),
    /// A rate with more digits than can be stored exactly.
    TooManyDigits,
}

impl fmt::Display for RateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RateError::Zero => "a rate of zero starts nothing: write a positive rate such as 1/h, or pause instead",
            RateError::Negative => "a rate cannot be negative: write a positive rate such as 100/s",
            RateError::NotFinite => "a rate must be a finite number: write a rate such as 5000/s, at most 10G/s",
            RateError::TooFast => "that rate is too fast: the fastest is 10G/s",
            RateError::TooSlow => "that rate is too slow: the slowest is 1/d (one per day)",
            RateError::Syntax => "that is not a rate: write a count, optionally k, M or G, and a unit, such as 50k/s, 3/min or 1.5/h",
            RateError::Unit(unit) => return write!(f, "`{unit}` is not a unit of time for a rate: write ns, us, ms, s, min, h or d, such as 3/min"),
            RateError::TooManyDigits => "a rate is stored exactly, and this one has too many digits: write at most 18 digits, or fewer decimals in the period",
        })
    }
}

/// The error for a number or a string that is not a valid [`Strictness`](crate::Strictness), a number from 0 to 1000.
#[derive(Clone, PartialEq, Eq)]
pub struct StrictnessError;

impl fmt::Display for StrictnessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("strictness is a number from 0 to 1000: write 0 to make up for missed slots at once, 1.1 to do so at up to 110 % of the rate, or 1 to skip them")
    }
}

/// The reason why a [`Shape`](crate::Shape) cannot be built. The message says what to do instead.
///
/// ```
/// use nanopace::{Rate, Shape};
/// use std::time::Duration;
///
/// let error = Shape::hold(Rate::FASTEST, Duration::ZERO).unwrap_err();
/// assert!(error.to_string().starts_with("a part of a shape is too short"));
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShapeError {
    /// A part of the shape is shorter than 1 ns, or 2 ns if it has two halves.
    Empty,
    /// The shape would last 2^63 - 1 ns or longer.
    TooLong,
    /// The shape would have 2^63 slots or more.
    TooManySlots,
    /// The shape has more than 65536 parts, or more than 64 levels of nesting.
    TooManyParts,
    /// A shape that never ends cannot be repeated or reversed, and cannot be followed by another shape.
    Endless,
    /// A shape would be repeated zero times.
    NoTimes,
    /// A ladder has fewer than two steps.
    TooFewSteps,
    /// A table has fewer than two points, or its first point is not at time zero.
    TableStart,
    /// A point of a table is not later than the point before it. The field is the time of that point.
    TableOrder(Duration),
    /// The count of a custom curve is invalid: it is not 0 at time 0, is negative, decreases, is not finite, or is too
    /// large. The field is the time on the curve at which the error was found.
    Curve(Duration),
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ShapeError::Empty => "a part of a shape is too short: write 1 ns or longer, 2 ns for a sine, spike or peak",
            ShapeError::TooLong => "that shape lasts too long: it may last at most 292 years, or `forever`",
            ShapeError::TooManySlots => "that shape has too many slots: it may have at most 2^63 - 1",
            ShapeError::TooManyParts => "that shape has too many parts: it may have at most 65536, nested at most 64 deep; a repeated part counts once",
            ShapeError::Endless => "that shape never ends, so it cannot be repeated or reversed, and nothing can follow it",
            ShapeError::NoTimes => "a shape must be repeated at least once",
            ShapeError::TooFewSteps => "a ladder needs at least two steps: write a hold for a single level",
            ShapeError::TableStart => "a table has two points or more, and the first one is at time zero",
            ShapeError::TableOrder(time) => return write!(f, "each point of a table must be later than the point before it: the point at {time:?} is not"),
            ShapeError::Curve(time) => return write!(f, "a curve must start at 0 slots, never decrease, and stay finite and below 2^63: this one does not at {time:?}"),
        })
    }
}

/// The reason why a string is not a valid [`Shape`](crate::Shape), and the position of the error in the string.
///
/// ```
/// use nanopace::Shape;
///
/// let error = "hold 5k/s 10s, jump 3s".parse::<Shape>().unwrap_err();
/// assert_eq!(error.column(), 16);
/// assert!(error.to_string().starts_with("column 16: "));
/// // An error that `main` returns is printed by `Debug`, which therefore is the message too.
/// assert_eq!(format!("{error:?}"), error.to_string());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ShapeSyntaxError {
    column: usize,
    message: String,
}

impl fmt::Display for ShapeSyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}", self.column, self.message)
    }
}

impl ShapeSyntaxError {
    pub(crate) fn new(column: usize, message: String) -> ShapeSyntaxError {
        ShapeSyntaxError { column, message }
    }

    /// Returns the position of the error in the string, in characters. The first character has position 1.
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

/// The reason why no more operations start.
///
/// An `Ended` converts to the [`Refused`] variant with the same name.
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
// The enum is as wide as each word of a grant, so that a `Result` of a grant and this error is moved in whole words.
#[repr(u64)]
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// The pacer has been [closed](crate::Pacer::close).
    Closed,
    /// The schedule has no slot left. It ended with [`PacerBuilder::slots`](crate::PacerBuilder::slots), with
    /// [`PacerBuilder::until`](crate::PacerBuilder::until), with its [`Shape`](crate::Shape), or with the recording
    /// that it [replays](crate::Arrivals::replay). A schedule that ended with its shape continues if another rate or
    /// shape is set.
    Finished,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Refused::from(*self).fmt(f)
    }
}

/// The reason why a call did not start a slot. A call that is refused claims no slot. The exceptions are a
/// [`Poller`](crate::Poller) and a [`Claim`](crate::Claim), which keep a slot that is not due.
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
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// The pacer has been closed. It will never grant another slot.
    Closed,
    /// The schedule has no slot left, or fewer slots than the caller requested.
    Finished,
    /// The pacer is paused. It is not known when it will be resumed.
    Paused,
    /// No slot can start yet. By the current schedule, the next slot, or the one that the caller holds, can start at
    /// this time on the pacer's clock.
    NotUntil(Nanos),
    /// The caller requested two or more slots at once, and more than 2^44 slots that are not due yet have been claimed.
    TooFarAhead,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refused::Closed => "the pacer is closed",
            Refused::Finished => "the schedule has no slot left",
            Refused::Paused => "the pacer is paused",
            Refused::NotUntil(when) => {
                return write!(
                    f,
                    "the next slot starts at {when:?} on the pacer's clock at the earliest"
                );
            }
            Refused::TooFarAhead => "too many slots have been claimed ahead of the schedule",
        })
    }
}

impl Refused {
    /// Only for the refusal of a request for one slot without a deadline, which is always `Closed` or `Finished`.
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
