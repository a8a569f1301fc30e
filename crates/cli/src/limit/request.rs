//! A line of standard input: `time`, or `key time`.

use anyhow::{Context, bail};
use nanopace::Nanos;
use std::str;

/// The most characters of a word that are shown.
const MOST_SHOWN: usize = 60;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// When it comes.
    pub(crate) at: Nanos,
    /// The key whose limit it counts against.
    pub(crate) key: Option<String>,
}

/// The request in a line; none in an empty one.
pub(crate) fn parse(line: &[u8]) -> anyhow::Result<Option<Request>> {
    let line = str::from_utf8(line).context("it is not in UTF-8")?;
    let words: Vec<_> = line.split_whitespace().collect();
    let (key, time) = match words[..] {
        [] => return Ok(None),
        [time] => (None, time),
        [key, time] => (Some(key.to_owned()), time),
        _ => bail!("it has {} words: write a time, or a key and a time", words.len()),
    };
    Ok(Some(Request { at: moment(time)?, key }))
}

/// A time since the clock's origin, in seconds or with a unit.
fn moment(text: &str) -> anyhow::Result<Nanos> {
    let seconds = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let span = if seconds { format!("{}s", nine_decimals(text)) } else { text.to_owned() };
    let time = humantime::parse_duration(&span).ok().with_context(|| {
        format!("`{}` is no time: write seconds such as 1.5, or a unit as in 1500ms", shown(text))
    })?;
    match u64::try_from(time.as_nanos()) {
        Ok(nanos) if nanos < Nanos::MAX.as_nanos() => Ok(Nanos::from_nanos(nanos)),
        _ => {
            bail!(
                "`{}` is beyond the 292 years that times may span: count from a later moment",
                shown(text)
            )
        }
    }
}

/// The beginning of a word, safe to show on a terminal: control characters are escaped.
pub(crate) fn shown(word: &str) -> String {
    word.chars().take(MOST_SHOWN).flat_map(char::escape_debug).collect()
}

/// Cuts the digits below a nanosecond.
fn nine_decimals(text: &str) -> &str {
    let end = text.find('.').map_or(text.len(), |point| text.len().min(point + 10));
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Option<(Option<String>, u64)> {
        let request = parse(line.as_bytes()).unwrap_or_else(|error| panic!("{line}: {error}"));
        request.map(|request| (request.key, request.at.as_nanos()))
    }

    #[test]
    fn times_are_exact() {
        for (line, key, nanos) in [
            ("0", None, 0),
            ("1.5", None, 1_500_000_000),
            ("1500ms", None, 1_500_000_000),
            ("2min", None, 120_000_000_000),
            ("1700000000.123456789", None, 1_700_000_000_123_456_789),
            ("0.1234567899999999999999999", None, 123_456_789),
            ("  alice \t 7us  ", Some("alice"), 7_000),
            ("5 6", Some("5"), 6_000_000_000),
        ] {
            assert_eq!(parsed(line), Some((key.map(str::to_owned), nanos)), "{line}");
        }
    }

    #[test]
    fn an_empty_line_is_no_request() {
        assert_eq!((parsed(""), parsed(" \t")), (None, None));
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (line, told) in [
            (&b"soon"[..], "`soon` is no time: write seconds such as 1.5"),
            (b"-1", "`-1` is no time"),
            (b"1.", "`1.` is no time"),
            (b"1e3", "`1e3` is no time"),
            (b"alice", "`alice` is no time"),
            (b"1.5.2", "`1.5.2` is no time"),
            (b"a b 3", "it has 3 words: write a time, or a key and a time"),
            (b"9223372037", "beyond the 292 years"),
            (b"99999999999999999999", "`99999999999999999999` is no time"),
            (b"\x1b[2J", "`\\u{1b}[2J` is no time"),
            (b"\xff 1", "it is not in UTF-8"),
        ] {
            let error = parse(line).expect_err(told);
            assert!(error.to_string().contains(told), "{error}");
        }
    }
}
