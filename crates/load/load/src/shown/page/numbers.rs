//! Formats numbers for the page.

use crate::results::percentiles::Sample;

pub(crate) const NONE: &str = "–";

pub(crate) const AT_LEAST: &str = "≥";

/// Formats a count in groups of three digits. The groups are joined by spaces at which a line is not broken.
pub(crate) fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

pub(crate) fn time(sample: Sample<'_>, quantile: f64) -> String {
    sample.shown(quantile, AT_LEAST).unwrap_or_else(|| NONE.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_in_threes() {
        let shown = [0, 999, 1_000, 12_345_678].map(|n| count(n).replace('\u{202f}', " "));
        assert_eq!(shown, ["0", "999", "1 000", "12 345 678"]);
    }
}
