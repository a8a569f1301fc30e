//! Stores cookies, and sends them back to the server that set them (RFC 6265). The only attributes with an effect are
//! `Max-Age` and `Expires`.

use hyper::header::{HeaderMap, SET_COOKIE};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The maximum number of cookies of one server. If the server sets more, its oldest cookies are removed.
const MOST: usize = 100;
const LONGEST: usize = 4096;

#[derive(Debug, Default)]
pub(crate) struct Jar {
    cookies: Vec<StoredCookie>,
    header: Vec<u8>,
    /// The earliest expiry time of the cookies, or `None` if no cookie expires.
    next_over: Option<SystemTime>,
}

#[derive(Debug)]
struct StoredCookie {
    name: Vec<u8>,
    value: Vec<u8>,
    over: Option<SystemTime>,
}

#[derive(Debug, PartialEq, Eq)]
struct Cookie<'a> {
    name: &'a [u8],
    value: &'a [u8],
    over: Option<SystemTime>,
}

impl Jar {
    pub(crate) fn clear(&mut self) {
        self.cookies.clear();
        self.header.clear();
        self.next_over = None;
    }

    pub(crate) fn header(&self) -> &[u8] {
        &self.header
    }

    pub(crate) fn send(&mut self, now: impl FnOnce() -> SystemTime) {
        if let Some(over) = self.next_over {
            let now = now();
            if over <= now {
                self.forget(now);
            }
        }
    }

    pub(crate) fn set(&mut self, headers: &HeaderMap, now: impl FnOnce() -> SystemTime) {
        let mut set = headers.get_all(SET_COOKIE).iter().peekable();
        if set.peek().is_none() {
            return;
        }
        let now = now();
        set.filter_map(|line| Cookie::read(line.as_bytes(), now)).for_each(|it| self.put(&it));
        self.forget(now);
    }

    fn forget(&mut self, now: SystemTime) {
        self.cookies.retain(|cookie| cookie.over.is_none_or(|over| over > now));
        self.cookies.drain(..self.cookies.len().saturating_sub(MOST));
        self.next_over = self.cookies.iter().filter_map(|cookie| cookie.over).min();
        self.header.clear();
        for StoredCookie { name, value, .. } in &self.cookies {
            let end = if self.header.is_empty() { &b""[..] } else { b"; " };
            for part in [end, name, b"=", value] {
                self.header.extend_from_slice(part);
            }
        }
    }

    fn put(&mut self, cookie: &Cookie<'_>) {
        let (value, over) = (cookie.value.to_owned(), cookie.over);
        if let Some(kept) = self.cookies.iter_mut().find(|kept| kept.name == cookie.name) {
            (kept.value, kept.over) = (value, over);
            return;
        }
        self.cookies.push(StoredCookie { name: cookie.name.to_owned(), value, over });
    }
}

impl Cookie<'_> {
    fn read(line: &[u8], now: SystemTime) -> Option<Cookie<'_>> {
        let mut parts = line.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let pair = parts.next().filter(|pair| pair.len() <= LONGEST)?;
        let end = pair.iter().position(|byte| *byte == b'=').filter(|end| *end > 0)?;
        let (name, value) = (pair[..end].trim_ascii(), pair[end + 1..].trim_ascii());
        let (mut max_age, mut expires) = (None, None);
        for (attribute, value) in parts.filter_map(attribute) {
            match attribute.to_ascii_lowercase().as_str() {
                "max-age" => max_age = value.parse().ok().map(|seconds: i64| seconds.max(0)),
                "expires" => expires = date(value),
                _ => {}
            }
        }
        // If the expiry time is too far away for a `SystemTime`, the cookie never expires.
        let after = |seconds: i64| now.checked_add(Duration::from_secs(seconds.unsigned_abs()));
        Some(Cookie { name, value, over: max_age.map_or(expires, after) })
    }
}

fn attribute(part: &[u8]) -> Option<(&str, &str)> {
    let (name, value) = std::str::from_utf8(part).ok()?.split_once('=')?;
    Some((name.trim(), value.trim()))
}

/// Parses the date of `Expires` as browsers do, because servers write it in several forms (RFC 6265, section 5.1.1).
/// For a date before 1970, returns the beginning of 1970.
fn date(text: &str) -> Option<SystemTime> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for word in text.split(|c: char| !c.is_ascii_alphanumeric() && c != ':') {
        match word.parse::<u32>() {
            Ok(number) if word.len() <= 2 && day.is_none() => day = Some(number),
            Ok(number) if (2..=4).contains(&word.len()) => year = year.or(Some(number)),
            Ok(_) => {}
            Err(_) if word.contains(':') => time = time.or(Some(word)),
            Err(_) => month = month.or(MONTHS.iter().position(|name| is_month(word, name))),
        }
    }
    let mut parts = time?.split(':').map(str::parse::<u32>);
    let mut part = || parts.next()?.ok();
    let (hour, minute, second) = (part()?, part()?, part()?);
    let (year, month, day) = (year?, month? + 1, day?);
    let year = match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        1601..=1969 => return Some(UNIX_EPOCH),
        year => year,
    };
    let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z");
    humantime::parse_rfc3339(&text).ok()
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

