//! Parses rates: `50k/s`, `3/min`, `1.5/h`, `10/100ms`.

use super::{NANOS_PER_DAY, NANOS_PER_SECOND, Rate};
use crate::error::{RateError, shown};
use std::str::FromStr;

/// The maximum number of digits of a number. More digits could overflow the exact fraction.
const MOST_DIGITS: usize = 18;

impl FromStr for Rate {
    type Err = RateError;

    /// Parses `COUNT[k|M|G][/[N]UNIT]`, where `UNIT` is `ns`, `us`, `ms`, `s`, `min`, `h`, `d` or a synonym such as
    /// `second`. Without a unit, the count is per second. Decimal fractions are exact. A number can have up to 18
    /// digits. If the period has decimals, the exact fraction can be too large with fewer digits: 500M in 1.2345s is
    /// possible, and 500M in 1.23456789012s is not.
    ///
    /// # Errors
    /// Returns a [`RateError`]. Its message says what is wrong and what to write instead.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{Rate, RateError};
    ///
    /// assert_eq!("5000".parse(), Rate::per_second(5_000));
    /// assert_eq!("1.25M".parse(), Rate::per_second(1_250_000));
    /// assert_eq!("10/100ms".parse(), Rate::per_second(100));
    /// assert_eq!("3/fortnight".parse::<Rate>(), Err(RateError::Unit("fortnight".to_owned())));
    /// ```
    fn from_str(text: &str) -> Result<Rate, RateError> {
        let (count, period) = text.split_once('/').unwrap_or((text, "s"));
        let count = Decimal::parse(count.trim())?;
        let (number, unit) = split_number(period.trim());
        let number = if number.is_empty() {
            Decimal { digits: 1, divisor: 1 }
        } else {
            Decimal::plain(number)?
        };
        let unit_ns = unit_ns(unit.trim()).ok_or_else(|| RateError::Unit(shown(unit.trim())))?;
        // operations / period = (c / cd) / (p / pd * unit) = (c * pd) / (cd * p * unit)
        let operations =
            count.digits.checked_mul(number.divisor).filter(|&n| n <= u128::from(u64::MAX));
        let period_ns =
            count.divisor.checked_mul(number.digits).and_then(|n| n.checked_mul(unit_ns));
        match (operations, period_ns.filter(|&ns| ns < 1 << 108)) {
            (Some(operations), Some(period_ns)) => Rate::exact(operations, period_ns),
            _ => Err(RateError::TooManyDigits),
        }
    }
}

/// Parses a time such as `30s` or `1.5min`. Returns `None` if the string is not a whole number of nanoseconds.
pub(crate) fn time_ns(text: &str) -> Option<u128> {
    let (number, unit) = split_number(text);
    let number = Decimal::plain(number).ok()?;
    let parts = number.digits * unit_ns(unit)?;
    (parts % number.divisor == 0).then(|| parts / number.divisor)
}

fn unit_ns(unit: &str) -> Option<u128> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" | "sec" | "second" => NANOS_PER_SECOND,
        "m" | "min" | "minute" => 60 * NANOS_PER_SECOND,
        "h" | "hour" => 3_600 * NANOS_PER_SECOND,
        "d" | "day" => NANOS_PER_DAY,
        _ => return None,
    })
}

fn split_number(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()))
}

struct Decimal {
    digits: u128,
    divisor: u128,
}

impl Decimal {
    fn parse(text: &str) -> Result<Decimal, RateError> {
        if text.starts_with('-') {
            return Err(RateError::Negative);
        }
        let (number, multiple) = split_number(text);
        let multiple = match multiple.trim() {
            "" => 1,
            "k" | "K" => 1_000,
            "M" => 1_000_000,
            "G" => 1_000_000_000,
            _ if text.parse::<f64>().is_ok_and(|n| !n.is_finite()) => {
                return Err(RateError::NotFinite);
            }
            _ => return Err(RateError::Syntax),
        };
        let decimal = Decimal::plain(number)?;
        Ok(Decimal { digits: decimal.digits * multiple, ..decimal })
    }

