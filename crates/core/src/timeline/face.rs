//! What the hot path reads: the piece of schedule that claims are on, and how far it is known to be due.
//!
//! Written under the timeline's lock and read without it.
//!
//! # Orderings
//!
//! The face is a sequence lock without fences. The writer makes the gate odd one out ([`BUSY`]), stores the fields with
//! `Release`, then stores the new gate with `Release`. A reader loads the gate with `Acquire`, the fields with `Acquire`,
//! and the gate again.
//!
//! * If a field was read from a newer writer, that field's `Release`/`Acquire` pair makes the writer's earlier `BUSY`
//!   store visible to the second gate load, which then differs: the reader turns to the lock.
//! * If all fields are older than the next writer, they are the ones that the first gate load's `Acquire` made visible.
//!
//! How far the schedule is due moves without the lock while the gate stays, and has a cache line of its own: [`LastSeen`]. While the
//! pacer is closed or paused, or slots have been given back, it lies behind every claim, so that nothing is known to be due.
//! Models: `face_is_read_whole`, `claims_are_unique`, `a_rate_change_loses_no_slot`.

use super::last_seen::LastSeen;
use crate::Grant;
use crate::grant::Stamp;
use crate::line::{Line, SLOT, Scale, ticks_between};
use crate::sync::{Acquire, AtomicU64, Relaxed, Release};
use crate::timebase::Patience;
use crossbeam_utils::CachePadded;

/// The fast path is not for this state: something is being written, or one of the bits below says what is up.
pub(super) const COLD: u64 = 1;
/// A writer is at work.
const BUSY: u64 = 1 << 1;
pub(super) const CLOSED: u64 = 1 << 2;
/// Returned slots are to be handed out first.
pub(super) const RETURNED: u64 = 1 << 3;
/// One line does not tell when a slot starts: ask the timebase.
pub(super) const INTRICATE: u64 = 1 << 4;
/// No lateness is the policy's business.
const ENDLESS: u64 = 1 << 5;
const FLAGS: u64 = (1 << PRE_SHIFT) - 1;
const PRE_SHIFT: u32 = 8;
const POST_SHIFT: u32 = 16;
const GENERATION: u64 = 1 << 24;

/// The published line; `gate` = `generation << 24 | post << 16 | pre << 8 | flags`.
#[derive(Debug)]
pub(super) struct Face {
    /// Changes with every write.
    gate: AtomicU64,
    /// The line holds for positions from here on.
    from: AtomicU64,
    /// The line: clock nanoseconds (as the bits of an `i64`), position, mantissa.
    time: AtomicU64,
    position: AtomicU64,
    mantissa: AtomicU64,
    /// Claims later than this have to be shown to the policy; nanoseconds.
    patience: AtomicU64,
    last_seen: CachePadded<LastSeen>,
}

/// A consistent reading of the face.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub(super) gate: u64,
    from: u64,
    line: Line,
    pub(super) patience: Patience,
}

/// What a writer publishes.
pub(super) struct Facts {
    pub(super) flags: u64,
    pub(super) from: u64,
    pub(super) line: Line,
    /// Slots up to this position are due; and when that was read.
    pub(super) horizon: u64,
    pub(super) seen: i64,
    pub(super) patience: Patience,
}

impl Face {
    /// A face that sends everyone to the lock, until the first [`write`](Face::write).
    pub(super) fn new() -> Face {
        let [from, time, position, mantissa, patience] = std::array::from_fn(|_| AtomicU64::new(0));
        let gate = AtomicU64::new(COLD | BUSY);
        let last_seen = CachePadded::new(LastSeen::new());
        Face { gate, from, time, position, mantissa, patience, last_seen }
    }

    /// For noticing changes. `Acquire`: whoever sees a new gate also sees what was published before it.
    #[inline]
    pub(super) fn gate(&self) -> u64 {
        // Acquire: pairs with `write`'s last store. Model: `no_wake_up_is_lost`.
        self.gate.load(Acquire)
    }

    /// `None` while a writer is at work.
    #[inline]
    pub(super) fn view(&self) -> Option<View> {
        // Acquire, all but the last: see the module's essay. Model: `face_is_read_whole`.
        let gate = self.gate.load(Acquire);
        let view = View {
            gate,
            from: self.from.load(Acquire),
            line: Line {
                time: self.time.load(Acquire).cast_signed(),
                position: self.position.load(Acquire),
                scale: unpack_scale(gate, self.mantissa.load(Acquire)),
            },
            patience: Patience {
                limit_ns: self.patience.load(Acquire).cast_signed(),
                is_endless: gate & ENDLESS != 0,
            },
        };
        // Relaxed: the fields' Acquire keeps it behind them. Partner: the stores of `write`.
        // Model: `intended_starts_survive_a_rate_change`.
        (gate & BUSY == 0 && self.gate.load(Relaxed) == gate).then_some(view)
    }

    /// Whether this state is the one published, but for how far it is due.
    pub(super) fn shows(&self, facts: &Facts) -> bool {
        self.view().is_some_and(|view| {
            view.from == facts.from
                && view.line == facts.line
                && view.patience == facts.patience
                && view.gate & FLAGS & !ENDLESS == facts.flags
        })
    }

