//! Implements unsigned integers of 256 bits. As with other integers, an overflow panics if overflow checks are enabled,
//! and wraps otherwise.

use std::num::TryFromIntError;
use std::ops::{Add, Div, Mul, Shl, Shr, Sub};

// With this order of the fields, the derived order is that of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct U256 {
    high: u128,
    low: u128,
}

impl U256 {
    pub(crate) const ZERO: U256 = U256::from_words(0, 0);
    pub(crate) const ONE: U256 = U256::from_words(0, 1);

    pub(crate) const fn from_words(high: u128, low: u128) -> U256 {
        U256 { high, low }
    }

    pub(crate) fn low(self) -> u128 {
        self.low
    }

    /// Converts the number to an `f64`, with a relative error of at most 2^-52.
    #[expect(clippy::cast_precision_loss, reason = "to the precision of an `f64`")]
    pub(crate) fn as_f64(self) -> f64 {
        const TWO_128: f64 = (1_u128 << 127) as f64 * 2.0;
        self.high as f64 * TWO_128 + self.low as f64
    }

    pub(crate) fn saturating_sub(self, other: U256) -> U256 {
        if self > other { self - other } else { U256::ZERO }
    }

    pub(crate) fn checked_mul(self, other: U256) -> Option<U256> {
        let (one, half) = if self.high == 0 { (other, self.low) } else { (self, other.low) };
        if self.high != 0 && other.high != 0 {
            return None;
        }
        let product = widening_mul(one.low, half);
        let high = product.high.checked_add(one.high.checked_mul(half)?)?;
        Some(U256 { high, ..product })
    }
}

fn widening_mul(a: u128, b: u128) -> U256 {
    const MASK: u128 = u64::MAX as u128;
    let (a_high, a_low, b_high, b_low) = (a >> 64, a & MASK, b >> 64, b & MASK);
    let first = a_low * b_low;
    let second = a_high * b_low + (first >> 64);
    let third = a_low * b_high + (second & MASK);
    let high = a_high * b_high + (second >> 64) + (third >> 64);
    U256 { high, low: third << 64 | first & MASK }
}

impl<N: Into<u128>> From<N> for U256 {
    fn from(number: N) -> U256 {
        U256 { high: 0, low: number.into() }
    }
}

impl TryFrom<U256> for u64 {
    type Error = TryFromIntError;

    fn try_from(number: U256) -> Result<u64, TryFromIntError> {
        u64::try_from(if number.high == 0 { number.low } else { u128::MAX })
    }
}

impl TryFrom<U256> for i64 {
    type Error = TryFromIntError;

    fn try_from(number: U256) -> Result<i64, TryFromIntError> {
        i64::try_from(u64::try_from(number)?)
    }
}

impl Add for U256 {
    type Output = U256;

    fn add(self, other: U256) -> U256 {
        let (low, carry) = self.low.overflowing_add(other.low);
        U256 { high: self.high + other.high + u128::from(carry), low }
    }
}

impl Sub for U256 {
    type Output = U256;

    fn sub(self, other: U256) -> U256 {
        let (low, borrow) = self.low.overflowing_sub(other.low);
        U256 { high: self.high - other.high - u128::from(borrow), low }
    }
}

impl Mul for U256 {
    type Output = U256;

    fn mul(self, other: U256) -> U256 {
        debug_assert!(self.high == 0 || other.high == 0, "the product is too large");
        let product = widening_mul(self.low, other.low);
        let high = product.high + self.high * other.low + self.low * other.high;
        U256 { high, ..product }
    }
}

impl Div for U256 {
    type Output = U256;

    /// Each step uses an estimate that is never above the quotient, and divides the remainder by about 2^49.
    fn div(self, divisor: U256) -> U256 {
        if self.high == 0 && divisor.high == 0 {
            return U256::from(self.low / divisor.low);
        }
        let (mut quotient, mut rest) = (U256::ZERO, self);
        while rest >= divisor {
            let part = at_most(rest.as_f64() / divisor.as_f64());
            quotient = quotient + part;
            rest = rest - part * divisor;
        }
        quotient
    }
}

