//! The requests of a run in one buffer. One of a million takes its text and 16 bytes; it is made when it
//! is its turn.

use super::targets::TargetSpec;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::http::uri::{Authority, InvalidUri, PathAndQuery};
use hyper::{Method, Request, Uri, Version};
use std::collections::HashMap;

/// What was checked when it was added is not wrong later.
const CHECKED: &str = "it was read before";

/// What all requests to a server have in common.
#[derive(Debug)]
pub(crate) struct Common {
    /// A URL of the server, where requests have the whole URL.
    pub(crate) whole: Option<Uri>,
    pub(crate) version: Version,
    /// Headers that are sent unless others are given.
    pub(crate) usual: HeaderMap,
    /// Headers that are given for all requests.
    pub(crate) given: HeaderMap,
}

/// Requests, in order.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// Of each, a line with its method, one with its path, and two for each header: name and value.
    heads: Vec<u8>,
    entries: Vec<Entry>,
    /// Those that differ. The first one is empty.
    bodies: Vec<Bytes>,
    /// Which body is at an address.
    known: HashMap<usize, u32>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Where its head ends.
    end: usize,
    body: u32,
    server: u16,
    label: u8,
}

impl Requests {
    /// Adds a request to a server, with the number of its label.
    pub(crate) fn add(
        &mut self,
        target: &TargetSpec,
        server: usize,
        label: u8,
    ) -> Result<(), String> {
        let path = target.url.path_and_query().map_or("/", PathAndQuery::as_str);
        let headers = target.headers.iter();
        let headers =
            headers.flat_map(|(name, value)| [name.as_str().as_bytes(), value.as_bytes()]);
        for line in [target.method.as_str().as_bytes(), path.as_bytes()].into_iter().chain(headers)
        {
            self.heads.extend_from_slice(line);
            self.heads.push(b'\n');
        }
        let server = u16::try_from(server).map_err(|_| "there are too many servers")?;
        let body = self.body(&target.body)?;
        self.entries.push(Entry { end: self.heads.len(), body, server, label });
        Ok(())
    }

    fn body(&mut self, body: &Bytes) -> Result<u32, String> {
        if self.bodies.is_empty() {
            self.bodies.push(Bytes::new());
        }
        if body.is_empty() {
            return Ok(0);
        }
        let next = u32::try_from(self.bodies.len()).map_err(|_| "there are too many bodies")?;
        let index = *self.known.entry(body.as_ptr().addr()).or_insert(next);
        if index == next {
            self.bodies.push(body.clone());
        }
        Ok(index)
    }

    /// The same in as little memory as possible; nothing is added any more.
    pub(crate) fn complete(mut self) -> Requests {
        self.heads.shrink_to_fit();
        self.entries.shrink_to_fit();
        self.bodies.shrink_to_fit();
        self.known = HashMap::new();
        self
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.entries.len()
    }

    /// The server of a request.
    pub(crate) fn server(&self, index: usize) -> usize {
        usize::from(self.entries[index].server)
    }

    /// The number of a request's label.
    pub(crate) fn label(&self, index: usize) -> u8 {
        self.entries[index].label
    }

    /// A request, to be sent once.
    pub(crate) fn get(&self, index: usize, common: &Common) -> Request<Full<Bytes>> {
        let entry = self.entries[index];
        let begin = index.checked_sub(1).map_or(0, |before| self.entries[before].end);
        // What is behind the last line is no line.
        let mut lines = self.heads[begin..entry.end - 1].split(|byte| *byte == b'\n');
        let mut line = || lines.next().expect(CHECKED);
        let method = Method::from_bytes(line()).expect(CHECKED);
        let path = PathAndQuery::try_from(line()).expect(CHECKED);
        let body = self.bodies[entry.body as usize].clone();
        let mut headers = common.headers(own_headers(lines));
        // Otherwise only a body has a length, and some servers insist on it.
        if body.is_empty() && [Method::POST, Method::PUT, Method::PATCH].contains(&method) {
            headers.entry(CONTENT_LENGTH).or_insert(HeaderValue::from_static("0"));
        }
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = common.uri(path, &mut headers);
        *request.version_mut() = common.version;
        *request.headers_mut() = headers;
        request
    }
}

fn own_headers<'a>(mut lines: impl Iterator<Item = &'a [u8]>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    while let Some((name, value)) = lines.next().zip(lines.next()) {
        let name = HeaderName::from_bytes(name).expect(CHECKED);
        headers.append(name, HeaderValue::from_bytes(value).expect(CHECKED));
    }
    headers
}

