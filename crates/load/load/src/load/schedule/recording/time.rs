//! Reads the times of recordings: numbers in several units, and dates (RFC 3339).

use crate::console::human;
use std::fmt::{self, Display, Formatter};
use std::iter;
use std::ops::Range;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unit {
    name: &'static str,
    /// The power of ten that converts this unit to nanoseconds.
    digits: i32,
}

static UNITS: [Unit; 4] = [
    Unit { name: "s", digits: 9 },
    Unit { name: "ms", digits: 6 },
    Unit { name: "us", digits: 3 },
    Unit { name: "ns", digits: 0 },
];

impl Unit {
    pub(super) fn named(name: &str) -> Result<&'static Unit, String> {
        let unit = UNITS.iter().find(|unit| unit.name == name);
        unit.ok_or_else(|| format!("unit={name}: write unit=s, ms, us or ns"))
    }
}

/// The times from September 2001 to 2103, in nanoseconds since 1970. A number is a time since 1970 if it is in this
/// range in its unit or, if no unit is given, in any unit. All other numbers are offsets. No number is in the range in
/// two units. An offset in seconds would be in the range only if it exceeded 30 years.
const SINCE_1970: Range<u128> = 1_000_000_000_000_000_000..4_200_000_000_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Offset(&'static Unit),
    Since1970(&'static Unit),
    Date { has_zone: bool },
}

impl Format {
    pub(super) fn is_offset(self) -> bool {
        matches!(self, Format::Offset(_))
    }
}

impl Display for Format {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Format::Offset(unit) => write!(f, "in {}", unit.name),
            Format::Since1970(unit) => write!(f, "in {} since 1970", unit.name),
            Format::Date { has_zone: true } => f.write_str("as dates with a zone"),
            Format::Date { has_zone: false } => f.write_str("as dates without a zone"),
        }
    }
}

/// Parses a time. If no unit is given, a number that is not a time since 1970 is in seconds.
pub(super) fn read(text: &str, unit: Option<&'static Unit>) -> Result<(Format, u128), String> {
    match (date(text), unit) {
        (Some((has_zone, ns)), None) => return Ok((Format::Date { has_zone }, ns)),
        (Some(_), Some(unit)) => {
            return Err(format!("`{text}` is a date: leave unit={} out", unit.name));
        }
        (None, _) => {}
    }
    let units = UNITS.iter().filter(|known| unit.is_none_or(|unit| unit == *known));
    let mut times = units.filter_map(|unit| Some((unit, nanos(text, unit)?)));
    let since_1970 = times.clone().find(|(_, ns)| SINCE_1970.contains(ns));
    match (since_1970, times.next()) {
        (Some((unit, ns)), _) => Ok((Format::Since1970(unit), ns)),
        (None, Some((unit, ns))) => Ok((Format::Offset(unit), ns)),
        (None, None) => Err(format!(
            "`{}` is not a time: write seconds, as 0.25, or a date, as 2026-01-31T12:00:00Z; if the file has several \
             columns, name them in its first line, as in offset,url",
            human::visible(&text.chars().take(60).collect::<String>())
        )),
    }
}

pub(crate) fn moment(text: &str) -> Option<SystemTime> {
    match read(text, None) {
        Ok((Format::Since1970(_) | Format::Date { has_zone: true }, ns)) => {
            UNIX_EPOCH.checked_add(Duration::from_nanos(u64::try_from(ns).ok()?))
        }
        _ => None,
    }
}

pub(crate) fn seconds(text: &str) -> Option<Duration> {
    u64::try_from(nanos(text, &UNITS[0])?).ok().map(Duration::from_nanos)
}

