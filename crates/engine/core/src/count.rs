//! Represents numbers of slots as fixed-point numbers.

use crate::wide::U256;

/// A number of slots with 64 fraction bits. A load reaches at most 2^63 slots, but slots can lie at higher counts.
pub(crate) type Count = u128;

pub(crate) const ONE: Count = 1 << 64;

/// A number of slots, or of slots per nanosecond, with [`FINE_BITS`] fraction bits.
///
/// A fine count is never below the exact count, and exceeds it by at most 2^-181 slots for each nanosecond of the
/// shape: by at most 2^-118 slots over the whole range of time. It is therefore never below the exact count when both
/// are rounded down to a [`Count`]: a slot that is due exactly at a whole nanosecond is due at that nanosecond.
pub(crate) type Fine = U256;

/// The number of fraction bits of [`Fine`]. With this number, a rate below 2^4 per nanosecond can be multiplied by 2^63
/// ns, or by 2^64 for the slope of a ramp, without an overflow of 256 bits.
pub(crate) const FINE_BITS: u32 = 184;

/// 2^63 slots. Every shape that ends has fewer slots. The count of a shape that never ends stops at this value.
pub(crate) const MOST: Fine = U256::from_words(1 << (63 + FINE_BITS - 128), 0);

/// 2^-184, the value of the lowest bit of a [`Fine`].
const UNIT: f64 = f64::from_bits((1_023 - FINE_BITS as u64) << 52);

const COUNT_BITS: u32 = FINE_BITS - 64;

pub(crate) fn fine(count: Count) -> Fine {
    U256::from(count) << COUNT_BITS
}

pub(crate) fn whole(fine: Fine) -> Count {
    (fine.min(MOST) >> COUNT_BITS).low()
}

pub(crate) fn approximate(fine: Fine) -> f64 {
    fine.as_f64() * UNIT
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "both parts are rounded to the precision of an `f64`"
)]
#[inline]
pub(crate) fn slots(count: Count) -> f64 {
    const PART: f64 = 1.0 / ONE as f64;
    let (whole, part) = ((count >> 64) as i64, count as u64);
    whole as f64 + part as f64 * PART
}

pub(crate) fn hz(rate: Fine) -> f64 {
    approximate(rate * Fine::from(1_000_000_000_u32))
}

pub(crate) fn div_ceil(numerator: Fine, denominator: Fine) -> Fine {
    (numerator + denominator - Fine::ONE) / denominator
}
