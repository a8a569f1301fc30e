//! The shape of a load: from counts to time, and back.
//!
//! A shape is a tree. Its leaves are curves whose rate never falls, or the same backwards, so that
//! every formula is a sum of positive terms. All counts are sums of theirs. The time of a count is
//! found through counts at moments alone: it is estimated, and then corrected until the count is
//! reached there and not reached one nanosecond earlier.

mod compose;
mod custom;
mod leaf;
mod level;
mod make;
mod parse;
mod program;
mod rise;
mod search;
mod show;
mod swell;
mod token;

pub use custom::Curve;
pub use level::Level;

use crate::count::{Count, Fine, ONE, approximate, fine, whole};
use crate::error::ShapeError;
use crate::nanos::{duration, span_ns};
use leaf::Leaf;
use program::Program;
use show::Text;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How the rate of a load goes over time.
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
/// The *count* of a shape by a moment is the area under its rate until then: how many slots there
/// are, parts of a slot included. Slot n starts in the first whole nanosecond at which the count is
/// n; if the rate is zero then, it starts when the rate rises again. So slot 0 starts at once, and
/// a shape with a count of N has the slots with numbers below N. Counts are exact to 2^-64 slots,
/// times to the nanosecond, and repeating a shape adds nothing to that: 10^15 slots into a repeated
/// one, nothing has drifted. (A [`custom`](Shape::custom) curve is as exact as it is.)
///
/// [`Pacer::shaped`](crate::Pacer::shaped) follows a shape, and starts each slot within 1 ns of its
/// moment; [Schedules](crate::_documentation::schedules) tells the whole story.
///
/// Shapes are put together from parts, by methods or from [text](#impl-FromStr-for-Shape). A clone
/// is cheap. A shape has at most 65536 parts, 64 of them within each other, a duration below 2^63
/// ns (292 years) and a count below 2^63. What is repeated counts once, and what never ends is
/// without these limits; there the count stops at 2^63.
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
    /// Its rate, if it is nothing but one hold.
    level: Option<Level>,
}

/// What the rate does between the points of a [`Shape::table`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Between {
    /// It goes straight from each point to the next.
    Linear,
    /// It stays until the next point. The last point is only the end; its own rate is never
    /// reached.
    Step,
}

impl Shape {
    /// How long it lasts; none if it never ends.
    #[must_use]
    pub fn duration(&self) -> Option<Duration> {
        Some(self.duration_ns()).filter(|&ns| ns < i64::MAX).map(duration)
    }

    /// How many slots it has, parts of a slot included; none if it never ends.
    #[must_use]
    pub fn count(&self) -> Option<f64> {
        self.duration().map(|_| approximate(self.program.total()))
    }

    /// How many slots there are after so long, parts of a slot included; behind the end, all.
    #[must_use]
    pub fn count_at(&self, elapsed: Duration) -> f64 {
        approximate(self.program.count_at(span_ns(elapsed)))
    }

    /// Slots per second after so long. At a jump it is the later rate, and behind the end it is 0.
    #[must_use]
    pub fn rate_at(&self, elapsed: Duration) -> f64 {
        let leaf = self.program.leaf_at(span_ns(elapsed));
        leaf.map_or(0.0, |(leaf, time_ns)| leaf.rate_hz(time_ns))
    }

    /// When the slot of this number starts, counted from the shape's beginning; none if it has no
    /// such slot.
    #[must_use]
    pub fn time_of(&self, slot: u64) -> Option<Duration> {
        let count = Count::from(slot) * ONE;
        if count >= whole(self.program.total()) {
            return None;
        }
        Some(self.time_of_count(count)).filter(|&ns| ns < i64::MAX).map(duration)
    }

    /// Slots per second after so long, as [`rate_at`](Shape::rate_at).
    pub(crate) fn rate_at_ns(&self, elapsed_ns: i64) -> f64 {
        self.program.leaf_at(elapsed_ns.max(0)).map_or(0.0, |(leaf, time_ns)| leaf.rate_hz(time_ns))
    }

    /// Whether it is a copy of the same shape.
    pub(crate) fn is_same(&self, other: &Shape) -> bool {
        Arc::ptr_eq(&self.program, &other.program)
    }

    /// The highest rate, per second. That of a [`custom`](Shape::custom) curve is the highest of a
    /// thousand moments.
    #[must_use]
    pub fn peak(&self) -> f64 {
        self.program.peak_hz()
    }

