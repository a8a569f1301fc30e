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
use super::slots::{Even, Slots};
use crate::position::{RANGE, SLOT, before, earlier, later, ticks_between};

/// Slots that lie on a straight line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) line: Line,
    /// The slots lie behind this position.
    pub(crate) behind: u64,
    /// The slots lie at this position or before it.
    pub(crate) until: u64,
    pub(crate) numbers: Numbering,
}

/// The numbers that the slots of a stretch have in the whole load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbering {
    /// The number of the slot at the line's anchor, or of the first slot behind that. It wraps around
    /// where there is no such slot.
    pub(crate) base: u64,
    /// How much higher each slot's number is than that of the slot before it.
    pub(crate) stride: u64,
}

impl Numbering {
    /// The numbers of even slots, the first of which lies at `position`, as counted from `anchor`.
    pub(super) fn new(even: Even, position: u64, anchor: u64) -> Numbering {
        let slots = ticks_between(anchor, position).div_euclid(SLOT.cast_signed());
        let numbers = slots.cast_unsigned().wrapping_mul(even.stride);
        Numbering { base: even.slot.wrapping_sub(numbers), stride: even.stride }
    }

    /// The number of the slot so many slots behind the one that has the number `base`.
    #[inline]
    pub(crate) fn slot(self, behind: u64) -> u64 {
        self.base.wrapping_add(behind.wrapping_mul(self.stride))
    }
}

impl Stretch {
    /// The same without its last slot. It may be left without any.
    pub(crate) fn without_last(self) -> Stretch {
        Stretch { until: before(self.until), ..self }
    }
}

/// The stretch that has the slot at `wanted`, up to `end` at most; none if slots don't lie evenly
/// there, or the curve never comes to that slot. It begins at `position`, a slot whose `time` is known and
/// stays exact: the wanted one, or the one before it.
pub(crate) fn along(
    curve: &Curve,
    (position, time): (u64, i64),
    wanted: u64,
    end: u64,
    slots: &Slots,
) -> Option<Stretch> {
    let even = slots.even_from(position).filter(|_| time < i64::MAX)?;
    let (straight_ns, falls) = curve.straight(time);
    let until_ns = time.saturating_add(if falls { straight_ns / 2 } else { straight_ns });
    let reached = curve.position_at(until_ns, slots);
    // 2^44 slots are the range: by that bound the product does not overflow.
    let most =
        position.wrapping_add_signed(RANGE.min((even.more.min(1 << 44) * SLOT).cast_signed()));
    let most = earlier(most, end);
    let last = earlier(reached, most) & !(SLOT - 1);
    let until = later(wanted, last);
    let early_ns = i64::from(falls && until == last);
    let line = Line::between((position, time), (until, curve.time_of(until, slots) - early_ns));
    let behind = if wanted == position { position.wrapping_sub(1) } else { position };
    let numbers = Numbering::new(even, position, line.position);
    Some(Stretch { line, behind, until, numbers })
}
