//! Supports shapes that a user defines by a function.

use crate::count::{Count, Fine, fine};
use crate::error::ShapeError;
use std::fmt::Debug;
use std::time::Duration;

/// 2^63 slots, the maximum count of a shape.
const MOST_SLOTS: f64 = 9_223_372_036_854_775_808.0;
const SAMPLES: u64 = 1_000;
const DAY_NS: i64 = 86_400_000_000_000;

/// A shape that you define by a function from time to the number of slots, for
/// [`Shape::custom`](crate::Shape::custom).
///
/// The time of each slot is found by a search, which calls the function up to a few hundred times, under the pacer's
/// lock. The function must therefore be fast, must not panic, and must not call the pacer. It must always return the
/// same result for the same time. Slot n starts in the first nanosecond at which the count is n or more. If a custom
/// curve is flat at the count n, slot n therefore starts at the beginning of the flat part. In other shapes, where the
/// rate is [zero](crate::Level::ZERO), slot n starts at the end of the flat part.
///
/// ```
/// use nanopace::{Curve, Shape};
/// use std::f64::consts::LN_2;
/// use std::time::Duration;
///
/// /// 10/s at first, and twice as much each second.
/// #[derive(Debug)]
/// struct Doubling;
///
/// impl Curve for Doubling {
///     fn count_at(&self, elapsed: Duration) -> f64 {
///         10.0 * (elapsed.as_secs_f64() * LN_2).exp_m1() / LN_2
///     }
/// }
///
/// let shape = Shape::custom(Doubling, Some(Duration::from_secs(8)))?;
/// assert!((shape.rate_at(Duration::from_secs(3)) - 80.0).abs() < 0.1);
/// # Ok::<(), nanopace::ShapeError>(())
/// ```
pub trait Curve: Debug + Send + Sync {
    /// Returns the number of slots by `elapsed`, with fractions of slots. The number must be 0 at time 0, finite and
    /// below 2^63, and must never decrease.
    fn count_at(&self, elapsed: Duration) -> f64;

    /// Returns the rate at `elapsed`, in slots per second, for charts, [`Shape::peak`](crate::Shape::peak) and
    /// [`Pacer::rate`](crate::Pacer::rate). The starts of slots depend only on the count. By default, the rate is the
    /// increase of the count over the next microsecond, converted to a rate per second.
    fn rate_at(&self, elapsed: Duration) -> f64 {
        let part = Duration::from_micros(1);
        (self.count_at(elapsed + part) - self.count_at(elapsed)) / part.as_secs_f64()
    }
}

pub(super) fn check(curve: &dyn Curve, time_ns: i64) -> Result<(), ShapeError> {
    let doubled = (0..63).map(|power| 1 << power).take_while(|&moment| moment < time_ns);
    let mut moments: Vec<u64> = samples(time_ns).chain(doubled.map(i64::unsigned_abs)).collect();
    moments.sort_unstable();
    let mut before = 0.0;
    for moment in moments.into_iter().map(Duration::from_nanos) {
        let count = curve.count_at(moment);
        let starts = !moment.is_zero() || count == 0.0;
        if !(starts && count >= before && count < MOST_SLOTS) {
            return Err(ShapeError::Curve(moment));
        }
        before = count;
    }
    Ok(())
}

fn samples(time_ns: i64) -> impl Iterator<Item = u64> {
    let last = if time_ns == i64::MAX { DAY_NS } else { time_ns }.unsigned_abs();
    (0..=SAMPLES).map(move |sample| last / SAMPLES * sample + last % SAMPLES * sample / SAMPLES)
}

/// NaN becomes 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the count is clamped")]
pub(super) fn count_at(curve: &dyn Curve, time_ns: u64) -> Fine {
    let count = curve.count_at(Duration::from_nanos(time_ns)).clamp(0.0, MOST_SLOTS);
    fine(libm::ldexp(count, 64) as Count)
}

pub(super) fn rate_hz(curve: &dyn Curve, time_ns: u64) -> f64 {
    Some(curve.rate_at(Duration::from_nanos(time_ns)))
        .filter(|hz| hz.is_finite())
        .map_or(0.0, |hz| hz.max(0.0))
}

pub(super) fn peak_hz(curve: &dyn Curve, from_ns: u64, time_ns: i64) -> f64 {
    let moments = samples(time_ns).map(|sample| from_ns.saturating_add(sample));
    moments.map(|moment| rate_hz(curve, moment)).fold(0.0, f64::max)
}