    /// How many slots there are after so long: 0 before the beginning, all behind the end.
    pub(crate) fn count_at_ns(&self, elapsed_ns: i64) -> Count {
        whole(self.program.count_at(elapsed_ns))
    }

    /// When the slot that lies at `count` starts: in the first nanosecond at which there are so
    /// many, or if the rate is zero then, when it rises again; `i64::MAX`: never.
    pub(crate) fn time_of_count(&self, count: Count) -> i64 {
        let time_ns = self.program.time_of(fine(count));
        if !self.is_flat_at_ns(time_ns) || self.count_at_ns(time_ns) != count {
            return time_ns;
        }
        // The part that makes it more does so from its beginning.
        let more = self.program.time_of(fine(count + 1));
        let part = self.program.leaf_at(more - 1).filter(|_| more < i64::MAX);
        part.map_or(i64::MAX, |(_, since_ns)| more - 1 - since_ns)
    }

    /// Whether the rate is zero from then on, for a while. The slot that lies at the count so far
    /// has not come then.
    pub(crate) fn is_flat_at_ns(&self, elapsed_ns: i64) -> bool {
        self.program.leaf_at(elapsed_ns.max(0)).is_none_or(|(leaf, _)| leaf.is_flat())
    }

    /// `i64::MAX`: it never ends.
    pub(crate) fn duration_ns(&self) -> i64 {
        self.program.time_ns()
    }

    /// From `elapsed_ns` on, for so long, the chord of time by count is within 1 ns of the curve: a
    /// lower bound, at least 1; `i64::MAX` behind the end. And whether the rate falls there.
    pub(crate) fn straight_ns(&self, elapsed_ns: i64) -> (i64, bool) {
        let leaf = self.program.leaf_at(elapsed_ns.max(0));
        leaf.map_or((i64::MAX, false), |(leaf, time_ns)| (leaf.straight_for(time_ns), leaf.falls()))
    }

    /// Its rate, if that is the same for ever.
    pub(crate) fn as_constant(&self) -> Option<Level> {
        self.level.filter(|_| self.duration_ns() == i64::MAX)
    }

    fn leaf(leaf: Leaf, text: Text) -> Result<Shape, ShapeError> {
        Ok(Shape::of(Program::leaf(leaf)?, text))
    }

    fn of(program: Program, text: Text) -> Shape {
        Shape { program: Arc::new(program), text: Arc::new(text), level: None }
    }

    fn into_parts(self) -> (Program, Text) {
        (Arc::unwrap_or_clone(self.program), Arc::unwrap_or_clone(self.text))
    }
}

/// A leaf from one rate to another, backwards if that is lower.
fn rising(part: fn(Fine, Fine, i64) -> Leaf, from: Level, to: Level, time_ns: i64) -> Leaf {
    let (from, to) = (from.fine(), to.fine());
    match from.cmp(&to) {
        Ordering::Less => part(from, to, time_ns),
        Ordering::Equal => Leaf::hold(from, time_ns),
        Ordering::Greater => part(to, from, time_ns).reversed(),
    }
}

/// How long a part lasts, in nanoseconds.
fn part_ns(time: Duration) -> Result<i64, ShapeError> {
    match span_ns(time) {
        0 => Err(ShapeError::Empty),
        i64::MAX => Err(ShapeError::TooLong),
        time_ns => Ok(time_ns),
    }
}

impl fmt::Display for Shape {
    /// Shows it so that [`FromStr`](std::str::FromStr) reads it back, but for
    /// [`custom`](Shape::custom) curves.
    ///
    /// ```
    /// use nanopace::{Rate, Shape};
    /// use std::time::Duration;
    ///
    /// let (low, high) = (Rate::per_second(100)?, Rate::per_second(200)?);
    /// let shape = Shape::spike(low, high, Duration::from_millis(1_500))?.repeat(3)?;
    /// assert_eq!(shape.to_string(), "spike 100/s..200/s 1500ms x3");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rate;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Smooth, and exact in `f64`: `t^2` slots after `t` microseconds.
    #[derive(Debug)]
    struct Square;

    impl Curve for Square {
        fn count_at(&self, elapsed: Duration) -> f64 {
            (elapsed.as_secs_f64() * 1e6).powi(2)
        }
    }