fn nanos(text: &str, unit: &Unit) -> Option<u128> {
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{part}");
    if whole.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let point = exponent.parse::<i32>().ok()?.checked_add(unit.digits)?;
    let point = i64::try_from(whole.len()).ok()? + i64::from(point);
    let Ok(point) = usize::try_from(point) else { return Some(0) };
    let zeros = digits.bytes().take_while(|digit| *digit == b'0').count();
    let significant = point.saturating_sub(zeros);
    if significant > 38 {
        return Some(u128::MAX);
    }
    let digits = digits[zeros..].chars().chain(iter::repeat('0')).take(significant);
    Some(digits.fold(0, |number, digit| number * 10 + u128::from(digit as u8 - b'0')))
}

/// Parses a date and time in RFC 3339 or a usual variant: with a blank instead of the T, without seconds, with a comma
/// before the fraction, or with another form of UTC offset. Returns whether the text contains a UTC offset, and the
/// time in nanoseconds since 1970. A time without an offset is in UTC.
fn date(text: &str) -> Option<(bool, u128)> {
    let text = with_seconds(text.to_ascii_uppercase().replace(',', "."));
    let (text, utc) = text.split_at(text.len() - if text.ends_with("UTC") { 3 } else { 0 });
    let (local, offset) = match text.get(19..)?.find(['+', '-', 'Z']) {
        Some(at) => text.split_at(19 + at),
        None => (text, ""),
    };
    let time = humantime::parse_rfc3339_weak(local.trim_end()).ok()?;
    let ns = i128::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok()?;
    let ns = u128::try_from(ns - offset_seconds(offset.trim_end())? * 1_000_000_000).ok()?;
    Some((!(utc.is_empty() && offset.is_empty()), ns))
}

fn with_seconds(mut text: String) -> String {
    const MINUTES: usize = "2026-01-31T12:00".len();
    let ends = |rest: &str| rest.is_empty() || rest.starts_with([' ', 'Z', '+', '-', 'U']);
    if text.get(MINUTES..).is_some_and(ends) {
        text.insert_str(MINUTES, ":00");
    }
    text
}

