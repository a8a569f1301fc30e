//! Parses limits, and formats figures so that they can be compared with their limits.

use super::words::{CriterionError, Word};
use crate::console::human::float;
use nanopace::Rate;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// The value is a time in nanoseconds.
    Time,
    /// The value is a share from 0 to 1.
    Share,
    Count,
    /// The value is a number per second.
    Rate,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Limit {
    pub(crate) value: f64,
    pub(crate) text: String,
}

impl Unit {
    pub(crate) fn limit(self, word: &Word) -> Result<Limit, CriterionError> {
        let told = |told: String| CriterionError::at(word, format!("{told}; {}", self.advice()));
        if word.text.is_empty() {
            return Err(told("nothing follows the operator".to_owned()));
        }
        let value = match self {
            Unit::Time => humantime::parse_duration(&word.text).ok().map(nanos),
            Unit::Share => share(&word.text),
            Unit::Count => word.text.parse().ok().map(float),
            Unit::Rate => word.text.parse().ok().map(Rate::as_hz),
        };
        let value = value.ok_or_else(|| told(format!("{:?} is not {}", word.text, self.name())))?;
        Ok(Limit { value, text: word.text.clone() })
    }

    fn name(self) -> &'static str {
        match self {
            Unit::Time => "a time",
            Unit::Share => "a share from 0 to 1",
            Unit::Count => "a count",
            Unit::Rate => "a rate",
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Unit::Time => "write a number and its unit, as in 500us, 50ms or 1.5s",
            Unit::Share => "write for example 0.1% or 0.001",
            Unit::Count => "write a whole number",
            Unit::Rate => {
                "write for example 500/s, 4.9k/s or 3/min, at least 1/d and at most 10G/s"
            }
        }
    }

    /// Formats a value with three digits, or with more digits if `is_right` is false for the printed value. Counts have
    /// no decimals.
    pub(crate) fn show(self, value: f64, limit: &Limit, is_right: impl Fn(f64) -> bool) -> String {
        let (exponent, suffix) = self.scale(value, limit);
        let scaled = value / 10_f64.powi(exponent);
        let text = |decimals: usize| format!("{scaled:.decimals$}");
        let seen = |text: &String| format!("{text}e{exponent}").parse().is_ok_and(&is_right);
        let mut texts = (self.decimals(scaled)..=MOST_DECIMALS).map(text);
        texts.find(seen).unwrap_or_else(|| scaled.to_string()) + suffix
    }

    fn decimals(self, scaled: f64) -> usize {
        match scaled {
            _ if self == Unit::Count => 0,
            ..9.995 => 2,
            ..99.95 => 1,
            _ => 0,
        }
    }

    /// Returns the power of ten and the suffix with which a value is printed. A share is printed in percent if its limit
    /// is.
    fn scale(self, value: f64, limit: &Limit) -> (i32, &'static str) {
        match (self, value) {
            (Unit::Time, ..1e3) => (0, "ns"),
            (Unit::Time, ..1e6) => (3, "us"),
            (Unit::Time, ..1e9) => (6, "ms"),
            (Unit::Time, _) => (9, "s"),
            (Unit::Share, _) if limit.text.ends_with('%') => (-2, " %"),
            (Unit::Share | Unit::Count, _) => (0, ""),
            (Unit::Rate, ..1e3) => (0, "/s"),
            (Unit::Rate, ..1e6) => (3, "k/s"),
            (Unit::Rate, _) => (6, "M/s"),
        }
    }
}

/// The maximum number of decimals. If they are not enough, the shortest text that identifies the number is printed.
const MOST_DECIMALS: usize = 17;

/// Converts a time to nanoseconds. The result is exact for times of up to 104 days, and has 16 significant digits for
/// longer times.
#[expect(clippy::cast_precision_loss, reason = "16 digits are enough to compare times")]
pub(crate) fn nanos(time: Duration) -> f64 {
    time.as_nanos() as f64
}

/// Parses a share. `0.1%` is parsed as `0.1e-2`, because a division by 100 would round a second time.
fn share(text: &str) -> Option<f64> {
    let share: f64 = match text.strip_suffix('%') {
        Some(percent) => format!("{}e-2", percent.trim_end()).parse().ok()?,
        None => text.parse().ok()?,
    };
    (0.0..=1.0).contains(&share).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(unit: Unit, text: &str) -> Option<f64> {
        unit.limit(&Word { text: text.to_owned(), column: 1 }).ok().map(|limit| limit.value)
    }

    #[test]
    fn limits_have_units() {
        for (unit, text, value) in [
            (Unit::Time, "50ms", 5e7),
            (Unit::Time, "1.5s", 1.5e9),
            (Unit::Time, "1s 500ms", 1.5e9),
            (Unit::Time, "0s", 0.0),
            (Unit::Share, "0.1%", 0.001),
            (Unit::Share, "0.1 %", 0.001),
            (Unit::Share, "0.001", 0.001),
            (Unit::Share, "1e-3", 0.001),
            (Unit::Share, "100%", 1.0),
            (Unit::Count, "0", 0.0),
            (Unit::Count, "1000", 1000.0),
            (Unit::Rate, "4.9k/s", 4900.0),
            (Unit::Rate, "90/min", 1.5),
            (Unit::Rate, "5000", 5000.0),
        ] {
            assert_eq!(limit(unit, text), Some(value), "{text}");
        }
    }

    #[test]
    fn a_limit_with_another_unit_or_none_is_refused() {
        for (unit, texts) in [
            (Unit::Time, &["50", "fast", "-1s", "1e3s", "5%", "99999999999999999999s", "nan"][..]),
            (Unit::Share, &["2", "101%", "-1%", "nan", "inf", "%", "1e0%", "nan%", "5ms"]),
            (Unit::Count, &["1.5", "-1", "1k", "10%", "99999999999999999999", "1_000"]),
            (Unit::Rate, &["0", "-5", "nan", "fast", "50ms", "11G/s"]),
        ] {
            for text in texts {
                assert_eq!(limit(unit, text), None, "{text} is not {}", unit.name());
            }
        }
    }

    #[test]
    fn a_share_in_percent_is_the_same_number_as_in_decimals() {
        for n in 0..=1000_u16 {
            let percent = format!("{}.{}%", n / 10, n % 10);
            assert_eq!(limit(Unit::Share, &percent), Some(f64::from(n) / 1000.0), "{percent}");
        }
    }

    #[test]
    fn a_value_is_shown_with_the_digits_that_tell_it_from_its_limit() {
        let shown = |unit: Unit, value: f64, text: &str| {
            let limit = unit.limit(&Word { text: text.to_owned(), column: 1 }).unwrap();
            unit.show(value, &limit, |shown| shown > limit.value)
        };
        for (unit, value, text, expected) in [
            (Unit::Time, 6.12e7, "50ms", "61.2ms"),
            (Unit::Time, 50_003_967.0, "50ms", "50.004ms"),
            (Unit::Time, 2e9, "50ms", "2.00s"),
            (Unit::Time, 750.0, "1ns", "750ns"),
            (Unit::Time, 99_960.0, "1us", "100us"),
            (Unit::Share, 0.0014, "0.1%", "0.14 %"),
            (Unit::Share, 1e-6, "0%", "0.0001 %"),
            (Unit::Share, 0.25, "0.2", "0.25"),
            (Unit::Count, 7.0, "5", "7"),
            (Unit::Rate, 4950.0, "4.9k/s", "4.95k/s"),
        ] {
            assert_eq!(shown(unit, value, text), expected, "{text}");
        }
    }
}