impl Common {
    /// Where the whole URL is sent, it has the host that is given, and there is no header Host beside it.
    fn uri(&self, path: PathAndQuery, headers: &mut HeaderMap) -> Uri {
        let Some(whole) = &self.whole else { return Uri::from(path) };
        let mut parts = whole.clone().into_parts();
        parts.path_and_query = Some(path);
        if let Some(host) = headers.get_all(HOST).iter().next_back() {
            parts.authority = Some(authority(host).expect(CHECKED));
            headers.remove(HOST);
        }
        Uri::from_parts(parts).expect(CHECKED)
    }

    /// What is given, for all or for one, takes the place of what would be sent otherwise.
    fn headers(&self, own: HeaderMap) -> HeaderMap {
        let mut given = self.given.clone();
        let mut name = None;
        for (next, value) in own {
            name = next.or(name);
            given.append(name.clone().expect(CHECKED), value);
        }
        let mut headers = self.usual.clone();
        headers.extend(given);
        headers
    }
}

/// The host that a header Host names.
pub(crate) fn authority(host: &HeaderValue) -> Result<Authority, InvalidUri> {
    Authority::try_from(host.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::USER_AGENT;

    fn target(url: &str, headers: &[(&'static str, &'static str)], body: &Bytes) -> TargetSpec {
        let header = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        TargetSpec {
            method: Method::PUT,
            url: url.parse().unwrap(),
            headers: headers.iter().map(header).collect(),
            body: body.clone(),
        }
    }

    fn common(is_whole: bool) -> Common {
        let pair = |name, value| (name, HeaderValue::from_static(value));
        Common {
            whole: is_whole.then(|| "https://h:1/first".parse().unwrap()),
            version: Version::HTTP_11,
            usual: [pair(USER_AGENT, "us")]
                .into_iter()
                .chain((!is_whole).then(|| pair(HOST, "h:1")))
                .collect(),
            given: [pair(HeaderName::from_static("x"), "for all")].into_iter().collect(),
        }
    }

    #[test]
    fn a_request_is_sent_as_it_was_read() {
        let mut requests = Requests::default();
        let body = Bytes::from_static(b"body");
        requests.add(&target("https://h:1/a?b=c", &[], &Bytes::new()), 0, 0).unwrap();
        let own = [("x", "1"), ("host", "other"), ("x", ""), ("y", "a: b")];
        requests.add(&target("https://h:1", &own, &body), 1, 3).unwrap();
        let requests = requests.complete();
        assert_eq!((requests.count(), requests.server(0), requests.server(1)), (2, 0, 1));
        assert_eq!([0, 1].map(|index| requests.label(index)), [0, 3]);
        for (is_whole, first, second) in
            [(false, "/a?b=c", "/"), (true, "https://h:1/a?b=c", "https://other/")]
        {
            let common = common(is_whole);
            let [one, two] = [0, 1].map(|index| requests.get(index, &common));
            assert_eq!((one.method(), two.method()), (&Method::PUT, &Method::PUT));
            assert_eq!([one.uri(), two.uri()].map(ToString::to_string), [first, second]);
            let all = |request: &Request<Full<Bytes>>, name| -> Vec<String> {
                let values = request.headers().get_all(name).iter();
                values.map(|value| value.to_str().unwrap().to_owned()).collect()
            };
            assert_eq!(
                (all(&one, "x"), all(&two, "user-agent")),
                (["for all".into()].into(), ["us".into()].into())
            );
            // The whole URL has the host already.
            let host = |name: &str| if is_whole { vec![] } else { vec![name.to_owned()] };
            assert_eq!((all(&one, "host"), all(&two, "host")), (host("h:1"), host("other")));
            assert_eq!(
                (all(&two, "x"), all(&two, "y")),
                (vec!["for all".into(), "1".into(), String::new()], vec!["a: b".into()])
            );
        }
    }

    /// A run with a million targets took 1.2 kB for each.
    #[test]
    fn a_request_takes_its_text_and_16_bytes() {
        const COUNT: usize = 10_000;
        let mut requests = Requests::default();
        let body = Bytes::from(vec![b'x'; 100_000]);
        let one = target("http://127.0.0.1:8080/items/12345", &[("x-request", "12345")], &body);
        (0..COUNT).for_each(|_| requests.add(&one, 0, 0).unwrap());
        let requests = requests.complete();
        assert!(size_of::<Entry>() <= 16 && requests.bodies.len() == 2);
        let text = "PUT\n/items/12345\nx-request\n12345\n".len();
        assert_eq!((requests.heads.len(), requests.count()), (COUNT * text, COUNT));
        // An allocator may give a little more than it is asked for.
        assert!(requests.heads.capacity() <= COUNT * text * 11 / 10);
        assert!(requests.entries.capacity() <= COUNT * 11 / 10 && requests.known.capacity() == 0);
    }
}