    fn levels() -> impl Strategy<Value = Level> {
        let rates = (1_u64..1 << 40, 1_u64..1 << 40).prop_filter_map("no rate", |(n, ns)| {
            Rate::per(n, Duration::from_nanos(ns)).ok().map(Level::from)
        });
        prop_oneof![1 => Just(Level::ZERO), 4 => rates]
    }

    fn times() -> impl Strategy<Value = Duration> {
        (1_u32..56)
            .prop_flat_map(|bits| (1_u64 << bits)..(2 << bits))
            .prop_map(Duration::from_nanos)
    }

    fn leaves() -> impl Strategy<Value = Shape> {
        let leaf =
            (0_u32..4, levels(), levels(), times()).prop_map(|(kind, from, to, time)| match kind {
                0 => Shape::hold(from, time),
                1 => Shape::leaf(
                    rising(Leaf::swell, from, to, part_ns(time)?),
                    Text::Item(String::new()),
                ),
                _ => Shape::ramp(from, to, time),
            });
        let custom = times().prop_map(|time| Shape::custom(Square, Some(time.min(SECOND))));
        prop_oneof![8 => leaf, 1 => custom].prop_filter_map("no shape", Result::ok)
    }

    fn shapes() -> impl Strategy<Value = Shape> {
        leaves().prop_recursive(4, 12, 3, |inner| {
            prop_oneof![
                (inner.clone(), inner.clone()).prop_map(|(first, second)| first.then(second)),
                (inner.clone(), 1_u64..50).prop_map(|(shape, times)| shape.repeat(times)),
                inner.clone().prop_map(Shape::reversed),
                inner.clone().prop_map(Shape::mirrored),
                inner.prop_map(Shape::forever),
            ]
            .prop_filter_map("no shape", Result::ok)
        })
    }

    /// Anywhere, or near the beginning.
    fn moments() -> impl Strategy<Value = u64> {
        prop_oneof![2 => any::<u64>(), 1 => 0_u64..100, 1 => 0_u64..1 << 20]
    }

    /// A moment within the shape, or a little behind it.
    fn moment(shape: &Shape, at: u64) -> i64 {
        let range = shape.duration_ns().min(1 << 60).unsigned_abs() + 3;
        i64::try_from(at % range).unwrap()
    }

    fn has_come(shape: &Shape, count: Count, time_ns: i64) -> bool {
        let reached = shape.count_at_ns(time_ns);
        count < reached || count == reached && !shape.is_flat_at_ns(time_ns)
    }