    /// Publishes a new state; called under the timeline's lock only.
    pub(super) fn write(&self, facts: &Facts) {
        // Relaxed: only writers store, and the lock orders them; so no model.
        let old = self.gate.load(Relaxed);
        // Relaxed: what matters is that it comes before the fields, and their Release sees to that. Partner: `view`.
        // Model: `face_is_read_whole`.
        self.gate.store(old | BUSY | COLD, Relaxed);
        let scale =
            u64::from(facts.line.scale.pre) << PRE_SHIFT | u64::from(facts.line.scale.post) << POST_SHIFT;
        let endless = if facts.patience.is_endless { ENDLESS } else { 0 };
        let gate = (old & !(GENERATION - 1)).wrapping_add(GENERATION) | scale | endless | facts.flags;
        // Release, all of them: see the module's essay. Model: `face_is_read_whole`.
        self.last_seen.enter(gate / GENERATION, facts.horizon, facts.seen);
        self.from.store(facts.from, Release);
        self.time.store(facts.line.time.cast_unsigned(), Release);
        self.position.store(facts.line.position, Release);
        self.mantissa.store(facts.line.scale.mantissa, Release);
        self.patience.store(facts.patience.limit_ns.cast_unsigned(), Release);
        self.gate.store(gate, Release);
    }

    /// Moves the last-seen clock forwards, if the state is still that of `gate`.
    pub(super) fn extend(&self, gate: u64, horizon: u64, seen: i64) {
        self.last_seen.extend(gate / GENERATION, horizon, seen);
    }

    /// The shared hot path's reading: slots at positions up to the first are due; that was seen at the second.
    #[inline]
    pub(super) fn last_seen(&self) -> (u64, u64) {
        self.last_seen.read()
    }
}

fn unpack_scale(gate: u64, mantissa: u64) -> Scale {
    #[expect(clippy::cast_possible_truncation, reason = "these bytes of the gate are the shifts")]
    Scale { mantissa, pre: (gate >> PRE_SHIFT) as u8, post: (gate >> POST_SHIFT) as u8 }
}

impl View {
    pub(super) fn gate(&self) -> u64 {
        self.gate
    }

    /// Whether claims may take the fast path.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.gate & COLD == 0
    }

    /// Whether the line tells when the slot at `position` starts.
    pub(super) fn tells(&self, position: u64) -> bool {
        self.gate & INTRICATE == 0 && ticks_between(self.from, position) >= 0
    }

    pub(super) fn interval_ns(&self) -> i64 {
        self.line.scale.nanos(SLOT)
    }

    pub(super) fn intended(&self, position: u64) -> i64 {
        self.line.time_of(position)
    }

    /// As [`Timebase::stride`](crate::timebase::Timebase::stride), where the line tells.
    pub(super) fn stride(&self, position: u64, now: i64) -> i64 {
        let late = ticks_between(position, self.line.position_at(now));
        let next_late_ns = now.saturating_sub(self.line.time_of(position.wrapping_add(SLOT)));
        self.patience.stride(self.line.scale, late, next_late_ns)
    }

    /// As [`Timebase::horizon`](crate::timebase::Timebase::horizon), where the line tells.
    pub(super) fn horizon(&self, position: u64, now: i64) -> u64 {
        let due = ticks_between(position, self.line.position_at(now));
        position.wrapping_add_signed(due.min(self.stride(position, now)))
    }

    /// The slots from `start` on, in a block that ends at `end`, that are due at `now`.
    pub(super) fn due(&self, start: u64, end: u64, now: i64) -> Due {
        let horizon = self.horizon(start.wrapping_sub(SLOT), now);
        let slots = (ticks_between(start, horizon).max(-1) + 1).unsigned_abs().div_ceil(SLOT);
        let slots = slots.min(end.wrapping_sub(start) / SLOT);
        let ticks = ticks_between(self.line.position, start);
        let slots = if ticks < 0 { 0 } else { slots };
        let Scale { mantissa, pre, post } = self.line.scale;
        // What is due lies in the past, so its scaled position fits a word; what is not due is not used.
        let next = ticks.unsigned_abs().wrapping_shl(pre.into());
        Due {
            gate: self.gate,
            next,
            end: next.wrapping_add(slots.wrapping_mul(SLOT << pre)),
            step: SLOT << pre,
            mantissa,
            round_up: (1 << post) - 1,
            post: post.into(),
            time: self.line.time.cast_unsigned(),
            seen: Stamp::new(now.max(0).unsigned_abs()),
        }
    }
}

/// A run of slots that are due by one reading of the face: what a lane grants without touching anything shared.
///
/// The line's multiplication with everything that stays the same worked out once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Due {
    gate: u64,
    /// Ticks past the anchor, shifted as the scale wants them.
    next: u64,
    end: u64,
    step: u64,
    mantissa: u64,
    round_up: u64,
    post: u32,
    time: u64,
    seen: Stamp,
}

impl Due {
    /// The next slot, if there is one and the face is still at `gate`.
    #[inline]
    pub(crate) fn next(&mut self, gate: u64) -> Option<Grant> {
        if self.next == self.end || gate != self.gate {
            return None;
        }
        let grant = self.at(self.next);
        self.next = self.next.wrapping_add(self.step);
        Some(grant)
    }

    /// The hot path's one multiplication: what [`Line::time_of`] says, for moments that have passed.
    #[inline]
    fn at(&self, shifted: u64) -> Grant {
        let wide = u128::from(shifted) * u128::from(self.mantissa);
        #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
        let (high, low) = ((wide >> 64) as u64, wide as u64);
        let intended = self.time.wrapping_add((high + u64::from(low != 0) + self.round_up) >> self.post);
        Grant::new(intended, self.seen)
    }

    /// Slots left.
    pub(crate) fn slots(&self) -> u64 {
        self.end.wrapping_sub(self.next).checked_div(self.step).unwrap_or(0)
    }

    /// None left.
    pub(crate) fn emptied(self) -> Due {
        Due { end: self.next, ..self }
    }

    /// The wait times of the first and the last of the `slots` before the next one.
    pub(crate) fn waits_of_last(&self, slots: u64) -> (u64, u64) {
        let wait = |slots: u64| self.at(self.next.wrapping_sub(self.step.wrapping_mul(slots))).wait_nanos();
        (wait(slots), wait(1))
    }
}
