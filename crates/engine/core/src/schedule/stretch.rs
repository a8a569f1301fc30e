//! Describes slots whose intended starts lie on a straight or bent line, in the form that is published for callers that
//! take no lock.

use super::line::Line;
use super::slots::Even;
use crate::position::{SLOT, after, before, earlier, first_after, ticks_between};
use crate::search;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) line: Line,
    /// The bend of a [parabola](super::curve_fit): for the k-th slot after the anchor, the mantissa decreases by k
    /// times this number. With a negative bend the slots get farther apart.
    pub(crate) bend: i64,
    pub(crate) begins_after: u64,
    pub(crate) ends_at: u64,
    pub(crate) numbers: Numbering,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbering {
    /// The number of the first slot at or after the line's anchor. It wraps around if there is no such slot.
    pub(crate) base: u64,
    pub(crate) stride: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Begin {
    /// A slot whose time is known and stays exact: the wanted slot, or the one before it.
    pub(super) position: u64,
    pub(super) time: i64,
    pub(super) wanted: u64,
    pub(super) ends_at_most: u64,
    pub(super) even: Even,
}

impl Begin {
    pub(super) fn stretch(&self, line: Line, bend: i64, ends_at: u64) -> Stretch {
        // The slot at the anchor is on the stretch only if it is the wanted one.
        let before = u64::from(self.wanted == self.position);
        let numbers = Numbering::new(self.even, self.position, self.position);
        Stretch { line, bend, begins_after: self.position.wrapping_sub(before), ends_at, numbers }
    }
}

impl Numbering {
    /// The line's anchor lies at `anchor`, and the first slot of `even` at `position`.
    pub(super) fn new(even: Even, position: u64, anchor: u64) -> Numbering {
        let slots = ticks_between(anchor, position).div_euclid(SLOT.cast_signed());
        let numbers = slots.cast_unsigned().wrapping_mul(even.stride);
        Numbering { base: even.slot.wrapping_sub(numbers), stride: even.stride }
    }

    #[inline]
    pub(crate) fn slot(self, slots: u64) -> u64 {
        self.base.wrapping_add(slots.wrapping_mul(self.stride))
    }
}

impl Stretch {
    pub(crate) fn without_last(self) -> Stretch {
        Stretch { ends_at: before(self.ends_at), ..self }
    }

    pub(crate) fn time_of(&self, position: u64) -> i64 {
        self.line_to(position).time_of(position)
    }

    fn line_to(&self, position: u64) -> Line {
        let slots = position.wrapping_sub(self.line.position) / SLOT;
        let less = slots.wrapping_mul(self.bend.cast_unsigned());
        Line { scale: self.line.scale.less(less), ..self.line }
    }

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
