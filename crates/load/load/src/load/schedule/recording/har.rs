//! HAR 1.2: the requests that a browser or a proxy saw.

use super::request::{RecordedBody, RecordedRequest, of_base64};
use super::time::{self, Format};
use hyper::body::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Har {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    started_date_time: String,
    request: Request,
    /// Browsers note here that nothing was sent.
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
    /// Below zero if it is not known.
    #[serde(default)]
    body_size: i64,
}

#[derive(Deserialize)]
struct Field {
    name: String,
    value: String,
}

#[derive(Deserialize)]
struct PostData {
    text: Option<String>,
    encoding: Option<String>,
}

/// Headers of a connection and of its framing: the client writes its own. Names of HTTP/2 with a colon are left out,
/// too.
const OF_A_CONNECTION: [&str; 9] = [
    "connection",
    "content-length",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// A request, when it was sent, and the number of its entry in the file.
pub(super) struct Sent {
    pub(super) ns: u128,
    pub(super) number: usize,
    pub(super) request: RecordedRequest,
}

/// Why an entry is left out.
const CACHED: &str = "from the browser's cache";
const OTHER_SCHEME: &str = "not http or https";
const WITHOUT_BODY: &str = "without the text of their bodies";

/// Reads a HAR file: its requests in the order of their times, and one line that says what is left out. Without `hosts`,
/// requests to other hosts than the first one's are left out.
///
/// # Errors
/// The file is no HAR, or has an entry whose time or body cannot be read.
pub(super) fn read(bytes: &[u8], hosts: Option<&[String]>) -> Result<(Vec<Sent>, String), String> {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let har: Har = serde_json::from_slice(bytes).map_err(|error| format!("is no HAR: {error}"))?;
    let mut entries = Vec::new();
    for (number, entry) in (1..).zip(har.log.entries) {
        match time::read(&entry.started_date_time, None) {
            Ok((Format::Date, ns)) => entries.push((ns, number, entry)),
            _ => return Err(format!("entry {number}: {:?} is no date", entry.started_date_time)),
        }
    }
    entries.sort_by_key(|(ns, ..)| *ns);
    let first = entries.iter().find_map(|(.., entry)| authority(&entry.request.url));
    let first = [first.unwrap_or_default()];
    let hosts = hosts.unwrap_or(&first);
    let other_host = format!("to other hosts than {} (hosts=all sends them)", hosts.join(", "));
    let (all, mut left_out, mut sent) = (entries.len(), BTreeMap::new(), Vec::new());
    for (ns, number, entry) in entries {
        if let Some(why) = why_left_out(&entry, hosts, &other_host) {
            *left_out.entry(why).or_insert(0) += 1;
            continue;
        }
        let request = entry.request.recorded();
        let request = request.map_err(|told| format!("entry {number}: {told}"))?;
        sent.push(Sent { ns, number, request });
    }
    let left_out = left_out.iter().map(|(why, count)| format!("{count} {why}, "));
    let line = format!(
        "left out of {all} requests: {}and of headers those of a connection (Host, Content-Length and others)",
        left_out.collect::<String>()
    );
    Ok((sent, line))
}

/// The host of a URL of http or https and its port, in small letters.
fn authority(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
    ["http", "https"].contains(&&*scheme.to_ascii_lowercase()).then_some(host)
}

fn why_left_out<'a>(entry: &Entry, hosts: &[String], other_host: &'a str) -> Option<&'a str> {
    let Entry { request: Request { url, post_data, body_size, .. }, from_cache, .. } = entry;
    let Some(authority) = authority(url) else { return Some(OTHER_SCHEME) };
    let host = authority.rsplit_once(':').map_or(&*authority, |(host, _)| host);
    let is_wanted = |wanted: &String| [&authority, host, "all"].contains(&&**wanted);
    let has_body = post_data.is_some() || *body_size > 0;
    let has_text = post_data.as_ref().is_some_and(|body| body.text.is_some());
    match () {
        () if !hosts.iter().any(is_wanted) => Some(other_host),
        () if from_cache.is_some() => Some(CACHED),
        () if has_body && !has_text => Some(WITHOUT_BODY),
        () => None,
    }
}

impl Request {
    fn recorded(self) -> Result<RecordedRequest, String> {
        let is_kept = |name: &str| {
            let name = name.to_ascii_lowercase();
            !name.starts_with(':') && !OF_A_CONNECTION.contains(&&*name)
        };
        let headers = self.headers.into_iter().filter(|field| is_kept(&field.name));
        let body = self.post_data.map_or(Ok(Bytes::new()), |body| match body.encoding.as_deref() {
            Some("base64") => of_base64(&body.text.unwrap_or_default()),
            _ => Ok(body.text.unwrap_or_default().into()),
        });
        Ok(RecordedRequest {
            method: Some(self.method),
            // Nothing in it is filled in.
            url: Some(self.url.replace('{', "%7B")),
            headers: headers.map(|Field { name, value }| (name, value)).collect(),
            body: RecordedBody::Bytes(body?),
        })
    }
}
