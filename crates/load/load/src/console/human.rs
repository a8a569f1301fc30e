//! Formats numbers for people, and parses times that people write.

use std::fmt::Display;
use std::time::Duration;

/// Formats a time with three digits, in the unit that suits it: `62.1us`, `2.00s`.
#[must_use]
pub(crate) fn time(time: Duration) -> String {
    let (value, unit) = with_unit(time);
    if unit == "ns" { format!("{}ns", time.as_nanos()) } else { three_digits(value) + unit }
}

/// Formats a time of two minutes or more in whole seconds: `2days 1h 2m 3s`. A shorter time has three digits.
#[must_use]
pub(crate) fn long_time(long: Duration) -> String {
    const DAY: u64 = 86_400;
    match long.as_secs() {
        ..120 => time(long),
        seconds => {
            let (days, rest) = (seconds / DAY, Duration::from_secs(seconds % DAY));
            let unit = if days == 1 { "day" } else { "days" };
            let days = (days > 0).then(|| format!("{days}{unit}"));
            let rest = (!rest.is_zero()).then(|| humantime::format_duration(rest).to_string());
            days.into_iter().chain(rest).collect::<Vec<_>>().join(" ")
        }
    }
}

/// Formats a time with two digits: `62us`, `2.0s`.
#[must_use]
pub(crate) fn rough_time(time: Duration) -> String {
    let (value, unit) = with_unit(time);
    let value = format!("{value:.1e}").parse().unwrap_or(value);
    let decimals = usize::from(value < 10.0 && unit != "ns");
    format!("{value:.decimals$}{unit}")
}

/// Formats two times in brackets, such as `(1.18 to 1.22ms)`. The first time has no unit if both units are the same.
#[must_use]
pub(crate) fn range(low: Duration, high: Option<Duration>, show: fn(Duration) -> String) -> String {
    let low_text = show(low);
    let Some(high) = high else { return format!("({low_text} or more)") };
    let (unit, same) = (with_unit(low).1, with_unit(low).1 == with_unit(high).1);
    let low_text = if same { low_text.trim_end_matches(unit) } else { &low_text };
    format!("({low_text} to {})", show(high))
}

fn with_unit(time: Duration) -> (f64, &'static str) {
    let seconds = time.as_secs_f64();
    match seconds {
        ..1e-6 => (seconds * 1e9, "ns"),
        ..999.5e-6 => (seconds * 1e6, "us"),
        ..999.5e-3 => (seconds * 1e3, "ms"),
        _ => (seconds, "s"),
    }
}

/// Formats a rate per second with three digits, or in whole numbers from 100/s on: `0.500/s`, `33.3/s`, `4997/s`. All
/// rates are written this way, so that an achieved rate can be read beside a requested rate. A report tells smaller
/// differences by the share of requests that started. A rate below a millionth is printed as 0.
#[must_use]
pub(crate) fn hz(hz: f64) -> String {
    match hz {
        ..1e-6 => "0/s".to_owned(),
        ..0.009_995 => format!("{hz:.2e}/s"),
        ..0.099_95 => format!("{hz:.4}/s"),
        ..0.999_5 => format!("{hz:.3}/s"),
        _ => three_digits(hz) + "/s",
    }
}

