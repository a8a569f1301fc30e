//! Defines the shapes of loads, and converts between times and counts of slots.
//!
//! A shape is a tree, whose leaves are curves. If a curve has a formula, its rate never falls. Falling rates are such
//! curves backwards in time. All counts are sums of the leaves' counts. The times of counts at a constant rate are
//! computed directly. On other leaves, the time of a count is estimated, and corrected until it is the first nanosecond
//! at which the count is reached, unless the estimate is known to be that nanosecond.

mod bell;
mod compose;
mod custom;
#[cfg(test)]
mod laws;
mod leaf;
mod level;
mod make;
mod parse;
mod program;
mod rise;
mod show;
mod swell;
mod token;
mod trend;

pub use custom::Curve;
pub use level::Level;

use crate::count::{Count, Fine, ONE, approximate, fine, whole};
use crate::error::ShapeError;
use crate::nanos::{duration, span_ns};
use leaf::Leaf;
use program::{Here, Program};
use show::Text;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A function of time that gives the rate of a load.
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
/// The *count* of a shape at a given time is the area under its rate up to that time: the number of slots, including
/// the fraction of the next slot. Slot n starts in the first whole nanosecond at which the count is n or more. If the
/// count is exactly n at that time and the rate is zero, the slot starts when the rate rises again. Slot 0 therefore
/// starts as soon as the rate is above zero, and a shape with a count of N contains the slots with numbers below N.
/// Counts are exact to 2^-64 slots and times to the nanosecond. Repeating a shape adds no error: even after 10^15 slots
/// of a repeated shape, the times have not drifted. (A [`custom`](Shape::custom) curve is only as exact as its own
/// function, and its slots do not wait for the end of a flat part.)
///
/// A pacer that is built with [`Pacer::shaped`](crate::Pacer::shaped) follows a shape. Each intended start is within 1
/// ns of its exact time, unless a pause or a late policy moves it. See [Schedules](crate::_documentation::schedules)
/// for details.
///
/// Build shapes by combining parts, with methods or from [a string](#impl-FromStr-for-Shape). A clone is cheap. A shape
/// has at most 65536 parts, at most 64 levels of nesting, a duration below 2^63 - 1 ns (292 years) and a count below
/// 2^63. If a shape is repeated, its parts are counted only once. A shape that never ends is exempt from the limits of
/// duration and count; its count stops at 2^63.
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
}

/// Determines the rate between the points of a [`Shape::table`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Between {
    /// The rate changes linearly from each point to the next.
    Linear,
    /// The rate stays constant until the next point. The last point only sets the end; its own rate is never used.
    Step,
}

impl Shape {
    /// Returns the duration of the shape, or `None` if it never ends.
    #[must_use]
    pub fn duration(&self) -> Option<Duration> {
        Some(self.duration_ns()).filter(|&ns| ns < i64::MAX).map(duration)
    }

    /// Returns the number of slots in the whole shape, which need not be an integer, or `None` if the shape never ends.
    #[must_use]
    pub fn count(&self) -> Option<f64> {
        self.duration().map(|_| approximate(self.program.total()))
    }

    /// Returns the count of the shape at `elapsed`, which need not be an integer. After the end of the shape, returns
    /// the count of the whole shape.
    #[must_use]
    pub fn count_at(&self, elapsed: Duration) -> f64 {
        approximate(self.program.count_at(span_ns(elapsed)))
    }

    /// Returns the rate at `elapsed`, in slots per second. At a jump, returns the rate after the jump. From the end of
    /// the shape on, returns 0.
    #[must_use]
    pub fn rate_at(&self, elapsed: Duration) -> f64 {
        self.rate_at_ns(span_ns(elapsed))
    }

    /// Returns the time at which the slot with this number starts, counted from the shape's beginning. Returns `None`
    /// if the shape has no such slot.
    #[must_use]
    pub fn time_of(&self, slot: u64) -> Option<Duration> {
        let count = Count::from(slot) * ONE;
        if count >= whole(self.program.total()) {
            return None;
        }
        Some(self.time_of_count(count)).filter(|&ns| ns < i64::MAX).map(duration)
    }

    pub(crate) fn rate_at_ns(&self, elapsed_ns: i64) -> f64 {
        let here = self.program.leaf_at(elapsed_ns.max(0));
        here.map_or(0.0, |here| here.leaf.rate_hz(here.since_ns))
    }

    pub(crate) fn is_same(&self, other: &Shape) -> bool {
        Arc::ptr_eq(&self.program, &other.program)
    }