fn is_month(word: &str, name: &str) -> bool {
    word.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn answer(lines: &[&str]) -> HeaderMap {
        let line = |line: &&str| (SET_COOKIE, HeaderValue::from_str(line).unwrap());
        lines.iter().map(line).collect()
    }

    #[test]
    fn a_cookie_is_sent_until_it_expires() {
        let mut jar = Jar::default();
        for (lines, header) in [
            (&[][..], ""),
            (&["a=1; Path=/; HttpOnly"], "a=1"),
            (&["b=x=y ; Secure", "a=2"], "a=2; b=x=y"),
            (&["c=", "=d", "e", "f = 1"], "a=2; b=x=y; c=; f=1"),
            (
                &["a=3; max-age=0", "b=4; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT"],
                "b=4; c=; f=1",
            ),
            (
                &[
                    "c=5; expires=Thu, 01 Jan 1970 00:00:00 GMT",
                    "f=6; Max-Age=-1",
                    "g=7; Max-Age=0",
                ],
                "b=4",
            ),
            (&["b=5; Expires=Fri, 31 Dec 9999 23:59:59 GMT; Max-Age=soon"], "b=5"),
        ] {
            jar.set(&answer(lines), SystemTime::now);
            assert_eq!(std::str::from_utf8(jar.header()).unwrap(), header, "{lines:?}");
        }
        jar.clear();
        assert!(jar.header().is_empty());
    }

    #[test]
    fn a_cookie_that_has_expired_is_not_sent() {
        let begin = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let at = |seconds| move || begin + Duration::from_secs(seconds);
        let mut jar = Jar::default();
        let lines = [
            "a=1; Max-Age=1",
            "b=2; Expires=Sun, 09 Sep 2001 01:46:45 GMT",
            "c=3; Max-Age=9; Expires=Sun, 09 Sep 2001 01:46:41 GMT",
            "d=4; Max-Age=9223372036854775807",
            "e=5",
        ];
        jar.set(&answer(&lines), at(0));
        for (seconds, header) in [
            (0, "a=1; b=2; c=3; d=4; e=5"),
            (1, "b=2; c=3; d=4; e=5"),
            (4, "b=2; c=3; d=4; e=5"),
            (5, "c=3; d=4; e=5"),
            (9, "d=4; e=5"),
        ] {
            jar.send(at(seconds));
            assert_eq!(std::str::from_utf8(jar.header()).unwrap(), header, "{seconds}");
        }
        jar.set(&answer(&["a=1; Max-Age=1"]), at(9));
        jar.set(&answer(&["a=2"]), at(9));
        jar.send(at(99));
        assert_eq!(jar.header(), b"d=4; e=5; a=2");
    }

    #[test]
    fn expiry_dates_are_read_in_all_forms_of_servers() {
        for (text, seconds) in [
            ("Sun, 09 Sep 2001 01:46:40 GMT", Some(1_000_000_000)),
            ("Sun, 09-Sep-2001 01:46:40 GMT", Some(1_000_000_000)),
            ("Sunday, 09-Sep-01 01:46:40 GMT", Some(1_000_000_000)),
            ("Sun Sep  9 01:46:40 2001", Some(1_000_000_000)),
            ("2001 september 9 1:46:40 +0000", Some(1_000_000_000)),
            ("Mon, 09 Sep 2001 01:46:40 GMT", Some(1_000_000_000)),
            ("Thu, 01-Jan-1970 00:00:01 GMT", Some(1)),
            ("Thu, 01-Jan-70 00:00:00 GMT", Some(0)),
            ("Mon, 01-Jan-1900 00:00:00 GMT", Some(0)),
            ("Fri, 31-Dec-9999 23:59:59 GMT", Some(253_402_300_799)),
            ("Mon, 01 Jan 0001 00:00:00 GMT", Some(978_307_200)),
            ("Sat, 01 Jan 1600 00:00:00 GMT", None),
            ("Sun, 31 Feb 2001 01:46:40 GMT", None),
            ("Sun, 09 Sep 2001 24:46:40 GMT", None),
            ("Sun, 09 Sep 2001", None),
            ("09 Sep 2001 01:46", None),
            ("01:46:40", None),
            ("-1", None),
            ("", None),
        ] {
            let expected = seconds.map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds));
            assert_eq!(date(text), expected, "{text}");
        }
        let mut jar = Jar::default();
        let lines = ["a=1", "b=2", "a=; expires=Tue, 12-Oct-1999 05:00:00 GMT"];
        jar.set(&answer(&lines), SystemTime::now);
        assert_eq!(jar.header(), b"b=2");
    }

    #[test]
    fn the_number_and_the_length_of_cookies_are_limited() {
        let mut jar = Jar::default();
        let now = SystemTime::now;
        (0..150).for_each(|number| jar.set(&answer(&[&format!("a{number}={number}")]), now));
        assert!(jar.cookies.len() == MOST && jar.header().starts_with(b"a50=50; a51"));
        jar.set(&answer(&["expired=1; Max-Age=0"]), now);
        assert!(jar.cookies.len() == MOST && jar.header().starts_with(b"a50=50; a51"));
        let before = jar.header().len();
        jar.set(&answer(&[&format!("long={}", "x".repeat(LONGEST))]), now);
        assert_eq!(jar.header().len(), before);
    }
}