    proptest! {
        /// The law that everything else is defined by.
        #[test]
        fn times_and_counts_are_inverse(shape in shapes(), at: u64, off in -3_i128..4, near in -2_i64..3) {
            let t = moment(&shape, at);
            let reached = shape.count_at_ns(t);
            let count = reached.saturating_add_signed(off);
            let time = shape.time_of_count(count);
            for t in [t, time.saturating_add(near), time.saturating_sub(1), time].map(|t| t.clamp(0, i64::MAX - 1)) {
                prop_assert_eq!(time <= t, has_come(&shape, count, t), "{} {} {}", count, time, t);
            }
            prop_assert!(shape.count_at_ns(t + 1) >= reached);
        }

        #[test]
        fn slots_and_times_are_inverse(shape in shapes(), at: u64, near in -2_i64..3) {
            let slot = shape.count_at_ns(moment(&shape, at)) >> 64;
            let time = shape.time_of_count(slot << 64);
            let t = time.saturating_add(near).clamp(0, i64::MAX - 1);
            prop_assert_eq!(time <= t, has_come(&shape, slot << 64, t));
        }

        /// What is within 1 ns of a chord is as the chord says; three times the length is not.
        #[test]
        fn chords_are_straight_for_as_long_as_they_are_said_to_be(shape in leaves(), at in moments(), parts in proptest::array::uniform8(0_u64..=1 << 32)) {
            let time = shape.duration_ns();
            let t = moment(&shape, at).min(time - 1);
            let length = shape.straight_ns(t).0;
            prop_assert!((1..=time - t).contains(&length));
            let between = |part: u64| i64::try_from((u128::from(length.unsigned_abs()) * u128::from(part)) >> 32).unwrap();
            let rounding = 1e-9 + float(length) * 4e-16;
            for part in parts {
                prop_assert!(deviation(&shape, t, length, between(part)) <= 1.0 + rounding);
            }
        }

        #[test]
        fn chords_of_ramps_are_not_needlessly_short(from in levels(), to in levels(), time in times(), at: u64) {
            prop_assume!(from != to);
            let Ok(shape) = Shape::ramp(from, to, time) else { return Ok(()) };
            let t = moment(&shape, at).min(shape.duration_ns() - 1);
            let length = shape.straight_ns(t).0;
            let longer = 3 * length + 10;
            if t + longer <= shape.duration_ns() {
                let worst = (1..100).map(|part| deviation(&shape, t, longer, longer * part / 100));
                prop_assert!(worst.fold(0.0, f64::max) > 1.0, "{length}");
            }
        }

        #[test]
        fn backwards_the_last_comes_first(shape in shapes(), at: u64) {
            let Ok(back) = shape.clone().reversed() else { return Ok(()) };
            let (time, total) = (shape.duration_ns(), shape.count_at_ns(i64::MAX));
            let t = moment(&shape, at).min(time);
            prop_assert_eq!(back.count_at_ns(i64::MAX), total);
            let sum = back.count_at_ns(t) + shape.count_at_ns(time - t);
            prop_assert!(sum.abs_diff(total) <= 1, "{sum} {total}");
            let again = back.reversed().unwrap();
            prop_assert_eq!(again.count_at_ns(t), shape.count_at_ns(t));
            prop_assert_eq!(again.to_string(), shape.to_string());
        }

        #[test]
        fn a_mirrored_shape_is_the_same_backwards(shape in shapes(), at: u64) {
            let Ok(mirrored) = shape.mirrored() else { return Ok(()) };
            let t = moment(&mirrored, at);
            prop_assert_eq!(mirrored.clone().reversed().unwrap().count_at_ns(t), mirrored.count_at_ns(t));
        }

        /// The rate is the count's slope.
        #[test]
        fn rates_are_slopes(shape in leaves(), at: u64) {
            let time = shape.duration_ns();
            prop_assume!(time > 1 << 20);
            let t = moment(&shape, at).min(time - (time >> 10) - 1);
            let end = t + (time >> 10);
            let grown = crate::count::fine(shape.count_at_ns(end) - shape.count_at_ns(t));
            let mean = approximate(grown) / float(end - t) * 1e9;
            let rates = [t, end - 1].map(|t| shape.rate_at(duration(t)));
            let (low, high) = (rates[0].min(rates[1]), rates[0].max(rates[1]));
            let rounding = 1e-6 * shape.peak() + 1e-9;
            prop_assert!(low - rounding <= mean && mean <= high + rounding, "{low} {mean} {high}");
            prop_assert!(high <= shape.peak() * (1.0 + 1e-9));
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "tests allow for it")]
    fn float(ns: i64) -> f64 {
        ns as f64
    }

    /// How far the moment `t + part` lies from the chord of time by count over `length`.
    fn deviation(shape: &Shape, t: i64, length: i64, part: i64) -> f64 {
        let grown =
            |part: i64| approximate(shape.program.count_at(t + part) - shape.program.count_at(t));
        let all = grown(length);
        if all == 0.0 { 0.0 } else { (float(length) * (grown(part) / all) - float(part)).abs() }
    }

    #[test]
    fn only_constants_are_constant() {
        let level: Level = "7/s".parse().unwrap();
        let hold = Shape::hold(level, SECOND).unwrap();
        assert_eq!(Shape::constant(level).as_constant(), Some(level));
        assert_eq!(hold.clone().forever().unwrap().as_constant(), Some(level));
        assert_eq!(hold.as_constant(), None);
        assert_eq!(hold.repeat(3).unwrap().forever().unwrap().as_constant(), None);
    }

    #[test]
    fn what_is_outside_is_empty() {
        let ramp = Shape::ramp(Level::ZERO, Rate::FASTEST, SECOND).unwrap();
        assert_eq!((ramp.count_at_ns(i64::MIN), ramp.count_at_ns(0)), (0, 0));
        assert_eq!((ramp.time_of_count(0), ramp.straight_ns(i64::MAX).0), (0, i64::MAX));
        assert_eq!(ramp.count_at_ns(i64::MAX), 5_000_000_000 * ONE);
        assert_eq!(ramp.time_of_count(5_000_000_000 * ONE + 1), i64::MAX);
        assert_eq!(ramp.straight_ns(-7), ramp.straight_ns(0));
    }
}
