//! A shape of the user's own.

use crate::count::{Count, Fine, fine};
use crate::error::ShapeError;
use crate::nanos::duration;
use std::fmt::Debug;
use std::time::Duration;

/// 2^63, in slots.
const MOST_SLOTS: f64 = 9_223_372_036_854_775_808.0;
const SAMPLES: i64 = 1_000;

/// A shape of the user's own, for [`Shape::custom`](crate::Shape::custom): how many slots there are
/// by a moment.
pub trait Curve: Debug + Send + Sync {
    /// How many slots there are by `elapsed`, parts of slots included: 0 at 0, finite, never
    /// going down, below 2^63.
    fn count_at(&self, elapsed: Duration) -> f64;

    /// Slots per second at `elapsed`, for charts. Unless you write another one, it is the count of
    /// the microsecond from then on.
    fn rate_at(&self, elapsed: Duration) -> f64 {
        let part = Duration::from_micros(1);
        (self.count_at(elapsed + part) - self.count_at(elapsed)) / part.as_secs_f64()
    }
}

/// Checks the curve at the moments 0, 1 ns, 2 ns, 4 ns and so on, at [`SAMPLES`] moments at equal
/// distances, and at its end. Those of a curve that never ends reach over a day.
pub(super) fn check(curve: &dyn Curve, time_ns: Option<i64>) -> Result<(), ShapeError> {
    let last = time_ns.unwrap_or(86_400_000_000_000);
    let even = (0..=SAMPLES).map(|sample| last / SAMPLES * sample).chain([last]);
    let doubled = (0..63).map(|power| 1 << power).take_while(|&moment| moment < last);
    let mut moments: Vec<i64> = even.chain(doubled).collect();
    moments.sort_unstable();
    let mut before = 0.0;
    for moment in moments {
        let count = curve.count_at(duration(moment));
        let starts = moment > 0 || count == 0.0;
        if !(starts && count >= before && count < MOST_SLOTS) {
            return Err(ShapeError::Curve(duration(moment)));
        }
        before = count;
    }
    Ok(())
}

/// Less than none are none, more than 2^63 are 2^63, and what is not a number is none.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in range")]
pub(super) fn count_at(curve: &dyn Curve, time_ns: u64) -> Fine {
    let count = curve.count_at(Duration::from_nanos(time_ns)).clamp(0.0, MOST_SLOTS);
    fine(libm::ldexp(count, 64) as Count)
}

/// What is not a rate is 0.
pub(super) fn rate_hz(curve: &dyn Curve, time_ns: u64) -> f64 {
    Some(curve.rate_at(Duration::from_nanos(time_ns)))
        .filter(|hz| hz.is_finite())
        .map_or(0.0, |hz| hz.max(0.0))
}
