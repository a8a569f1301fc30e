//! Windows of the clock, all of one length, and the counts of the latest two.

use core::time::Duration;
use nanopace_nanos::Nanos;

/// A division by a number that is known beforehand, as one multiplication and a shift (T. Granlund and P. Montgomery,
/// "Division by Invariant Integers using Multiplication", 1994). Take s such that divisor <= 2^s, and let m be 2^(63+s)
/// / divisor, rounded up. Then m x divisor exceeds 2^(63+s) by less than 2^s, so for any n below 2^63, n x m /
/// 2^(63+s), rounded down, equals n / divisor, rounded down.
#[derive(Clone, Copy, Debug)]
struct Divisor {
    magic: u64,
    shift: u32,
}

impl Divisor {
    /// Creates the reciprocal of a divisor from 1 to 2^63 - 1.
    fn new(divisor: u64) -> Divisor {
        let bits = u64::BITS - (divisor - 1).leading_zeros();
        let magic = (1_u128 << (63 + bits)).div_ceil(u128::from(divisor));
        Divisor {
            magic: u64::try_from(magic)
                .expect("below 2^64, because the divisor exceeds half of 2^bits"),
            shift: 63 + bits,
        }
    }

    /// Divides a number, which must be below 2^63.
    #[inline]
    fn divide(self, number: u64) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "no quotient is larger than its number"
        )]
        let quotient = ((u128::from(number) * u128::from(self.magic)) >> self.shift) as u64;
        quotient
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Windows {
    length_ns: u64,
    divisor: Divisor,
    /// The number of bits of a word that a window's number leaves free.
    spare_bits: u32,
}

impl Windows {
    /// Creates windows of a length from 1 to 2^63 - 1 ns.
    pub(crate) fn new(length_ns: u64) -> Windows {
        let last = Nanos::MAX.as_nanos() / length_ns;
        Windows { length_ns, divisor: Divisor::new(length_ns), spare_bits: last.leading_zeros() }
    }

    pub(crate) fn length_ns(&self) -> u64 {
        self.length_ns
    }

    #[inline]
    pub(crate) fn number(&self, moment: Nanos) -> u64 {
        self.divisor.divide(moment.as_nanos())
    }

    #[inline]
    pub(crate) fn start(&self, number: u64) -> Nanos {
        Nanos::from_nanos(number.saturating_mul(self.length_ns))
    }

    pub(crate) fn at_most_last(&self, number: u64) -> u64 {
        number.min(self.number(Nanos::MAX))
    }

    #[inline]
    pub(crate) fn most(&self) -> u64 {
        u64::MAX >> (u64::BITS - self.spare_bits)
    }

    #[inline]
    pub(crate) fn pack(&self, number: u64, count: u64) -> u64 {
        number << self.spare_bits | count
    }

    #[inline]
    pub(crate) fn unpack(&self, word: u64) -> (u64, u64) {
        (word >> self.spare_bits, word & self.most())
    }
}

/// The number of the latest window, the count of the window before it, and the count of the latest window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub(crate) number: u64,
    pub(crate) before: u64,
    pub(crate) now: u64,
}

impl Counts {
    #[inline]
    pub(crate) fn in_window(self, number: u64) -> Counts {
        match number.checked_sub(self.number) {
            None | Some(0) => self,
            Some(1) => Counts { number, before: self.now, now: 0 },
            Some(_) => Counts { number, before: 0, now: 0 },
        }
    }

    /// Returns the number of windows, beginning with window `number`, in which the counts matter.
    pub(crate) fn in_sight(&self) -> u64 {
        match (self.before, self.now) {
            (_, 1..) => 2,
            (1.., 0) => 1,
            (0, 0) => 0,
        }
    }

    pub(crate) fn let_in(
        self,
        windows: &Windows,
        now: Nanos,
    ) -> impl Iterator<Item = (Nanos, u64)> {
        let before = Nanos::from_nanos(windows.start(self.number).as_nanos().saturating_sub(1));
        [(before, self.before), (now, self.now)].into_iter().filter(|(_, count)| *count > 0)
    }

    /// Returns the moment from which the [sliding window counter](crate::SlidingCounter) admits `n` more requests, or
    /// `None` if it admits them at once. `self` holds the counts at `now`, and `n` is at most `limit`.
    #[inline]
    pub(crate) fn slides_in(
        self,
        windows: &Windows,
        limit: u64,
        now: Nanos,
        n: u64,
    ) -> Option<Nanos> {
        let start = windows.start(self.number);
        let room = limit.checked_sub(self.now.saturating_add(n));
        if let Some(earliest_ns) = earliest_ns(windows, self.before, room) {
            // The sum may exceed the last moment. It is then later than any `now`.
            let earliest = start.as_nanos() + earliest_ns;
            let is_later = earliest > now.max(start).as_nanos();
            return is_later.then(|| Nanos::from_nanos(earliest));
        }
        let next = windows.start(self.number + 1);
        let earliest_ns = earliest_ns(windows, self.now, limit.checked_sub(n)).unwrap_or_default();
        Some(next + Duration::from_nanos(earliest_ns))
    }

    pub(crate) fn without(self, window: u64, n: u64) -> Counts {
        match self.number.checked_sub(window) {
            Some(0) => Counts { now: self.now.saturating_sub(n), ..self },
            Some(1) => Counts { before: self.before.saturating_sub(n), ..self },
            _ => self,
        }
    }
}

/// Returns the smallest t with `before` (T - t) <= `room` T, where T is the length of a window.
#[inline]
fn earliest_ns(windows: &Windows, before: u64, room: Option<u64>) -> Option<u64> {
    let length = u128::from(windows.length_ns());
    let unseen = (u128::from(room?) * length)
        .checked_div(u128::from(before))
        .map_or(length, |unseen| unseen.min(length));
    u64::try_from(length - unseen).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn dividing_is_dividing(bits in 0_u32..63, low in any::<u64>(), number in 0..1_u64 << 63) {
            let divisor = ((1 << bits) | low & ((1 << bits) - 1)).max(1);
            for number in [number, number / divisor * divisor, (number / divisor * divisor).saturating_sub(1), (1 << 63) - 1] {
                prop_assert_eq!(Divisor::new(divisor).divide(number), number / divisor, "{} / {}", number, divisor);
            }
        }

        #[test]
        fn a_word_holds_both(bits in 0_u32..63, moment in 0..1_u64 << 63, count in any::<u64>()) {
            let windows = Windows::new(Nanos::MAX.as_nanos() >> bits);
            let (number, count) = (windows.number(Nanos::from_nanos(moment)), count & windows.most());
            prop_assert_eq!(windows.unpack(windows.pack(number, count)), (number, count));
        }
    }

    #[test]
    fn powers_of_two_and_their_neighbours_divide() {
        for bits in 1..63 {
            for divisor in [(1_u64 << bits) - 1, 1 << bits, (1 << bits) + 1] {
                for number in [0, divisor - 1, divisor, divisor + 1, Nanos::MAX.as_nanos()] {
                    assert_eq!(
                        Divisor::new(divisor).divide(number),
                        number / divisor,
                        "{number} / {divisor}"
                    );
                }
            }
        }
    }
}
