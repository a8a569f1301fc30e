//! Represents the length of a tick in nanoseconds, with integer arithmetic.
//!
//! A length is stored as a normalised 64-bit mantissa with a number of fraction bits, and is just below the exact
//! value. In a [`roomy`](Scale::roomy) scale, the mantissa has 62 bits, and the length may be exact. The error of 64
//! bits is at most one part in 2^63, so 10^15 slots drift by little more than 10^-4 of one interval.

use crate::position::REACH;
use std::num::NonZeroU8;

/// Parts of a tick are in units of 2^-31.
pub(crate) const PART_BITS: u32 = 31;

const ROOMY_BITS: i32 = 61;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scale {
    pub(crate) mantissa: u64,
    /// The number of fraction bits of the mantissa, from 1 to 127.
    bits: NonZeroU8,
}

impl Scale {
    /// Returns the scale just below `numerator / denominator` nanoseconds per tick. Both numbers must be positive and
    /// below 2^127.
    ///
    /// The scale never equals the ratio: a number of ticks that lasts exactly x ns is computed as slightly less than x,
    /// so the next whole nanosecond is x. [`nanos`](Scale::nanos) therefore needs no special case for whole numbers.
    pub(crate) fn from_ratio(numerator: u128, denominator: u128) -> Scale {
        if (numerator | denominator) >> 63 == 0 {
            return Scale::from_small_ratio(numerator, denominator);
        }
        let shift = i64::from(denominator.leading_zeros()) - i64::from(numerator.leading_zeros());
        let (n, d) = (
            numerator << (numerator.leading_zeros() - 1),
            denominator << (denominator.leading_zeros() - 1),
        );
        // The ratio is 2^shift * n/d, with n/d in (1/2, 2). The code below brings n/d into (1, 2], and then divides bit
        // by bit. A bit is set only if there is a remainder after it.
        let (mut rest, shift) = if n <= d { (n << 1, shift - 1) } else { (n, shift) };
        let mut mantissa = 0_u64;
        for _ in 0..64 {
            mantissa = mantissa << 1 | u64::from(rest > d);
            rest = if rest > d { rest - d } else { rest } << 1;
        }
        // The mantissa carries 63 fraction bits: ratio = mantissa / 2^(63 - shift).
        Scale::new(mantissa, u8::try_from((63 - shift).clamp(1, 127)).unwrap_or(1))
    }

    fn from_small_ratio(numerator: u128, denominator: u128) -> Scale {
        let bits = 63 + numerator.leading_zeros() - denominator.leading_zeros();
        // This number of fraction bits gives a mantissa of 63 or 64 bits. One more is added if there are only 63.
        let bits = bits + u32::from(numerator << bits <= denominator << 63);
        let mantissa = ((numerator << bits) - 1) / denominator;
        let bits = u8::try_from(bits.clamp(1, 127)).unwrap_or(1);
        Scale::new(u64::try_from(mantissa).unwrap_or(u64::MAX), bits)
    }

    fn new(mantissa: u64, bits: u8) -> Scale {
        Scale { mantissa, bits: NonZeroU8::new(bits).unwrap_or(NonZeroU8::MIN) }
    }

    /// `nanos` must be positive. The mantissa can be doubled without an overflow.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the mantissa and `bits` fit"
    )]
    pub(crate) fn roomy(nanos: f64) -> Scale {
        let bits = (ROOMY_BITS - libm::ilogb(nanos)).clamp(1, 127);
        Scale::new(libm::ldexp(nanos, bits) as u64, bits as u8)
    }

    #[expect(clippy::cast_possible_truncation, reason = "saturates, as it should")]
    pub(crate) fn units(self, nanos: f64) -> i64 {
        libm::ldexp(nanos, self.bits.get().into()) as i64
    }

    pub(crate) fn less(self, units: u64) -> Scale {
        Scale { mantissa: self.mantissa.wrapping_sub(units), ..self }
    }

    pub(crate) fn with_shifts(mantissa: u64, [before, after]: [u8; 2]) -> Scale {
        Scale::new(mantissa, 64 - before + after)
    }

    /// Returns the two shifts of a multiplication by the scale: the product with the mantissa is shifted left by the
    /// first shift, divided by 2^64, and shifted right by the second shift. One of the two is zero.
    pub(crate) fn shifts(self) -> [u8; 2] {
        let bits = self.bits.get();
        [64_u8.saturating_sub(bits), bits.saturating_sub(64)]
    }

    fn fraction_bits(self) -> u32 {
        self.bits.get().into()
    }

    pub(crate) fn nanos_down(self, ticks: u64) -> i64 {
        let nanos = (u128::from(ticks) * u128::from(self.mantissa)) >> self.fraction_bits();
        i64::try_from(nanos).unwrap_or(i64::MAX)
    }

    /// Returns the first whole nanosecond at which `ticks` have passed, or zero for zero ticks.
    pub(crate) fn nanos(self, ticks: u64) -> i64 {
        if ticks == 0 { 0 } else { self.nanos_down(ticks).saturating_add(1) }
    }

    pub(crate) fn ticks_forward(self, nanos: u64) -> i64 {
        // nanos_down(x) + 1 <= nanos, or x * mantissa < nanos * 2^bits.
        self.wide(nanos)
            .map_or(REACH, |wide| reach(wide.saturating_sub(1) / u128::from(self.mantissa)))
    }

    /// Returns the smallest number of ticks that take `nanos` or longer, at most [`REACH`].
    pub(crate) fn ticks_back(self, nanos: u64) -> i64 {
        self.wide(nanos).map_or(REACH, |wide| reach(wide.div_ceil(u128::from(self.mantissa))))
    }

    /// Converts `nanos` to units of the mantissa. Returns `None` if the result is far beyond the reach of a line.
    fn wide(self, nanos: u64) -> Option<u128> {
        let bits = self.fraction_bits();
        (u128::from(nanos).leading_zeros() > bits).then(|| u128::from(nanos) << bits)
    }

    /// Converts `nanos`, which last less than a tick, to a part of a tick in units of 2^-[`PART_BITS`].
    pub(crate) fn part(self, nanos: u64) -> u128 {
        if self.fraction_bits() >= 64 {
            return 0; // A tick lasts less than a nanosecond, so whole nanoseconds hold no part of one.
        }
        let part =
            (u128::from(nanos) << (self.fraction_bits() + PART_BITS)) / u128::from(self.mantissa);
        part.min((1 << PART_BITS) - 1)
    }

    pub(crate) fn nanos_of_part(self, part: u128) -> i64 {
        let nanos = (part * u128::from(self.mantissa)) >> (self.fraction_bits() + PART_BITS);
        i64::try_from(nanos).unwrap_or(i64::MAX)
    }
}

fn reach(ticks: u128) -> i64 {
    i64::try_from(ticks).unwrap_or(REACH).min(REACH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_scale_is_just_below_its_ratio(numerator in 1_u128..1 << 20, denominator in 1_u128..1 << 20, shift in 0..60) {
            let scale = Scale::from_ratio(numerator, denominator);
            prop_assert_eq!(Scale::from_ratio(numerator << shift, denominator << shift), scale);
            prop_assert!(scale.mantissa >= 1 << 63 && scale.shifts().contains(&0));
            let exact = numerator << scale.fraction_bits();
            prop_assert!(u128::from(scale.mantissa) * denominator < exact);
            prop_assert!((u128::from(scale.mantissa) + 1) * denominator >= exact);
        }
    }
}