    fn plain(text: &str) -> Result<Decimal, RateError> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let fraction = fraction.trim_end_matches('0');
        let digits = format!("{whole}{fraction}");
        if whole.len() + fraction.len() == 0 && !text.contains('0') {
            return Err(RateError::Syntax);
        }
        if digits.trim_start_matches('0').len() > MOST_DIGITS || fraction.len() > MOST_DIGITS {
            return Err(RateError::TooManyDigits);
        }
        let digits = if digits.is_empty() { Ok(0) } else { digits.parse() };
        let divisor = (0..fraction.len()).fold(1, |divisor, _| divisor * 10);
        Ok(Decimal { digits: digits.map_err(|_| RateError::Syntax)?, divisor })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    #[test]
    fn usual_spellings_are_read() {
        let per = |n, period| Rate::per(n, period).unwrap();
        for (text, rate) in [
            ("5000", per(5_000, Duration::from_secs(1))),
            ("50k/s", per(50_000, Duration::from_secs(1))),
            ("1.25M", per(1_250_000, Duration::from_secs(1))),
            ("10G/s", per(10, Duration::from_nanos(1))),
            ("3/min", per(1, Duration::from_secs(20))),
            ("1.5/h", per(1, Duration::from_secs(2_400))),
            ("333.3/s", per(3_333, Duration::from_secs(10))),
            ("10/100ms", per(100, Duration::from_secs(1))),
            (" 1 / day ", per(1, Duration::from_secs(86_400))),
            ("007.50/s", per(15, Duration::from_secs(2))),
        ] {
            assert_eq!(text.parse(), Ok(rate), "{text}");
        }
    }

    #[test]
    fn invalid_rates_are_refused() {
        for (text, error) in [
            ("0", RateError::Zero),
            ("0.0/s", RateError::Zero),
            ("-5/s", RateError::Negative),
            ("nan", RateError::NotFinite),
            ("inf", RateError::NotFinite),
            ("", RateError::Syntax),
            ("/s", RateError::Syntax),
            (".", RateError::Syntax),
            ("fast", RateError::Syntax),
            ("1.2.3", RateError::Syntax),
            ("1e3", RateError::Syntax),
            ("5/fortnight", RateError::Unit("fortnight".to_owned())),
            ("5/", RateError::Unit(String::new())),
            ("5/0s", RateError::TooFast),
            ("11G/s", RateError::TooFast),
            ("0.9/d", RateError::TooSlow),
            ("1234567890123456789", RateError::TooManyDigits),
            ("500M/1.23456789012s", RateError::TooManyDigits),
        ] {
            assert_eq!(text.parse::<Rate>(), Err(error), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_string_is_parsed_or_refused(text in "[-+.0-9a-zA-Zµ/ ]{0,40}") {
            let _ = text.parse::<Rate>();
        }

        #[test]
        fn decimals_are_exact(whole in 1_u64..1_000_000, thousandths in 0_u64..1_000) {
            let rate: Rate = format!("{whole}.{thousandths:03}/s").parse().unwrap();
            prop_assert_eq!(rate, Rate::per(whole * 1_000 + thousandths, Duration::from_secs(1_000)).unwrap());
        }

        #[test]
        fn floats_are_taken_at_their_value(hz in 1.2e-5_f64..1e10) {
            let rate = Rate::from_hz(hz).unwrap();
            prop_assert!((rate.as_hz() / hz - 1.0).abs() < 1e-15);
        }

        #[test]
        fn printed_values_are_read_back(hz in 1.1575e-5_f64..1e10) {
            let rate = Rate::from_hz(hz).unwrap();
            let again: Rate = rate.to_string().parse().unwrap();
            prop_assert!((again.as_hz() / hz - 1.0).abs() < 1e-14);
        }

        #[test]
        fn the_fastest_rates_are_read_back_as_printed(missing in 1_u64..1 << 33, nanos in 1_u64 << 30..1 << 50) {
            let rate = Rate::per((nanos * 10).saturating_sub(missing), Duration::from_nanos(nanos)).unwrap();
            let again: Rate = rate.to_string().parse().unwrap();
            prop_assert!((again.as_hz() / rate.as_hz() - 1.0).abs() < 1e-14);
        }

        #[test]
        fn whole_numbers_are_shown_exactly(count in 1_u64..1_000_000, unit in 0_usize..4) {
            let text = format!("{count}/{}", ["s", "min", "h", "d"][unit]);
            let rate: Rate = text.parse().unwrap();
            prop_assert_eq!(rate.to_string().parse::<Rate>().unwrap(), rate);
        }
    }
}
