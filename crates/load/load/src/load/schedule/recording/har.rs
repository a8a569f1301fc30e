//! Reads HAR 1.2 files, which browsers and proxies write.
//!
//! Users do not write these files themselves, so an entry that cannot be sent is left out and counted.

mod body;
mod fields;
mod left_out;

use super::request::{RecordedBody, RecordedRequest};
use super::time::{self, Format};
use crate::net::url;
use body::PostData;
use fields::Field;
use left_out::LeftOut;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Har<'a> {
    #[serde(borrow)]
    log: Log<'a>,
}

#[derive(Deserialize)]
struct Log<'a> {
    #[serde(borrow)]
    entries: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    started_date_time: String,
    request: Request,
    /// Chromium sets this field if it sent no request because the response was in its cache.
    #[serde(rename = "_fromCache")]
    from_cache: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<Field>,
    post_data: Option<PostData>,
    body_size: Option<i64>,
}

pub(super) struct Sent {
    pub(super) ns: u128,
    pub(super) number: usize,
    pub(super) request: RecordedRequest,
}

struct Timed {
    ns: u128,
    number: usize,
    authority: String,
    entry: Entry,
}

/// The latest valid time, in nanoseconds since 1970. It is in the year 2262.
const LATEST: u128 = (1 << 63) - 2;

const CACHED: &str = "from the browser's cache";
const OTHER_SCHEME: &str = "not http or https";
const WITHOUT_BODY: &str = "without the text of their bodies";

/// Reads the requests of a HAR file. Without `hosts`, keeps only the requests to the host of the earliest request.
pub(super) fn read(
    bytes: &[u8],
    hosts: Option<&[String]>,
) -> Result<(Vec<Sent>, Option<String>), String> {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let har: Har<'_> =
        serde_json::from_slice(bytes).map_err(|error| format!("is not a HAR file: {error}"))?;
    let (all, mut left_out) = (har.log.entries.len(), LeftOut::default());
    let entries = timed(&har.log.entries, &mut left_out);
    let first = entries.first().map(|entry| entry.authority.clone());
    let first = [first.unwrap_or_default()];
    let hosts = hosts.unwrap_or(&first);
    let other_host = format!("to other hosts than {} (hosts=all sends them)", hosts.join(", "));
    let mut sent = Vec::new();
    for Timed { ns, number, authority, entry: Entry { request, from_cache, .. } } in entries {
        if !is_wanted(&authority, hosts) {
            left_out.add_request(&other_host);
        } else if from_cache.is_some() {
            left_out.add_request(CACHED);
        } else {
            match request.recorded(&mut left_out) {
                Ok(Some(request)) => sent.push(Sent { ns, number, request }),
                Ok(None) => left_out.add_request(WITHOUT_BODY),
                Err(told) => left_out.add_unsendable(number, &told),
            }
        }
    }
    Ok((sent, left_out.line(all)))
}

fn timed(entries: &[&RawValue], left_out: &mut LeftOut) -> Vec<Timed> {
    let mut read = Vec::new();
    for (number, text) in (1..).zip(entries) {
        match Timed::read(number, text.get()) {
            Ok(Some(entry)) => read.push(entry),
            Ok(None) => left_out.add_request(OTHER_SCHEME),
            Err(told) => left_out.add_unsendable(number, &told),
        }
    }
    read.sort_by_key(|entry| entry.ns);
    read
}

fn is_wanted(authority: &str, hosts: &[String]) -> bool {
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    hosts.iter().any(|wanted| [authority, host, "all"].contains(&&**wanted))
}

fn authority(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
    ["http", "https"].contains(&&*scheme.to_ascii_lowercase()).then_some(host)
}

impl Timed {
    fn read(number: usize, text: &str) -> Result<Option<Timed>, String> {
        let mut entry: Entry = serde_json::from_str(text).map_err(|error| {
            let told = error.to_string();
            told.rsplit_once(" at line ").map_or(&*told, |(told, _)| told).to_owned()
        })?;
        let ns = match time::read(&entry.started_date_time, None) {
            Ok((Format::Date { .. }, ns)) if ns <= LATEST => ns,
            _ => return Err(format!("{:?} is not a date", entry.started_date_time)),
        };
        let Some(authority) = authority(&entry.request.url) else { return Ok(None) };
        // A brace in a recorded URL does not begin a placeholder, so it is percent-encoded.
        entry.request.url = entry.request.url.replace('{', "%7B");
        let (server, path) = url::server_and_path(&entry.request.url);
        url::read(&format!("{server}{}", url::encoded(path)))?;
        Ok(Some(Timed { ns, number, authority, entry }))
    }
}

impl Request {
    fn recorded(self, left_out: &mut LeftOut) -> Result<Option<RecordedRequest>, String> {
        let method = self.method.to_ascii_uppercase();
        let has_letters = !method.is_empty() && method.bytes().all(|it| it.is_ascii_uppercase());
        if !has_letters || method == "CONNECT" {
            return Err(format!("{:?} is not a method", self.method));
        }
        let body = body::of(self.post_data.as_ref(), self.body_size, &self.headers)?;
        Ok(body.map(|body| RecordedRequest {
            method: Some(method),
            url: Some(self.url),
            headers: fields::sendable(self.headers, left_out),
            body: RecordedBody::Bytes(body),
        }))
    }
}
