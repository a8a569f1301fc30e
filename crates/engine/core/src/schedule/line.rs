//! Defines a straight piece of the schedule, computed with integer arithmetic.
//!
//! A position's time is the first whole nanosecond at which the position is reached. A time's position is the last
//! whole tick that is reached. So `time_of(p) <= t` is equivalent to `p <= position_at(t)`, and no slot is ever early.

use crate::count::{Count, ONE};
use crate::position::{REACH, SLOT, ticks_between};
use crate::scale::{PART_BITS, Scale};

const TICK: Count = ONE / SLOT as Count;

/// A straight line that reaches its anchor `position` at `time`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Negative if the anchor is before the clock's origin.
    pub(crate) time: i64,
    pub(crate) position: u64,
    pub(crate) scale: Scale,
}

impl Line {
    pub(crate) fn time_of(&self, position: u64) -> i64 {
        let ticks = ticks_between(self.position, position);
        if ticks < 0 {
            self.time.saturating_sub(self.scale.nanos_down(ticks.unsigned_abs()))
        } else {
            self.time.saturating_add(self.scale.nanos(ticks.unsigned_abs()))
        }
    }

    /// Returns the last position that is reached at `time`, at most [`REACH`] after the anchor. Positions before the
    /// anchor are less than [`REACH`] away, because positions that are twice that distance apart cannot be compared.
    pub(crate) fn position_at(&self, time: i64) -> u64 {
        let nanos = time.saturating_sub(self.time);
        let ticks = if nanos < 0 {
            -self.scale.ticks_back(nanos.unsigned_abs()).min(REACH - 1)
        } else {
            self.scale.ticks_forward(nanos.unsigned_abs())
        };
        self.position.wrapping_add_signed(ticks)
    }

    pub(crate) fn anchored(&self, position: u64) -> Line {
        Line { time: self.time_of(position), position, scale: self.scale }
    }

    pub(crate) fn has_reached(&self, ticks: i64, time: i64) -> bool {
        self.time_of(self.position.wrapping_add_signed(ticks)) <= time
    }

    pub(crate) fn between(from: (u64, i64), to: (u64, i64)) -> Line {
        let nanos = u128::from(to.1.saturating_sub(from.1).max(1).unsigned_abs());
        let ticks = u128::from(ticks_between(from.0, to.0).max(1).unsigned_abs());
        Line { time: from.1, position: from.0, scale: Scale::from_ratio(nanos, ticks) }
    }

    /// Returns the line that has passed `position` by the count `ahead` at `time`. `ahead` is less than a tick, unless
    /// the count lies beyond the reach of positions. At most a tick of `ahead` is used.
    pub(crate) fn ahead_of(position: u64, ahead: Count, time: i64, scale: Scale) -> Line {
        let part = ahead.min(TICK) >> (TICK.trailing_zeros() - PART_BITS);
        Line { time: time.saturating_sub(scale.nanos_of_part(part)), position, scale }
    }

    /// `here` is the count of the last position that is reached at `time`.
    pub(crate) fn count_at(&self, time: i64, here: Count) -> Count {
        here + (self.part_at(time) << (TICK.trailing_zeros() - PART_BITS))
    }

    /// Returns the fraction of the current tick that has passed at `time`, in units of 2^-[`PART_BITS`] tick.
    fn part_at(&self, time: i64) -> u128 {
        let position = self.position_at(time);
        let nanos = time.saturating_sub(self.time_of(position)).max(0);
        self.scale.part(nanos.unsigned_abs())
    }

    /// Keeps the fraction of a tick that has passed.
    pub(crate) fn continued(&self, time: i64, scale: Scale) -> Line {
        let back = scale.nanos_of_part(self.part_at(time));
        let position = self.position_at(time);
        Line { time: time.saturating_sub(back), position, scale }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rate;
    use crate::position::{REACH, SLOT};
    use proptest::prelude::*;

    fn line(rate: &str) -> Line {
        Line { time: 0, position: 0, scale: rate.parse::<Rate>().unwrap().scale_at(1 << 32) }
    }

    #[test]
    fn whole_intervals_are_whole() {
        for (rate, interval_ns) in
            [("1/s", 1_000_000_000), ("1000/s", 1_000_000), ("8k/s", 125_000), ("1G/s", 1)]
        {
            let line = line(rate);
            for slot in [0_u64, 1, 2, 3, 1_000, 86_400, 1_000_003] {
                assert_eq!(
                    line.time_of(slot * SLOT).unsigned_abs(),
                    slot * interval_ns,
                    "{rate}, slot {slot}"
                );
            }
        }
    }

    #[test]
    fn thirds_round_up_and_never_drift() {
        let line = line("3/s");
        for slot in 0..10_000_u64 {
            assert_eq!(
                line.time_of(slot * SLOT).unsigned_abs(),
                (slot * 1_000_000_000).div_ceil(3)
            );
        }
    }

    #[test]
    fn far_times_saturate() {
        let (slow, fast) = (line("1/d"), line("10G/s"));
        assert_eq!(slow.time_of(u64::MAX / 2), i64::MAX);
        assert_eq!(fast.position_at(i64::MAX), REACH.unsigned_abs());
        assert_eq!(
            slow.position_at(i64::MAX).div_ceil(SLOT),
            (i64::MAX.unsigned_abs() / 86_400_000_000_000) + 1
        );
    }

    proptest! {
        #[test]
        fn both_directions_agree(n in 1_u64..10_000_000_000, position in -(1_i64 << 40)..1 << 40, nanos in -(1_i64 << 40)..1 << 40) {
            let line = Line { time: 77, position: 5, scale: Rate::per_second(n).unwrap().scale_at(1 << 32) };
            let position = 5_u64.wrapping_add_signed(position);
            let due = line.time_of(position);
            prop_assert!(ticks_between(position, line.position_at(due)) >= 0);
            prop_assert!(ticks_between(position, line.position_at(due - 1)) < 0);
            let reached = line.position_at(nanos);
            prop_assert!(line.time_of(reached) <= nanos);
            prop_assert!(line.time_of(reached.wrapping_add(1)) > nanos);
        }

        #[test]
        fn a_change_keeps_the_part_of_the_interval_that_has_passed(from in 1_u64..100_000, to in 1_u64..100_000, at in 0_i64..1 << 40) {
            let old = Line { time: 0, position: 0, scale: Rate::per_second(from).unwrap().scale_at(1 << 32) };
            let new = old.continued(at, Rate::per_second(to).unwrap().scale_at(1 << 32));
            prop_assert!(new.time_of(old.position_at(at)) <= at);
            prop_assert_eq!(new.position_at(at), old.position_at(at));
            // Two changes at the same time, to another rate and back, keep the schedule except for rounding. A
            // nanosecond of rounding at the other rate is `to / from` nanoseconds at this rate.
            let back = new.continued(at, old.scale);
            prop_assert!((back.time_of(1 << 48) - old.time_of(1 << 48)).unsigned_abs() <= 4 + 2 * to / from);
        }
    }
}
