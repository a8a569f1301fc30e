//! A straight line along a curve, for callers that take no lock: it is within 1 ns of the curve as
//! far as it reaches.
//!
//! The first slot's intended start is exact, so a plan that a caller has for it stays true. The times of the
//! chord's two ends are rounded up to whole nanoseconds, as intended starts are.
//!
//! * Where the rate rises, the chord's times are before the curve's. Rounding up makes that less.
//! * Where the rate falls, the chord's times are after the curve's, and rounding up makes that more. So the chord
//!   reaches half as far, which makes it four times as close, and its end is taken a nanosecond earlier. Where it goes
//!   farther than that, only to have the slot that is asked for, its end is exact.

use super::curve::Curve;
use super::line::Line;
use super::slots::Slots;
use super::stretch::{Begin, Stretch};
use crate::position::{SLOT, earlier, later};

/// The stretch from `begin` on. The curve keeps the time of the last slot for this revision of the schedule,
/// because that is asked for next.
pub(super) fn along(curve: &Curve, begin: &Begin, slots: &Slots, revision: u64) -> Stretch {
    let (straight_ns, falls) = curve.straight(begin.time);
    let until_ns = begin.time.saturating_add(if falls { straight_ns / 2 } else { straight_ns });
    let reached = curve.position_at(until_ns, slots);
    let last = earlier(reached, begin.ends_at_most) & !(SLOT - 1);
    let ends_at = later(begin.wanted, last);
    let early_ns = i64::from(falls && ends_at == last);
    let end = (ends_at, curve.time_in(revision, ends_at, slots) - early_ns);
    begin.stretch(Line::between((begin.position, begin.time), end), 0, ends_at)
}
