//! The schedule's arithmetic: a straight line between slot positions and nanoseconds.
//!
//! Every slot is [`SLOT`] ticks long, whatever the rate; a rate is how many nanoseconds one tick lasts. The
//! factor is kept as a normalised 64-bit mantissa, so it is off by less than one part in 2^63 and 10^15 slots
//! drift by a thousandth of one interval. No atomics and no clock in here.
//!
//! Rounding: a position's time is rounded *up* to a whole nanosecond and a time's position *down* to a whole
//! tick, so `time_of(p) <= t` says exactly the same as `p <= position_at(t)` and no slot is ever early.

/// Ticks per slot: 2^-16 of an interval is the resolution with which rate changes split an interval.
pub(crate) const SLOT: u64 = 1 << 16;

/// How far a line reaches from its anchor, in ticks: 2^46 slots. Positions are compared as wrapping
/// differences, so half the range is the most that can be told apart.
pub(crate) const REACH: i64 = 1 << 62;

/// How far position `a` lies behind position `b`, negative when it lies ahead.
pub(crate) const fn ticks_between(a: u64, b: u64) -> i64 {
    b.wrapping_sub(a).cast_signed()
}

/// Nanoseconds per tick: `mantissa / 2^(64 - pre + post)`, where `pre` or `post` is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scale {
    pub(crate) mantissa: u64,
    pub(crate) pre: u8,
    pub(crate) post: u8,
}

impl Scale {
    /// The scale nearest below `numerator / denominator` nanoseconds per tick. Both are positive, below 2^127.
    ///
    /// Rounding down keeps whole results whole: what should take exactly x ns takes x minus a trace, and
    /// rounding up makes x of it again.
    pub(crate) fn from_ratio(numerator: u128, denominator: u128) -> Scale {
        let shift = i64::from(denominator.leading_zeros()) - i64::from(numerator.leading_zeros());
        let (n, d) =
            (numerator << (numerator.leading_zeros() - 1), denominator << (denominator.leading_zeros() - 1));
        // 2^shift * n/d is the ratio, with n/d in (1/2, 2): bring it into [1, 2), then divide bit by bit.
        let (mut rest, shift) = if n < d { (n << 1, shift - 1) } else { (n, shift) };
        let mut mantissa = 0_u64;
        for _ in 0..64 {
            mantissa = mantissa << 1 | u64::from(rest >= d);
            rest = if rest >= d { rest - d } else { rest } << 1;
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

    /// `ticks` in nanoseconds, rounded up; `i64::MAX` where that is beyond it. `ticks` is below 2^63.
    pub(crate) fn nanos(self, ticks: u64) -> i64 {
        let bits = self.fraction_bits();
        let nanos = (u128::from(ticks) * u128::from(self.mantissa) + ((1 << bits) - 1)) >> bits;
        i64::try_from(nanos).unwrap_or(i64::MAX)
    }

    /// `ticks` in nanoseconds, rounded down.
    fn nanos_down(self, ticks: u64) -> i64 {
        let nanos = (u128::from(ticks) * u128::from(self.mantissa)) >> self.fraction_bits();
        i64::try_from(nanos).unwrap_or(i64::MAX)
    }

    /// The ticks in `nanos`, rounded down and up, at most [`REACH`].
    fn ticks_down_up(self, nanos: u64) -> (i64, i64) {
        let (bits, mantissa) = (self.fraction_bits(), u128::from(self.mantissa));
        if u128::from(nanos).leading_zeros() <= bits {
            return (REACH, REACH);
        }
        let wide = u128::from(nanos) << bits;
        let reach = |ticks| i64::try_from(ticks).unwrap_or(REACH).min(REACH);
        (reach(wide / mantissa), reach(wide.div_ceil(mantissa)))
    }

    /// The whole ticks in `nanos`, at most [`REACH`].
    pub(crate) fn ticks(self, nanos: u64) -> i64 {
        self.ticks_down_up(nanos).0
    }

    /// What `other` takes for the part of a tick that takes this scale `nanos`: less than a tick in, less
    /// than a tick out.
    fn convert_part(self, nanos: u64, other: Scale) -> i64 {
        const PART_BITS: u32 = 31;
        if self.fraction_bits() >= 64 {
            return 0; // A tick lasts less than a nanosecond: whole nanoseconds hold no part of one.
        }
        let part = (u128::from(nanos) << (self.fraction_bits() + PART_BITS)) / u128::from(self.mantissa);
        let part = part.min((1 << PART_BITS) - 1);
        let nanos = (part * u128::from(other.mantissa)) >> (other.fraction_bits() + PART_BITS);
        i64::try_from(nanos).unwrap_or(i64::MAX)
    }
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
    /// When the line reaches `position`, in clock nanoseconds, rounded up.
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
        let (down, up) = self.scale.ticks_down_up(nanos.unsigned_abs());
        self.position.wrapping_add_signed(if nanos < 0 { -up } else { down })
    }

    /// The line that goes on from here at `time` with another scale, so that the part of a tick that has passed
    /// stays passed.
    pub(crate) fn continued(&self, time: i64, scale: Scale) -> Line {
        let position = self.position_at(time);
        // Rounded up here and down in the conversion: neither way for long.
        let passed = self.scale.nanos_down(ticks_between(self.position, position).max(0).unsigned_abs());
        let part_ns = time.saturating_sub(self.time).saturating_sub(passed).max(0).unsigned_abs();
        let back = self.scale.convert_part(part_ns, scale);
        Line { time: time.saturating_sub(back), position, scale }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rate;
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
            assert_eq!(line.time_of(slot * SLOT).unsigned_abs(), (slot * 1_000_000_000).div_ceil(3));
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
        /// `time_of(p) <= t` and `p <= position_at(t)` are the same statement, on both sides of the anchor.
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

        /// A change of rate, at any moment, keeps what has passed of the current interval to within a tick.
        #[test]
        fn a_change_keeps_the_part_of_the_interval_that_has_passed(from in 1_u64..100_000, to in 1_u64..100_000, at in 0_i64..1 << 40) {
            let old = Line { time: 0, position: 0, scale: Rate::per_second(from).unwrap().scale() };
            let new = old.continued(at, Rate::per_second(to).unwrap().scale());
            prop_assert!(new.time_of(old.position_at(at)) <= at);
            prop_assert_eq!(new.position_at(at), old.position_at(at));
            // Changing there and back at one moment leaves the schedule where it was, to within what a nanosecond at
            // the other rate stands for.
            let back = new.continued(at, old.scale);
            prop_assert!((back.time_of(1 << 48) - old.time_of(1 << 48)).unsigned_abs() <= 4 + 2 * to / from);
        }
    }
}