#[must_use]
pub(crate) fn count(count: impl Display, noun: &str) -> String {
    let count = count.to_string();
    let plural = if count == "1" { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[must_use]
pub(crate) fn was(count: u64) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

/// Formats a rate per second with three digits, in at most nine characters: `33.3k/s`.
#[must_use]
pub(crate) fn short_hz(rate: f64) -> String {
    match rate {
        ..999.5 => hz(rate),
        ..999.5e3 => three_digits(rate / 1e3) + "k/s",
        ..999.5e6 => three_digits(rate / 1e6) + "M/s",
        ..999.5e9 => three_digits(rate / 1e9) + "G/s",
        _ => format!("{rate:.2e}/s"),
    }
}

/// Rounds a number to four significant digits, which is exact enough for a computed rate.
#[must_use]
pub(crate) fn four_digits(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[must_use]
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Escapes control characters, line breaks and characters that XML does not allow: a line break becomes `\n`.
#[must_use]
pub(crate) fn visible(text: &str) -> String {
    let written_out = |letter: char| letter.escape_debug().collect::<String>();
    let is_other =
        |letter: char| matches!(letter, '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}');
    let is_hidden = |letter: char| letter.is_control() || is_other(letter);
    let letters = text.chars();
    letters.map(|it| if is_hidden(it) { written_out(it) } else { it.to_string() }).collect()
}

/// Converts a count to a float. The result is exact up to 2^53, and has 16 significant digits above that.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "16 digits of a count are enough for any ratio")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

pub(crate) fn positive_duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Err(_) if text.starts_with('-') => Err("it must be longer than zero".to_owned()),
        Ok(Duration::ZERO) => Err("it must be longer than zero".to_owned()),
        Ok(duration) => Ok(duration),
        Err(error) => Err(error.to_string()),
    }
}

fn three_digits(value: f64) -> String {
    // 9.996 is rounded to 10.0, which needs one decimal less than 9.99.
    let decimals = match value {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_times_have_hours_and_minutes() {
        let shown = [2_500, 119_999, 120_999, 3_723_000, 108_000_000, 172_800_000, 176_523_000]
            .map(Duration::from_millis)
            .map(long_time);
        let expected = ["2.50s", "120s", "2m", "1h 2m 3s", "1day 6h", "2days", "2days 1h 2m 3s"];
        assert_eq!(shown, expected);
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "a rounded number equals the one in the source")]
    fn numbers_are_rounded_to_four_digits() {
        for (value, round) in
            [(5_500.000_000_000_001, 5_500.0), (7_320.5, 7_320.0), (0.123_456, 0.123_5), (1e9, 1e9)]
        {
            assert_eq!(four_digits(value), round);
        }
    }

    #[test]
    fn rates_have_three_digits_or_are_whole_numbers() {
        for (rate, shown) in [
            (0.0, "0/s"),
            (1.0 / 86_400.0, "1.16e-5/s"),
            (0.009_996, "0.0100/s"),
            (0.016_67, "0.0167/s"),
            (0.099_96, "0.100/s"),
            (0.999_2, "0.999/s"),
            (0.999_6, "1.00/s"),
            (9.888, "9.89/s"),
            (9.996, "10.0/s"),
            (99.96, "100/s"),
            (4_996.6, "4997/s"),
            (5e6, "5000000/s"),
        ] {
            assert_eq!(hz(rate), shown);
        }
    }

    #[test]
    fn a_noun_is_singular_after_one() {
        assert_eq!([0, 1, 2].map(|of| count(of, "slot")), ["0 slots", "1 slot", "2 slots"]);
    }

    #[test]
    fn short_rates_have_three_digits() {
        for (hz, text) in [
            (0.0, "0/s"),
            (0.5, "0.500/s"),
            (250.0, "250/s"),
            (999.6, "1.00k/s"),
            (33_333.3, "33.3k/s"),
            (5e6, "5.00M/s"),
            (2e10, "20.0G/s"),
            (4e15, "4.00e15/s"),
        ] {
            assert_eq!(short_hz(hz), text);
        }
        // The highest possible rate is about 2^64 starts per nanosecond, which is below 2^94 per second.
        for power in -60..94 {
            let text = short_hz(2.0_f64.powi(power) * 0.999_999);
            assert!(text.len() <= 9, "{text}");
        }
    }

    #[test]
    fn control_characters_are_written_out_and_others_stay() {
        for (text, shown) in [
            ("a\nb\r\n", r"a\nb\r\n"),
            ("\x1b[2J\x07", r"\u{1b}[2J\u{7}"),
            ("a\u{2028}b\u{2029}\u{fffe}\u{ffff}", r"a\u{2028}b\u{2029}\u{fffe}\u{ffff}"),
            (r#"größe "1" \"#, r#"größe "1" \"#),
        ] {
            assert_eq!(visible(text), shown);
        }
    }

    #[test]
    fn a_time_is_read_with_its_unit_and_is_not_zero() {
        assert_eq!(positive_duration("20ms"), Ok(Duration::from_millis(20)));
        for text in ["0s", "5", "-1s", "soon", ""] {
            assert!(positive_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rough_times_have_two_digits_and_ranges_a_unit() {
        let times = [0, 999, 1_040, 62_130, 999_000, 1_260_000, 3_600_000_000_000];
        let texts = ["0ns", "1000ns", "1.0us", "62us", "1000us", "1.3ms", "3600s"];
        assert_eq!(times.map(|ns| rough_time(Duration::from_nanos(ns))), texts);
        let of = |low, high: Option<u64>| {
            range(Duration::from_nanos(low), high.map(Duration::from_nanos), time)
        };
        assert_eq!(of(1_180_000, Some(1_220_000)), "(1.18 to 1.22ms)");
        assert_eq!(of(980_000, Some(1_220_000)), "(980us to 1.22ms)");
        assert_eq!(of(980_000, None), "(980us or more)");
    }

    #[test]
    fn times_have_three_digits() {
        for (ns, text) in [
            (0, "0ns"),
            (999, "999ns"),
            (1_000, "1.00us"),
            (9_996, "10.0us"),
            (62_130, "62.1us"),
            (99_960, "100us"),
            (999_000, "999us"),
            (999_600, "1.00ms"),
            (1_234_567, "1.23ms"),
            (2_000_000_000, "2.00s"),
            (3_600_000_000_000, "3600s"),
        ] {
            assert_eq!(time(Duration::from_nanos(ns)), text);
        }
    }
}
