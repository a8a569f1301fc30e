//! Reads and checks the URLs that requests are sent to.

use hyper::Uri;
use percent_encoding::{AsciiSet, CONTROLS, PercentEncode, utf8_percent_encode};
use std::borrow::Cow;
use std::fmt::Display;

pub(crate) type Told<T> = Result<T, String>;

const MOST_SHOWN: usize = 200;

const URL: &str = "write for example http://127.0.0.1:8080/";

/// ASCII characters that are invalid in a URL (RFC 3986). All characters outside ASCII are invalid too.
const INVALID: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

pub(crate) fn encoded(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, INVALID)
}

pub(crate) fn server_and_path(url: &str) -> (&str, &str) {
    let server = url.find("://").map_or(0, |scheme| scheme + 3);
    let path = url[server..].find(['/', '?']).map_or(url.len(), |path| server + path);
    url.split_at(path)
}

/// Parses and checks a URL. The host of a URL such as `http://:8080/` is localhost.
pub(crate) fn read(address: &str) -> Told<Uri> {
    let wrong = |why: &dyn Display| format!("{} {why}; {URL}", shown(address));
    let parsed = with_path(&with_host(address)).parse();
    let url: Uri = parsed.map_err(|error| wrong(&format!("is not a URL ({error})")))?;
    match (url.scheme_str(), url.host()) {
        (Some("http" | "https"), Some(host)) if !host.is_empty() => {}
        _ => return Err(wrong(&"is not a URL with http:// or https:// and a host")),
    }
    if has_port(&url) && url.port_u16().is_none() {
        return Err(wrong(&"has no port from 0 to 65535 after its host"));
    }
    Ok(url)
}

fn with_host(address: &str) -> Cow<'_, str> {
    let begin = address.find("://").map_or(0, |scheme| scheme + 3);
    let authority = address[begin..].split(['/', '?', '#']).next().unwrap_or_default();
    let host = begin + authority.rfind('@').map_or(0, |user| user + 1);
    if begin > 0 && address[host..].starts_with(':') {
        return Cow::Owned(format!("{}localhost{}", &address[..host], &address[host..]));
    }
    Cow::Borrowed(address)
}

/// Inserts the path `/` if the URL has a query but no path, because hyper needs a path.
fn with_path(address: &str) -> Cow<'_, str> {
    let host = address.find("://").map_or(0, |scheme| scheme + 3);
    match address[host..].find(['/', '?']).map(|place| host + place) {
        Some(query) if address[query..].starts_with('?') => {
            Cow::Owned(format!("{}/{}", &address[..query], &address[query..]))
        }
        _ => Cow::Borrowed(address),
    }
}

fn shown(address: &str) -> String {
    match address.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{:?}...", &address[..end]),
        None => format!("{address:?}"),
    }
}

/// Returns whether the URL contains a port. hyper drops an invalid port without an error, so the text of the URL is
/// compared with the host.
fn has_port(url: &Uri) -> bool {
    let authority = url.authority().map_or("", |authority| authority.as_str());
    let place = authority.rsplit('@').next().unwrap_or_default();
    place.len() > url.host().map_or(0, str::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_without_a_host_means_localhost() {
        for (address, url) in [
            ("http://:8080/", "http://localhost:8080/"),
            ("https://:8443?a=://:1", "https://localhost:8443/?a=://:1"),
            ("http://user@:8080/", "http://user@localhost:8080/"),
            ("http://:pass@h:80/", "http://:pass@h:80/"),
            ("http://h/?u=http://:8080/", "http://h/?u=http://:8080/"),
            ("http://[::1]:80/", "http://[::1]:80/"),
        ] {
            assert_eq!(read(address).map(|url| url.to_string()).as_deref(), Ok(url), "{address}");
        }
        for address in [":8080/", "http:///a", "http://:/", "http://:x/", "ftp://:80/"] {
            assert!(read(address).is_err(), "{address}");
        }
    }
}
