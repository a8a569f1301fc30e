//! A straight piece of schedule: slots by time and time by slots, in exact integers.
//!
//! A rate is how many nanoseconds one tick lasts. The factor is kept as a normalised 64-bit
//! mantissa just below the exact value, off by at most one part in 2^63, so 10^15 slots drift by
//! little more than 10^-4 of one interval. No atomics and no clock in here.
//!
//! Rounding: a position's time is the first whole nanosecond at which the position is reached, and
//! a time's position is the last whole tick that is reached. So `time_of(p) <= t` says exactly the
//! same as `p <= position_at(t)`, and no slot is ever early.

use crate::position::{REACH, ticks_between};

/// Nanoseconds per tick: `mantissa / 2^(64 - pre + post)`, where `pre` or `post` is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scale {
    pub(crate) mantissa: u64,
    pub(crate) pre: u8,
    pub(crate) post: u8,
}

impl Scale {
    /// The scale just below `numerator / denominator` nanoseconds per tick. Both are positive,
    /// below 2^127.
    ///
    /// Below and never at it: what should take exactly x ns takes x minus a trace, so the next
    /// whole nanosecond is x, and [`nanos`](Scale::nanos) is a multiplication and an addition of
    /// one.
    pub(crate) fn from_ratio(numerator: u128, denominator: u128) -> Scale {
        let shift = i64::from(denominator.leading_zeros()) - i64::from(numerator.leading_zeros());
        let (n, d) = (
            numerator << (numerator.leading_zeros() - 1),
            denominator << (denominator.leading_zeros() - 1),
        );
        // 2^shift * n/d is the ratio, with n/d in (1/2, 2): bring it into (1, 2], then divide bit
        // by bit, where a bit is set only if something is left after it.
        let (mut rest, shift) = if n <= d { (n << 1, shift - 1) } else { (n, shift) };
        let mut mantissa = 0_u64;
        for _ in 0..64 {
            mantissa = mantissa << 1 | u64::from(rest > d);
            rest = if rest > d { rest - d } else { rest } << 1;
        }
        // The mantissa carries 63 fraction bits: ratio = mantissa / 2^(63 - shift).
        let fraction = 63 - shift;
        Scale {
            mantissa,
            pre: u8::try_from((64 - fraction).clamp(0, 63)).unwrap_or(0),
            post: u8::try_from((fraction - 64).clamp(0, 63)).unwrap_or(0),
        }
    }

    const fn fraction_bits(self) -> u32 {
        64 - self.pre as u32 + self.post as u32
    }

    /// `ticks` in whole nanoseconds; `i64::MAX` where that is beyond it. `ticks` is below 2^63.
    fn nanos_down(self, ticks: u64) -> i64 {
        let nanos = (u128::from(ticks) * u128::from(self.mantissa)) >> self.fraction_bits();
        i64::try_from(nanos).unwrap_or(i64::MAX)
    }

    /// The first whole nanosecond at which `ticks` have passed: none for none.
    pub(crate) fn nanos(self, ticks: u64) -> i64 {
        if ticks == 0 { 0 } else { self.nanos_down(ticks).saturating_add(1) }
    }

    /// The whole ticks that have passed after `nanos`, at most [`REACH`].
    fn ticks_forward(self, nanos: u64) -> i64 {
        // nanos_down(x) + 1 <= nanos, or x * mantissa < nanos * 2^bits.
        self.wide(nanos)
            .map_or(REACH, |wide| reach(wide.saturating_sub(1) / u128::from(self.mantissa)))
    }

    /// The fewest ticks that take `nanos` or longer, at most [`REACH`].
    fn ticks_back(self, nanos: u64) -> i64 {
        self.wide(nanos).map_or(REACH, |wide| reach(wide.div_ceil(u128::from(self.mantissa))))
    }

    /// `nanos` in units of the mantissa; none where that is far beyond the reach of a line.
    fn wide(self, nanos: u64) -> Option<u128> {
        let bits = self.fraction_bits();
        (u128::from(nanos).leading_zeros() > bits).then(|| u128::from(nanos) << bits)
    }

    /// What `other` takes for the part of a tick that takes this scale `nanos`: less than a tick
    /// in, less than a tick out.
    fn convert_part(self, nanos: u64, other: Scale) -> i64 {
        const PART_BITS: u32 = 31;
        if self.fraction_bits() >= 64 {
            return 0; // A tick lasts less than a nanosecond: whole nanoseconds hold no part of one.
        }
        let part =
            (u128::from(nanos) << (self.fraction_bits() + PART_BITS)) / u128::from(self.mantissa);
        let part = part.min((1 << PART_BITS) - 1);
        let nanos = (part * u128::from(other.mantissa)) >> (other.fraction_bits() + PART_BITS);
        i64::try_from(nanos).unwrap_or(i64::MAX)
    }
}

