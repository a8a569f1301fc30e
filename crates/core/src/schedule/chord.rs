//! A straight line along a curve, for callers that take no lock: it is within 1 ns of the curve as
//! far as it reaches.
//!
//! The first slot's intended start is exact, so whatever has been said of it stays true. The chord's ends are
//! rounded up to whole nanoseconds, as intended starts are. Where the rate rises the chord's
//! times are before the curve's, so what rounding adds never adds up with that. Where it falls they are
//! after them: there it reaches half as far, which makes it four times as close, and its end is taken a
//! nanosecond earlier.

use super::curve::Curve;
use super::line::Line;
use super::slots::Slots;
use super::stretch::{Begin, Stretch};
use crate::position::{SLOT, earlier, later};

/// The stretch from `begin` on. The time of the last slot is cached for this revision of the schedule, because
/// it is asked for next.
pub(super) fn along(curve: &Curve, begin: &Begin, slots: &Slots, revision: u64) -> Stretch {
    let (straight_ns, falls) = curve.straight(begin.time);
    let until_ns = begin.time.saturating_add(if falls { straight_ns / 2 } else { straight_ns });
    let reached = curve.position_at(until_ns, slots);
    let last = earlier(reached, begin.most) & !(SLOT - 1);
    let until = later(begin.wanted, last);
    let early_ns = i64::from(falls && until == last);
    let end = (until, curve.time_in(revision, until, slots) - early_ns);
    begin.stretch(Line::between((begin.position, begin.time), end), 0, until)
}
