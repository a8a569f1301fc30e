//! A straight line along a curve, for callers that take no lock: it is within 1 ns of the curve as
//! far as it reaches.
//!
//! The first slot's intended start is exact, so whatever has been said of it stays true. Its ends are
//! rounded up to whole nanoseconds, as intended starts are. Where the rate rises the chord lies
//! below the curve, so what rounding adds never adds up with that. Where it falls the chord lies
//! above: there it reaches half as far, which makes it four times as close, and its end is taken a
//! nanosecond earlier.

use super::curve::Curve;
use super::line::Line;
use super::slots::Slots;
use crate::position::{RANGE, SLOT, earlier, later};

/// A chord's times are so far off at most.
pub(crate) const CHORD_NS: i64 = 1;

/// Slots behind one position, up to and including another, that lie on a straight line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) line: Line,
    pub(crate) behind: u64,
    pub(crate) until: u64,
}

/// The stretch that begins with the slot at `position` and ends before or at `end`; none if slots
/// don't lie evenly there, or the curve never comes to that slot.
pub(crate) fn along(curve: &Curve, position: u64, end: u64, slots: &Slots) -> Option<Stretch> {
    let even = slots.even_until(position)?;
    let starts = curve.time_of(position, slots);
    if starts == i64::MAX {
        return None;
    }
    let straight_ns = curve.straight_for_ns(starts);
    let falls = curve.falls(starts, straight_ns);
    let straight_ns = if falls { straight_ns / 2 } else { straight_ns };
    let reached = curve.position_at(starts.saturating_add(straight_ns), slots);
    let most = position.wrapping_add_signed(RANGE.min((even.min(1 << 44) * SLOT).cast_signed()));
    let until = later(position, earlier(earlier(reached, most), end) & !(SLOT - 1));
    let ends = curve.time_of(until, slots) - i64::from(falls);
    let line = Line::between((position, starts), (until, ends));
    Some(Stretch { line, behind: position.wrapping_sub(1), until })
}