fn reach(ticks: u128) -> i64 {
    i64::try_from(ticks).unwrap_or(REACH).min(REACH)
}

/// A straight piece of schedule: `position` is reached at `time`, and a tick lasts `scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// In nanoseconds of the clock; may lie before its origin.
    pub(crate) time: i64,
    pub(crate) position: u64,
    pub(crate) scale: Scale,
}

impl Line {
    /// When the line reaches `position`, in whole nanoseconds of the clock.
    pub(crate) fn time_of(&self, position: u64) -> i64 {
        let ticks = ticks_between(self.position, position);
        if ticks < 0 {
            self.time.saturating_sub(self.scale.nanos_down(ticks.unsigned_abs()))
        } else {
            self.time.saturating_add(self.scale.nanos(ticks.unsigned_abs()))
        }
    }

    /// The last position that is reached at `time`; within [`REACH`] of the anchor.
    pub(crate) fn position_at(&self, time: i64) -> u64 {
        let nanos = time.saturating_sub(self.time);
        let ticks = if nanos < 0 {
            -self.scale.ticks_back(nanos.unsigned_abs())
        } else {
            self.scale.ticks_forward(nanos.unsigned_abs())
        };
        self.position.wrapping_add_signed(ticks)
    }

    /// Whether `ticks` behind the anchor have been reached by `time`.
    pub(crate) fn has_come(&self, ticks: i64, time: i64) -> bool {
        self.time_of(self.position.wrapping_add_signed(ticks)) <= time
    }

    /// The line that goes on from here at `time` with another scale, so that the part of a tick
    /// that has passed stays passed.
    pub(crate) fn continued(&self, time: i64, scale: Scale) -> Line {
        let position = self.position_at(time);
        let part_ns = time.saturating_sub(self.time_of(position)).max(0).unsigned_abs();
        let back = self.scale.convert_part(part_ns, scale);
        Line { time: time.saturating_sub(back), position, scale }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rate;
    use crate::position::SLOT;
    use proptest::prelude::*;

    fn line(rate: &str) -> Line {
        Line { time: 0, position: 0, scale: rate.parse::<Rate>().unwrap().scale() }
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
        /// `time_of(p) <= t` and `p <= position_at(t)` are the same statement, on both sides of the
        /// anchor.
        #[test]
        fn both_directions_agree(n in 1_u64..10_000_000_000, position in -(1_i64 << 40)..1 << 40, nanos in -(1_i64 << 40)..1 << 40) {
            let line = Line { time: 77, position: 5, scale: Rate::per_second(n).unwrap().scale() };
            let position = 5_u64.wrapping_add_signed(position);
            let due = line.time_of(position);
            prop_assert!(ticks_between(position, line.position_at(due)) >= 0);
            prop_assert!(ticks_between(position, line.position_at(due - 1)) < 0);
            let reached = line.position_at(nanos);
            prop_assert!(line.time_of(reached) <= nanos);
            prop_assert!(line.time_of(reached.wrapping_add(1)) > nanos);
        }

        /// A scale is just below its ratio: by one part in 2^63 at most, and never at it.
        #[test]
        fn a_scale_is_just_below_its_ratio(numerator in 1_u128..1 << 20, denominator in 1_u128..1 << 20) {
            let scale = Scale::from_ratio(numerator, denominator);
            prop_assert!(scale.mantissa >= 1 << 63 && (scale.pre == 0 || scale.post == 0));
            let exact = numerator << scale.fraction_bits();
            prop_assert!(u128::from(scale.mantissa) * denominator < exact);
            prop_assert!((u128::from(scale.mantissa) + 1) * denominator >= exact);
        }

        /// A change of rate, at any moment, keeps what has passed of the current interval to within
        /// a tick.
        #[test]
        fn a_change_keeps_the_part_of_the_interval_that_has_passed(from in 1_u64..100_000, to in 1_u64..100_000, at in 0_i64..1 << 40) {
            let old = Line { time: 0, position: 0, scale: Rate::per_second(from).unwrap().scale() };
            let new = old.continued(at, Rate::per_second(to).unwrap().scale());
            prop_assert!(new.time_of(old.position_at(at)) <= at);
            prop_assert_eq!(new.position_at(at), old.position_at(at));
            // Changing there and back at one moment leaves the schedule where it was, to within
            // what a nanosecond at the other rate stands for.
            let back = new.continued(at, old.scale);
            prop_assert!((back.time_of(1 << 48) - old.time_of(1 << 48)).unsigned_abs() <= 4 + 2 * to / from);
        }
    }
}
