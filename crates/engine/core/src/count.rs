//! Counts of slots as fixed-point numbers.

use crate::wide::U256;

/// Slots, with 64 fraction bits. Below 2^127.
pub(crate) type Count = u128;

/// One slot.
pub(crate) const ONE: Count = 1 << 64;

/// Slots, with [`FINE_BITS`] fraction bits: the unit in which shapes are added up. Rates per nanosecond have the same
/// unit.
///
/// A fine count is never below the exact one, and above it by at most 2^-181 slots per nanosecond: 2^-118 over the
/// whole range of time. So rounding it down to a [`Count`] gives the exact count rounded down, and a slot that is due
/// exactly at a whole nanosecond is due then.
pub(crate) type Fine = U256;

/// A rate below 2^4 per nanosecond, times 2^63 ns, or times 2^64 in a slope, stays below 2^256.
pub(crate) const FINE_BITS: u32 = 184;

/// No shape has this many slots: 2^63. The count of a shape that never ends stops here.
pub(crate) const MOST: Fine = U256::from_words(1 << (63 + FINE_BITS - 128), 0);

/// 2^-184.
const UNIT: f64 = f64::from_bits((1_023 - FINE_BITS as u64) << 52);

const COUNT_BITS: u32 = FINE_BITS - 64;

pub(crate) fn fine(count: Count) -> Fine {
    U256::from(count) << COUNT_BITS
}

/// Rounded down, at most [`MOST`].
pub(crate) fn whole(fine: Fine) -> Count {
    (fine.min(MOST) >> COUNT_BITS).low()
}

/// Slots, or slots per nanosecond, to the precision of an `f64`.
pub(crate) fn approximate(fine: Fine) -> f64 {
    fine.as_f64() * UNIT
}

/// Slots, fractions included, to the precision of an `f64`.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "whole slots and their parts, each to the precision of an `f64`"
)]
#[inline]
pub(crate) fn slots(count: Count) -> f64 {
    const PART: f64 = 1.0 / ONE as f64;
    let (whole, part) = ((count >> 64) as i64, count as u64);
    whole as f64 + part as f64 * PART
}

/// A rate in slots per second, to the precision of an `f64`.
pub(crate) fn hz(rate: Fine) -> f64 {
    approximate(rate * Fine::from(1_000_000_000_u32))
}

/// Rounded up.
pub(crate) fn div_ceil(numerator: Fine, denominator: Fine) -> Fine {
    (numerator + denominator - Fine::ONE) / denominator
}