/// The true quotient must be at least 1, and differ from `quotient` by a relative error of at most 2^-50.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "rounded down; a power of two is exact"
)]
fn at_most(quotient: f64) -> U256 {
    const BELOW: f64 = 1.0 - 1.0 / (1_u64 << 50) as f64;
    let bits = (libm::ilogb(quotient) - 63).max(0);
    let leading = libm::ldexp(quotient * BELOW, -bits) as u64;
    U256::from(leading.max(1)) << bits.unsigned_abs()
}

impl Shl<u32> for U256 {
    type Output = U256;

    /// `bits` must be less than 256.
    fn shl(self, bits: u32) -> U256 {
        match bits {
            0 => self,
            1..128 => {
                U256 { high: self.high << bits | self.low >> (128 - bits), low: self.low << bits }
            }
            _ => U256 { high: self.low << (bits - 128), low: 0 },
        }
    }
}

impl Shr<u32> for U256 {
    type Output = U256;

    /// `bits` must be less than 256.
    fn shr(self, bits: u32) -> U256 {
        match bits {
            0 => self,
            1..128 => {
                U256 { high: self.high >> bits, low: self.low >> bits | self.high << (128 - bits) }
            }
            _ => U256 { high: 0, low: self.high >> (bits - 128) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;
    use proptest::prelude::*;

    fn halves() -> impl Strategy<Value = u128> {
        let row = (any::<u128>(), 0_u32..128, any::<bool>());
        row.prop_map(|(bits, shift, ones)| if ones { u128::MAX >> shift } else { bits >> shift })
    }

    fn numbers() -> impl Strategy<Value = U256> {
        (halves(), halves(), any::<bool>())
            .prop_map(|(high, low, is_long)| U256::from_words(high * u128::from(is_long), low))
    }

    fn big(number: U256) -> BigUint {
        (BigUint::from(number.high) << 128_u32) + number.low
    }

    fn fits(number: &BigUint) -> bool {
        number.bits() <= 256
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn sums_and_products_are_exact(a in numbers(), b in numbers()) {
            let (sum, product) = (big(a) + big(b), big(a) * big(b));
            if fits(&sum) {
                prop_assert_eq!(big(a + b), sum);
            }
            if fits(&product) {
                prop_assert_eq!(big(a * b), product.clone());
            }
            prop_assert_eq!(a.checked_mul(b).map(big), Some(product).filter(fits));
        }

        #[test]
        fn differences_and_orders_are_exact(a in numbers(), b in numbers()) {
            let (less, more) = if big(a) < big(b) { (a, b) } else { (b, a) };
            prop_assert_eq!(big(more - less), big(more) - big(less));
            prop_assert_eq!(more.saturating_sub(less), more - less);
            prop_assert_eq!(less.saturating_sub(more), U256::ZERO);
            prop_assert!(less <= more);
        }

        #[test]
        fn quotients_are_exact(a in numbers(), b in numbers(), near in 0_u32..3) {
            prop_assume!(b != U256::ZERO);
            prop_assert_eq!(big(a / b), big(a) / big(b));
            let multiple = a / b * b;
            let beside = (multiple + U256::from(near)).saturating_sub(U256::ONE);
            prop_assert_eq!(big(beside / b), big(beside) / big(b));
        }

        #[test]
        fn shifts_are_exact(a in numbers(), bits in 0_u32..256) {
            prop_assert_eq!(big(a >> bits), big(a) >> bits);
            let kept = (big(a) << bits) % (BigUint::from(1_u32) << 256_u32);
            prop_assert_eq!(big(a << bits), kept);
        }

        #[test]
        fn conversions_are_exact(a in numbers()) {
            prop_assert_eq!(u64::try_from(a).ok(), u64::try_from(big(a)).ok());
            prop_assert_eq!(i64::try_from(a).ok(), i64::try_from(big(a)).ok());
            let nearest: f64 = big(a).to_string().parse().unwrap();
            prop_assert!((a.as_f64() - nearest).abs() <= nearest * f64::EPSILON);
        }
    }
}
