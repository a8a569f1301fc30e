//! Defines the published state that a caller has read without the lock, and computes grants from it. This module is
//! plain data, without atomics.

use super::Claimed;
use crate::Grant;
use crate::grant::Stamp;
use crate::position::{RANGE, SLOT, after, ticks_between};
use crate::schedule::{Line, Numbering, Stretch};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Snapshot {
    pub(super) version: u64,
    pub(super) stretch: Stretch,
}

/// The slots that are known to be due, and the data from which their grants are computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    anchor: u64,
    /// The distance from the anchor to the horizon in ticks, minus one, which is never negative.
    reach: u64,
    formula: Formula,
    numbers: Numbering,
    reading: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct BentWindow {
    pub(super) window: Window,
    pub(super) bend: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Formula {
    /// The anchor's time plus one nanosecond, because [`nanos`](crate::scale::Scale::nanos) adds one to each product.
    time: u64,
    mantissa: u64,
    pre: u32,
    post: u32,
}

impl Formula {
    /// Returns the formula of a line whose anchor is one nanosecond before `time`, the bits of an `i64`.
    #[inline]
    pub(super) fn new(time: u64, mantissa: u64, [pre, post]: [u8; 2]) -> Formula {
        Formula { time, mantissa, pre: pre.into(), post: post.into() }
    }

    /// For due slots, the result is that of [`Line::time_of`]. `shifted` is the slot's distance from the anchor in
    /// ticks, at least one, shifted left by `pre`.
    #[inline]
    fn time_of(&self, shifted: u64) -> u64 {
        let wide = u128::from(shifted) * u128::from(self.mantissa);
        let nanos = (wide >> 64) as u64 >> self.post;
        self.time.wrapping_add(nanos)
    }

    /// Returns the formula of the straight line from the anchor to the slot `slots` slots after it.
    #[inline]
    fn to(&self, slots: u64, bend: u64) -> Formula {
        Formula { mantissa: self.mantissa.wrapping_sub(slots.wrapping_mul(bend)), ..*self }
    }

    fn of(line: &Line) -> Formula {
        Formula::new(
            line.time.cast_unsigned().wrapping_add(1),
            line.scale.mantissa,
            line.scale.shifts(),
        )
    }
}

impl Window {
    #[inline]
    pub(super) fn new(
        anchor: u64,
        horizon: u64,
        formula: Formula,
        numbers: Numbering,
        reading: u64,
    ) -> Window {
        let reach = horizon.wrapping_sub(anchor).wrapping_sub(1);
        Window { anchor, reach, formula, numbers, reading }
    }

    #[inline]
    pub(super) fn has(&self, position: u64) -> bool {
        self.reaches(position.wrapping_sub(self.anchor))
    }

    #[inline]
    fn reaches(&self, ticks: u64) -> bool {
        // The difference is unsigned, so that a slot before the anchor is far beyond the reach.
        ticks.wrapping_sub(1) < self.reach
    }

    #[inline]
    pub(super) fn grant(&self, position: u64) -> Option<Grant> {
        let ticks = position.wrapping_sub(self.anchor);
        self.reaches(ticks).then(|| {
            let intended = self.formula.time_of(ticks << (self.formula.pre & 63));
            Grant::new(intended, Stamp::new(self.reading), self.numbers.slot(ticks / SLOT))
        })
    }
}

impl BentWindow {
    #[inline]
    pub(super) fn grant(&self, position: u64) -> Option<Grant> {
        let slots = position.wrapping_sub(self.window.anchor) / SLOT;
        let formula = self.window.formula.to(slots, self.bend);
        Window { formula, ..self.window }.grant(position)
    }
}

impl Snapshot {
    pub(super) fn tells(&self, position: u64) -> bool {
        let Stretch { begins_after, ends_at, .. } = self.stretch;
        ticks_between(begins_after, position) > 0 && ticks_between(position, ends_at) >= 0
    }

    pub(super) fn interval_ns(&self) -> i64 {
        self.stretch.line.scale.nanos(SLOT)
    }

    /// `position` must lie on this stretch.
    pub(super) fn intended(&self, position: u64) -> i64 {
        self.stretch.time_of(position)
    }

    pub(super) fn slot(&self, position: u64) -> u64 {
        self.stretch.numbers.slot(position.wrapping_sub(self.stretch.line.position) / SLOT)
    }

    /// Returns `None` if the slot is not on this stretch, or so late at `now` that it looks like an early slot.
    pub(super) fn intended_within(&self, position: u64, now: i64) -> Option<i64> {
        let intended = self.intended(position);
        let range_ns = self.stretch.line.scale.nanos(RANGE.unsigned_abs());
        (self.tells(position) && now.saturating_sub(intended) <= range_ns).then_some(intended)
    }

    pub(super) fn first_ahead(&self, now: i64) -> u64 {
        self.stretch.first_ahead(now)
    }

    /// At the anchor, [`Formula`] would compute a time that is a nanosecond too late.
    pub(super) fn has_run_from(&self, start: u64) -> bool {
        start != self.stretch.line.position
    }

    /// All slots of the run must be due at the reading `now`.
    pub(super) fn run(&self, start: u64, slots: u64, now: i64) -> SlotRun {
        let formula = Formula::of(&self.stretch.line);
        let step = SLOT << formula.pre;
        let next = start.wrapping_sub(self.stretch.line.position) << formula.pre;
        let end = next.wrapping_add(slots.wrapping_mul(step));
        let reading = Stamp::new(now.max(0).unsigned_abs());
        let (slot_bits, bend) = (step.trailing_zeros(), self.stretch.bend.cast_unsigned());
        SlotRun {
            version: self.version,
            next,
            end,
            step,
            formula: formula.to(next >> slot_bits, bend),
            bend,
            slot_bits,
            numbers: self.stretch.numbers,
            reading,
            end_position: after(start, slots),
        }
    }
}

/// Consecutive slots that are due at one reading. A lane grants them and reads no shared word except the version.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SlotRun {
    /// The version of the schedule at which the slots have these times. No version of a schedule is zero.
    version: u64,
    /// The offset of the next slot from the anchor in ticks, shifted left by the formula's `pre`. `end` and `step`, the
    /// length of a slot, have the same unit.
    next: u64,
    end: u64,
    step: u64,
    /// On a bent stretch, this is the formula of the straight line from the anchor to the next slot.
    formula: Formula,
    bend: u64,
    /// The number of low bits of `next` that are fractions of a slot.
    slot_bits: u32,
    numbers: Numbering,
    reading: Stamp,
    end_position: u64,
}

impl SlotRun {
    #[inline]
    pub(crate) fn next(&mut self, version: u64) -> Option<Grant> {
        if self.next == self.end || version != self.version {
            return None;
        }
        let slots = self.next >> (self.slot_bits & 63);
        let intended = self.formula.time_of(self.next);
        self.next = self.next.wrapping_add(self.step);
        self.formula.mantissa = self.formula.mantissa.wrapping_sub(self.bend);
        Some(Grant::new(intended, self.reading, self.numbers.slot(slots)))
    }

    pub(crate) fn left(&self) -> u64 {
        self.end.wrapping_sub(self.next).checked_div(self.step).unwrap_or(0)
    }

    pub(crate) fn rest(&self, slots: u64) -> Claimed {
        Claimed::new(self.end_position.wrapping_sub(slots.wrapping_mul(SLOT)), slots)
    }
}
