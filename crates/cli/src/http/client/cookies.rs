//! Cookies: what a server sets goes back to it (RFC 6265), whatever domain and path they are for.

use httpdate::parse_http_date;
use hyper::header::{HeaderMap, SET_COOKIE};
use std::time::SystemTime;

/// With more cookies than this, the oldest go.
const MOST: usize = 100;
/// A longer one is not kept, in bytes.
const LONGEST: usize = 4096;

/// The cookies of a server.
#[derive(Debug, Default)]
pub(crate) struct Jar {
    /// Names and values.
    cookies: Vec<(Vec<u8>, Vec<u8>)>,
    header: Vec<u8>,
}

/// A cookie as it is set.
#[derive(Debug, PartialEq, Eq)]
struct Cookie<'a> {
    name: &'a [u8],
    value: &'a [u8],
    is_over: bool,
}

impl Jar {
    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.cookies.clear();
        self.header.clear();
    }

    /// The value of the header `Cookie`; empty without any.
    pub(crate) fn header(&self) -> &[u8] {
        &self.header
    }

    /// Takes what an answer sets.
    pub(crate) fn set(&mut self, headers: &HeaderMap) {
        let set = headers.get_all(SET_COOKIE).iter();
        let set: Vec<_> = set.filter_map(|line| Cookie::read(line.as_bytes())).collect();
        if set.is_empty() {
            return;
        }
        for cookie in &set {
            self.put(cookie);
        }
        self.header.clear();
        for (name, value) in &self.cookies {
            let end = if self.header.is_empty() { &b""[..] } else { b"; " };
            for part in [end, name, b"=", value] {
                self.header.extend_from_slice(part);
            }
        }
    }

    fn put(&mut self, cookie: &Cookie<'_>) {
        let place = self.cookies.iter().position(|(name, _)| name == cookie.name);
        let value = || cookie.value.to_owned();
        match place {
            Some(place) if cookie.is_over => drop(self.cookies.remove(place)),
            Some(place) => self.cookies[place].1 = value(),
            None if cookie.is_over => {}
            None => {
                if self.cookies.len() == MOST {
                    self.cookies.remove(0);
                }
                self.cookies.push((cookie.name.to_owned(), value()));
            }
        }
    }
}

impl Cookie<'_> {
    fn read(line: &[u8]) -> Option<Cookie<'_>> {
        let mut parts = line.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let pair = parts.next().filter(|pair| pair.len() <= LONGEST)?;
        let end = pair.iter().position(|byte| *byte == b'=').filter(|end| *end > 0)?;
        let (name, value) = (pair[..end].trim_ascii(), pair[end + 1..].trim_ascii());
        let (mut max_age, mut expires) = (None, None);
        for (attribute, value) in parts.filter_map(attribute) {
            match attribute.to_ascii_lowercase().as_str() {
                "max-age" => max_age = value.parse().ok().map(|seconds: i64| seconds <= 0),
                "expires" => expires = parse_http_date(value).ok(),
                _ => {}
            }
        }
        let is_past = || expires.is_some_and(|at| at <= SystemTime::now());
        Some(Cookie { name, value, is_over: max_age.unwrap_or_else(is_past) })
    }
}

fn attribute(part: &[u8]) -> Option<(&str, &str)> {
    let (name, value) = std::str::from_utf8(part).ok()?.split_once('=')?;
    Some((name.trim(), value.trim()))
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
    fn what_is_set_is_sent_until_it_is_over() {
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
            jar.set(&answer(lines));
            assert_eq!(std::str::from_utf8(jar.header()).unwrap(), header, "{lines:?}");
        }
        jar.clear();
        assert!(jar.header().is_empty());
    }

    #[test]
    fn there_are_not_too_many_and_none_is_too_long() {
        let mut jar = Jar::default();
        (0..150).for_each(|number| jar.set(&answer(&[&format!("a{number}={number}")])));
        assert!(jar.cookies.len() == MOST && jar.header().starts_with(b"a50=50; a51"));
        let before = jar.header().len();
        jar.set(&answer(&[&format!("long={}", "x".repeat(LONGEST))]));
        assert_eq!(jar.header().len(), before);
    }
}
