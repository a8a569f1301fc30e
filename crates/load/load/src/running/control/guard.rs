//! Decides which requests to the control server are allowed.
//!
//! A web page in a browser must not control a run, but it can send requests to the loopback interface. Two headers
//! reveal such requests: a page cannot remove Origin from a request that changes anything, and Host contains the page's
//! host name even if that name resolves to the loopback address.

use super::responses::Refused;
use anyhow::ensure;
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderValue, ORIGIN, WWW_AUTHENTICATE};
use hyper::http::uri::Authority;
use hyper::{StatusCode, Uri};
use std::fmt;
use std::net::IpAddr;
use subtle::ConstantTimeEq;

const LEAST: usize = 16;

#[derive(Clone)]
pub(super) struct Token(String);

impl Token {
    pub(super) fn new(text: &str) -> anyhow::Result<Token> {
        let is_plain = text.chars().all(|letter| letter.is_ascii_graphic());
        ensure!(
            text.len() >= LEAST,
            "the first line must contain a token of at least {LEAST} characters"
        );
        ensure!(is_plain, "a token must consist of printable ASCII characters without spaces");
        Ok(Token(text.to_owned()))
    }

    /// Compares strings of equal length in constant time.
    fn is(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[derive(Debug)]
pub(super) struct Guard {
    pub(super) token: Option<Token>,
}

impl Guard {
    pub(super) fn admit(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refused> {
        if headers.contains_key(ORIGIN) {
            return Err(forbidden("web pages are rejected: the request has the header Origin"));
        }
        match &self.token {
            Some(token) if bearer(headers).is_some_and(|given| token.is(given)) => Ok(()),
            Some(_) => Err(Refused::new(
                StatusCode::UNAUTHORIZED,
                "send the header Authorization: Bearer TOKEN",
            )
            .with(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
            None if names_loopback(uri, headers) => Ok(()),
            None => Err(forbidden(
                "the header Host must name this machine's loopback, as in 127.0.0.1 or localhost",
            )),
        }
    }
}

fn forbidden(reason: &str) -> Refused {
    Refused::new(StatusCode::FORBIDDEN, reason)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("Bearer").then_some(token.trim())
}

fn names_loopback(uri: &Uri, headers: &HeaderMap) -> bool {
    let parse = |value: &HeaderValue| value.to_str().ok()?.parse::<Authority>().ok();
    let hosts: Vec<_> = headers.get_all(HOST).iter().map(parse).collect();
    let is_loopback = |host: Option<&Authority>| host.is_some_and(|at| is_loopback(at.host()));
    !hosts.is_empty()
        && hosts.iter().all(|host| is_loopback(host.as_ref()))
        && (uri.authority().is_none() || is_loopback(uri.authority()))
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let name = bare.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || bare.parse().is_ok_and(|ip: IpAddr| ip.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(guard: &Guard, uri: &str, headers: &[(&str, &str)]) -> Option<StatusCode> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: hyper::header::HeaderName = name.parse().unwrap();
            map.append(name, HeaderValue::from_str(value).unwrap());
        }
        guard.admit(&uri.parse().unwrap(), &map).err().map(|refused| refused.status())
    }

    #[test]
    fn without_a_token_the_host_is_the_loopback() {
        let guard = Guard { token: None };
        for host in [
            "127.0.0.1:9100",
            "127.1.2.3",
            "[::1]:80",
            "[::ffff:127.0.0.1]",
            "localhost",
            "LOCALHOST.:80",
            "run.localhost",
        ] {
            assert_eq!(admitted(&guard, "/stop", &[("host", host)]), None, "{host}");
        }
        let refused = Some(StatusCode::FORBIDDEN);
        for host in [
            "example.com",
            "localhost.example.com",
            "notlocalhost",
            "10.0.0.1",
            "2130706433",
            "127.0.0.1.example.com:80",
            "",
            "a b",
        ] {
            assert_eq!(admitted(&guard, "/stop", &[("host", host)]), refused, "{host}");
        }
        assert_eq!(admitted(&guard, "/stop", &[]), refused);
        let both = [("host", "localhost"), ("host", "example.com")];
        assert_eq!(admitted(&guard, "/stop", &both), refused);
        assert_eq!(admitted(&guard, "http://example.com/stop", &both[..1]), refused);
        assert_eq!(admitted(&guard, "http://localhost/stop", &both[..1]), None);
        let page = [("host", "localhost"), ("origin", "null")];
        assert_eq!(admitted(&guard, "/status", &page), refused);
    }

    #[test]
    fn with_a_token_it_is_all_that_counts() {
        let guard = Guard { token: Token::new("0123456789abcdef").ok() };
        let bearer = ("authorization", "Bearer 0123456789abcdef");
        let status = |headers: &[_]| admitted(&guard, "/stop", headers);
        assert_eq!(status(&[bearer, ("host", "example.com")]), None);
        assert_eq!(status(&[("authorization", "bearer  0123456789abcdef")]), None);
        assert_eq!(status(&[bearer, ("origin", "null")]), Some(StatusCode::FORBIDDEN));
        for wrong in [
            "Bearer 0123456789abcdeF",
            "Bearer 0123456789abcde",
            "Bearer 0123456789abcdef0",
            "Bearer",
            "Bearer ",
            "Basic 0123456789abcdef",
            "0123456789abcdef",
        ] {
            let refused = Some(StatusCode::UNAUTHORIZED);
            assert_eq!(status(&[("authorization", wrong), ("host", "localhost")]), refused);
        }
    }

    #[test]
    fn a_token_is_long_and_plain_and_never_shown() {
        for wrong in ["", "0123456789abcde", "0123456789abcdef ", "0123456789abcd\u{e9}\u{e9}"] {
            let told = Token::new(wrong).unwrap_err().to_string();
            assert!(wrong.is_empty() || !told.contains(wrong), "{told}");
        }
        let token = Token::new("0123456789abcdef").unwrap();
        assert!(!format!("{token:?}").contains("0123"));
    }
}