    /// Returns the highest rate, in slots per second. For a [`custom`](Shape::custom) curve, it is the highest of the
    /// rates at 1001 sampled times, over a day if the curve never ends.
    #[must_use]
    pub fn peak(&self) -> f64 {
        self.program.peak_hz(0, i64::MAX)
    }

    pub(crate) fn count_at_ns(&self, elapsed_ns: i64) -> Count {
        whole(self.program.count_at(elapsed_ns))
    }

    /// Returns `i64::MAX` if the slot never starts. There is no slot at the count of the whole shape or after it.
    #[inline]
    pub(crate) fn time_of_count(&self, count: Count) -> i64 {
        self.program.steady_time_of(count).unwrap_or_else(|| self.exact_time_of_count(count))
    }

    fn exact_time_of_count(&self, count: Count) -> i64 {
        if self.duration_ns() < i64::MAX && count >= whole(self.program.total()) {
            return i64::MAX;
        }
        let time_ns = self.program.time_of(fine(count));
        let flat_until_ns = self.program.flat_until(time_ns);
        let is_early = flat_until_ns > time_ns && self.count_at_ns(time_ns) == count;
        if is_early { flat_until_ns } else { time_ns }
    }

    /// Returns whether the slot at `count` starts after `elapsed_ns` or never, because the rate is zero or the shape
    /// has ended. `count` must be the count at `elapsed_ns`.
    pub(crate) fn is_waiting_at_ns(&self, elapsed_ns: i64, count: Count) -> bool {
        let elapsed_ns = elapsed_ns.max(0);
        let is_flat = self.program.flat_until(elapsed_ns) > elapsed_ns;
        (is_flat || count >= whole(self.program.total())) && self.time_of_count(count) > elapsed_ns
    }

    pub(crate) fn duration_ns(&self) -> i64 {
        self.program.time_ns()
    }

    /// Treats time as a function of the count. Returns how long the chord that begins at `elapsed_ns` stays within 1 ns
    /// of the curve, and whether the rate falls there. The duration is a lower bound, at least 1, and `i64::MAX` after
    /// the end.
    pub(crate) fn straight_ns(&self, elapsed_ns: i64) -> (i64, bool) {
        let here = self.program.leaf_at(elapsed_ns.max(0));
        here.map_or((i64::MAX, false), |Here { leaf, since_ns, rest_ns, .. }| {
            (leaf.straight_for(since_ns).min(rest_ns), leaf.falls())
        })
    }

    /// Returns whether the time lies inside a leaf, after its beginning, and the rate changes little in a nanosecond.
    pub(crate) fn is_smooth_at(&self, elapsed_ns: i64) -> bool {
        let here = self.program.leaf_at(elapsed_ns.max(0));
        here.is_some_and(|here| here.going_ns > 0 && here.leaf.straight_for(here.since_ns) > 1)
    }

    /// Returns how long a parabola that begins at `elapsed_ns` stays within 1/4 ns of the curve, seen as time over the
    /// count. Returns zero if a chord is as good, or if no parabola may begin there.
    pub(crate) fn bent_ns(&self, elapsed_ns: i64) -> i64 {
        let here = self.program.leaf_at(elapsed_ns.max(0));
        here.map_or(0, |here| here.leaf.bent_for(here.since_ns).min(here.rest_ns))
    }

    pub(crate) fn as_constant(&self) -> Option<Level> {
        match *self.text {
            Text::Hold(level, i64::MAX) => Some(level),
            _ => None,
        }
    }

    fn leaf(leaf: Leaf, text: Text) -> Result<Shape, ShapeError> {
        Ok(Shape::of(Program::leaf(leaf)?, text))
    }

    fn of(program: Program, text: Text) -> Shape {
        Shape { program: Arc::new(program), text: Arc::new(text) }
    }

    fn into_parts(self) -> (Program, Text) {
        (Arc::unwrap_or_clone(self.program), Arc::unwrap_or_clone(self.text))
    }
}

fn rising(part: fn(Fine, Fine, i64) -> Leaf, from: Level, to: Level, time_ns: i64) -> Leaf {
    let (from, to) = (from.fine(), to.fine());
    match from.cmp(&to) {
        Ordering::Less => part(from, to, time_ns),
        Ordering::Equal => Leaf::hold(from, time_ns),
        Ordering::Greater => part(to, from, time_ns).reversed(),
    }
}

fn part_ns(time: Duration) -> Result<i64, ShapeError> {
    match span_ns(time) {
        0 => Err(ShapeError::Empty),
        i64::MAX => Err(ShapeError::TooLong),
        time_ns => Ok(time_ns),
    }
}

impl fmt::Display for Shape {
    /// Formats the shape so that [`FromStr`](std::str::FromStr) can parse it, except for [`custom`](Shape::custom)
    /// curves.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}
