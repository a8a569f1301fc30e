//! Converts time spans to and from whole nanoseconds.

use std::time::Duration;

pub(crate) fn span_ns(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

#[expect(clippy::cast_possible_truncation, reason = "a cast from `f64` saturates")]
#[inline]
pub(crate) fn whole_ns(nanos: f64) -> i64 {
    (nanos as i64).max(0)
}

pub(crate) fn duration(span_ns: i64) -> Duration {
    Duration::from_nanos(span_ns.max(0).unsigned_abs())
}