/// Parses an offset from UTC such as `Z`, `+02:00`, `-0530` or `+02`, and returns it in seconds.
fn offset_seconds(text: &str) -> Option<i128> {
    let sign = match text.chars().next() {
        None => return Some(0),
        Some('Z') => return (text.len() == 1).then_some(0),
        Some('-') => -1,
        _ => 1,
    };
    let digits = text[1..].replace(':', "");
    let is_offset = [2, 4].contains(&digits.len()) && digits.bytes().all(|it| it.is_ascii_digit());
    let number: i128 = digits.parse().ok().filter(|_| is_offset)?;
    let (hours, minutes) =
        if digits.len() == 2 { (number, 0) } else { (number / 100, number % 100) };
    Some(sign * (hours * 3600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The time 2023-11-16 18:17:03.97996 UTC, in nanoseconds since 1970.
    const NS: u128 = 1_700_158_623_979_960_000;

    #[test]
    fn times_since_1970_are_recognised_in_each_unit() {
        let floor = |unit: u128| NS - NS % unit;
        for (text, unit, ns) in [
            ("1700158623.97996", 0, NS),
            ("1700158623", 0, floor(1_000_000_000)),
            ("1.70015862397996e9", 0, NS),
            ("1700158623979.96", 1, NS),
            ("1700158623979", 1, floor(1_000_000)),
            ("1700158623979960", 2, NS),
            ("1700158623979960000", 3, NS),
            ("1000000000", 0, 1_000_000_000_000_000_000),
            ("4199999999999", 1, 4_199_999_999_999_000_000),
        ] {
            let expected = Ok((Format::Since1970(&UNITS[unit]), ns));
            assert_eq!(read(text, None), expected, "{text}");
            assert_eq!(read(text, Some(&UNITS[unit])), expected, "{text}");
        }
    }

    #[test]
    fn other_numbers_are_offsets_in_the_unit_that_is_given() {
        for (text, unit, ns) in [
            ("0", 0, 0),
            ("0.25", 0, 250_000_000),
            ("2.", 0, 2_000_000_000),
            ("10500000", 0, 10_500_000_000_000_000),
            ("999999999", 0, 999_999_999_000_000_000),
            ("4200000000", 0, 4_200_000_000_000_000_000),
            ("1e-05", 0, 10_000),
            ("0.30000000000000004", 0, 300_000_000),
            ("1e-2000000000", 0, 0),
            ("1e2000000000", 0, u128::MAX),
            (&"9".repeat(50), 0, u128::MAX),
            ("27482", 1, 27_482_000_000),
            ("1700158623", 2, 1_700_158_623_000),
            ("1.9", 3, 1),
        ] {
            let unit = Some(&UNITS[unit]).filter(|unit| unit.name != "s");
            let format = Format::Offset(unit.unwrap_or(&UNITS[0]));
            assert_eq!(read(text, unit), Ok((format, ns)), "{text}");
        }
    }

    #[test]
    fn dates_are_read_with_their_offsets() {
        for text in [
            "2023-11-16 18:17:03.9799600",
            "2023-11-16t18:17:03,97996z",
            "2023-11-16 18:17:03.979960+00:00",
            "2023-11-16T20:17:03.97996+02:00",
            "2023-11-16T12:47:03.97996-0530",
            "2023-11-16T19:17:03.97996 +01",
            "2023-11-16 18:17:03.979960 UTC",
        ] {
            assert_eq!(read(text, None).map(|(_, ns)| ns), Ok(NS), "{text}");
            assert!(read(text, Some(&UNITS[1])).unwrap_err().ends_with("leave unit=ms out"));
        }
        for text in [
            "2023-11-16 18:17",
            "2023-11-16T18:17Z",
            "2023-11-16T20:17+02:00",
            "2023-11-16T12:47-0530",
            "2023-11-16 18:17 UTC",
        ] {
            let minute = NS - NS % 60_000_000_000;
            assert_eq!(read(text, None).map(|(_, ns)| ns), Ok(minute), "{text}");
        }
    }

    #[test]
    fn a_date_with_an_offset_has_a_zone() {
        for (zone, is_one) in [("", false), ("Z", true), (" UTC", true), ("-00:00", true)] {
            for date in ["2023-11-16 18:17", "2023-11-16 18:17:03.5"] {
                let read = read(&format!("{date}{zone}"), None).unwrap();
                assert_eq!(read.0, Format::Date { has_zone: is_one }, "{date}{zone}");
            }
        }
    }

    #[test]
    fn other_texts_are_not_times() {
        let date = ["2023-11-16", "2023-13-16 18:17:03", "2023-11-16 18:17:03+2", "2023-11-16 18"];
        let minutes =
            ["2023-11-16 18:17.5", "2023-11-16T18:17,5Z", "2023-11-16 18:17x", "2023-11-16 18:17:"];
        let number =
            ["", "x", "-1", ".5", "1,5", "+1", "1e", "1e1.5", "0x10", "nan", "1_000", "é1"];
        let rest = ["2023-11-16 18:17:03Z0", "2023-11-16 18:17:03+24:0a", "16/Nov/2023:18:17:03"];
        for text in date.iter().chain(&minutes).chain(&number).chain(&rest) {
            let told = read(text, None).unwrap_err();
            assert!(told.starts_with(&format!("`{text}` is not a time: write seconds")), "{told}");
        }
    }

    proptest! {
        #[test]
        fn a_number_is_exact_to_the_nanosecond(ns in 0_u64..1 << 60) {
            for unit in &UNITS {
                let digits = 10_u64.pow(unit.digits.cast_unsigned());
                let width = usize::try_from(unit.digits).unwrap();
                let text = format!("{}.{:0width$}", ns / digits, ns % digits);
                prop_assert_eq!(nanos(&text, unit), Some(u128::from(ns)), "{}", text);
            }
        }

        #[test]
        fn no_text_panics(text in "(?s).{0,12}|[0-9eE.+-]{0,20}|2023-11-16 18:17:03.{0,8}") {
            drop(read(&text, None));
        }
    }
}
