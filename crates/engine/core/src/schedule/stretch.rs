//! Describes slots whose intended starts lie on a line, straight or bent, in the form in which they are published for
//! callers that take no lock.

use super::line::Line;
use super::slots::Even;
use crate::position::{SLOT, after, before, earlier, first_after, ticks_between};
use crate::search;

/// Slots that lie on one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) line: Line,
    /// The bend of a [parabola](super::curve_fit): for the k-th slot after the anchor, the mantissa decreases by k
    /// times this number. With a bend of zero the line is straight. With a negative bend the slots get farther apart.
    pub(crate) bend: i64,
    /// The position after which the slots lie. A slot at this position is not included.
    pub(crate) begins_after: u64,
    /// The position at or before which the last slot lies.
    pub(crate) ends_at: u64,
    pub(crate) numbers: Numbering,
}

/// The numbers that the slots of a stretch have in the whole load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbering {
    /// The number of the slot at the line's anchor, or of the first slot after the anchor. It wraps around where there
    /// is no such slot.
    pub(crate) base: u64,
    /// The difference between the numbers of neighbouring slots.
    pub(crate) stride: u64,
}

/// The beginning of a stretch along a curve, and the slot that the stretch must contain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begin {
    /// A slot whose time is known and stays exact: the wanted slot, or the one before it.
    pub(super) position: u64,
    pub(super) time: i64,
    /// The slot that the stretch must contain.
    pub(super) wanted: u64,
    /// The last position that the stretch may contain.
    pub(super) ends_at_most: u64,
    /// The spacing of the slots from `position` on.
    pub(super) even: Even,
}

impl Begin {
    /// Returns the stretch that begins here and lies on `line`, up to and including the position `ends_at`.
    pub(super) fn stretch(&self, line: Line, bend: i64, ends_at: u64) -> Stretch {
        // The slot at the anchor is on the stretch only if it is the wanted one.
        let before = u64::from(self.wanted == self.position);
        let numbers = Numbering::new(self.even, self.position, self.position);
        Stretch { line, bend, begins_after: self.position.wrapping_sub(before), ends_at, numbers }
    }
}

impl Numbering {
    /// Returns the numbers of evenly spaced slots, counted from `anchor`. The first slot lies at `position`.
    pub(super) fn new(even: Even, position: u64, anchor: u64) -> Numbering {
        let slots = ticks_between(anchor, position).div_euclid(SLOT.cast_signed());
        let numbers = slots.cast_unsigned().wrapping_mul(even.stride);
        Numbering { base: even.slot.wrapping_sub(numbers), stride: even.stride }
    }

    /// Returns the number of the slot that lies `slots` slots after the one with the number `base`.
    #[inline]
    pub(crate) fn slot(self, slots: u64) -> u64 {
        self.base.wrapping_add(slots.wrapping_mul(self.stride))
    }
}

impl Stretch {
    /// Returns this stretch without its last slot. The result may be empty.
    pub(crate) fn without_last(self) -> Stretch {
        Stretch { ends_at: before(self.ends_at), ..self }
    }

    /// Returns the intended start of the slot at `position`, which must lie on this stretch.
    pub(crate) fn time_of(&self, position: u64) -> i64 {
        self.line_to(position).time_of(position)
    }

    /// Returns the straight line from the anchor to the slot at `position`.
    fn line_to(&self, position: u64) -> Line {
        let slots = position.wrapping_sub(self.line.position) / SLOT;
        let less = slots.wrapping_mul(self.bend.cast_unsigned());
        Line { scale: self.line.scale.less(less), ..self.line }
    }

    /// Returns the first slot of this stretch that is not due at `now`.
    pub(crate) fn first_ahead(&self, now: i64) -> u64 {
        let reached = self.line.position_at(now);
        if self.bend == 0 || now < self.line.time {
            return first_after(earlier(reached, self.ends_at));
        }
        let slots =
            |position| ticks_between(self.line.position, position).div_euclid(SLOT.cast_signed());
        let position = |slots: i64| after(self.line.position, slots.cast_unsigned());
        let (last, guess) = (slots(self.ends_at).max(0) + 1, slots(reached));
        let ahead = search::first(last, guess, |slots| self.time_of(position(slots)) > now);
        earlier(position(ahead), first_after(self.ends_at))
    }
}
