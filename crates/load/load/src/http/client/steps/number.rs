//! Compares JSON numbers exactly, by their digits.

/// Whether a number is negative, its digits without zeros at either end, and the power of ten of its last digit.
type Number = (bool, String, i64);

pub(super) fn are_same(one: &str, other: &str) -> bool {
    number(one).is_some_and(|one| Some(one) == number(other))
}

fn number(text: &str) -> Option<Number> {
    let (mantissa, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let digits = mantissa.trim_start_matches('-');
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{part}");
    if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = all.trim_end_matches('0');
    let power = power.parse::<i64>().ok()?.checked_sub(i64::try_from(part.len()).ok()?)?;
    let power = power.checked_add(i64::try_from(all.len() - digits.len()).ok()?)?;
    let digits = digits.trim_start_matches('0').to_owned();
    let is_zero = digits.is_empty();
    Some((mantissa.starts_with('-') && !is_zero, digits, if is_zero { 0 } else { power }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_by_value() {
        for same in [
            &["1", "1.0", "1e0", "10E-1", "0.1e+1", "100e-2"][..],
            &["0", "-0", "0.00", "0e7"],
            &["-1.5", "-150e-2"],
            &["18446744073709551616", "18446744073709551616.0"],
            &["1e400", "10e399"],
        ] {
            assert!(same.iter().all(|one| are_same(one, same[0])), "{same:?}");
        }
        for (one, other) in [
            ("9007199254740992", "9007199254740993"),
            ("1", "-1"),
            ("1", "10"),
            ("0.1", "0.1000000000000000055"),
            ("1e99999999999999999999", "1e99999999999999999999"),
            ("\"1\"", "1"),
            ("null", "null"),
        ] {
            assert!(!are_same(one, other), "{one} {other}");
        }
    }
}
