//! Numbers as the page shows them.

use crate::percentiles;
use hdrhistogram::Histogram;
use nanopace_console::human;

/// What is shown where nothing was measured.
pub(crate) const NONE: &str = "–";

/// A count with its digits in threes, between which a line is not broken.
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

/// The time that this share of all times does not exceed.
pub(crate) fn time(times: &Histogram<u64>, quantile: f64) -> String {
    if times.is_empty() { NONE.to_owned() } else { human::time(percentiles::at(times, quantile)) }
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
