//! Stores all requests of a run. A request without placeholders needs 16 bytes in addition to its text.

use super::body::Content;
use super::request_parts::RequestParts;
use super::targets::TargetSpec;
use super::templates::Templates;
use hyper::body::Bytes;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::http::uri::{Authority, InvalidUri, PathAndQuery};
use hyper::{Method, Uri};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) url: Uri,
    /// Whether requests go to a proxy that requires the complete URL in the request line.
    pub(crate) is_to_proxy: bool,
    /// The default headers. Each of them is sent unless the request sets a header of the same name.
    pub(crate) usual: HeaderMap,
    pub(crate) given: HeaderMap,
}

#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// The heads of all requests, as lines: the method, the path, and for each header its name and its value.
    heads: Vec<u8>,
    entries: Vec<Entry>,
    /// The distinct bodies. The first one is the empty body.
    bodies: Vec<Content>,
    /// The index of each body in `bodies`, by its address ([`Content::address`]).
    known: HashMap<usize, u32>,
    templates: Vec<Templates>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    end: usize,
    /// The index of the body in `bodies`. For a request with placeholders, the index in `templates`.
    body: u32,
    server: u16,
    label: u8,
    is_filled: bool,
}

impl Requests {
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
        self.push([target.method.as_str().as_bytes(), path.as_bytes()].into_iter().chain(headers));
        let body = self.body(&target.body)?;
        self.end(body, server, label, false)
    }

    pub(crate) fn add_filled(
        &mut self,
        method: &Method,
        templates: Templates,
        server: usize,
        label: u8,
    ) -> Result<(), String> {
        self.push([method.as_str().as_bytes(), b""].into_iter());
        let index =
            u32::try_from(self.templates.len()).map_err(|_| "there are too many requests")?;
        self.templates.push(templates);
        self.end(index, server, label, true)
    }

    fn push<'a>(&mut self, lines: impl Iterator<Item = &'a [u8]>) {
        for line in lines {
            self.heads.extend_from_slice(line);
            self.heads.push(b'\n');
        }
    }

    fn end(&mut self, body: u32, server: usize, label: u8, is_filled: bool) -> Result<(), String> {
        let server = u16::try_from(server).map_err(|_| "there are too many servers")?;
        self.entries.push(Entry { end: self.heads.len(), body, server, label, is_filled });
        Ok(())
    }

    fn body(&mut self, body: &Content) -> Result<u32, String> {
        if self.bodies.is_empty() {
            self.bodies.push(Bytes::new().into());
        }
        if body.len() == 0 {
            return Ok(0);
        }
        let next = u32::try_from(self.bodies.len()).map_err(|_| "there are too many bodies")?;
        let index = *self.known.entry(body.address()).or_insert(next);
        if index == next {
            self.bodies.push(body.clone());
        }
        Ok(index)
    }

    pub(crate) fn complete(mut self) -> Requests {
        self.heads.shrink_to_fit();
        self.entries.shrink_to_fit();
        self.bodies.shrink_to_fit();
        self.known = HashMap::new();
        self
    }

    pub(crate) fn count(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn files(&self) -> usize {
        let as_they_are = self.bodies.iter().filter_map(Content::file);
        let of_filled = self.templates.iter().filter_map(Templates::file);
        as_they_are.chain(of_filled).map(Arc::as_ptr).collect::<HashSet<_>>().len()
    }

    pub(crate) fn server(&self, index: usize) -> usize {
        usize::from(self.entries[index].server)
    }

    pub(crate) fn label(&self, index: usize) -> u8 {
        self.entries[index].label
    }

    pub(crate) fn templates(&self, index: usize) -> Option<&Templates> {
        let entry = self.entries[index];
        entry.is_filled.then(|| &self.templates[entry.body as usize])
    }

    pub(crate) fn body_of(&self, index: usize) -> &Content {
        &self.bodies[self.entries[index].body as usize]
    }

    /// Returns the parts of a request. If the request contains placeholders, only its method is set.
    pub(crate) fn get(&self, index: usize) -> RequestParts<'_> {
        let entry = self.entries[index];
        let begin = index.checked_sub(1).map_or(0, |before| self.entries[before].end);
        let mut lines = self.heads[begin..entry.end].splitn(3, |byte| *byte == b'\n');
        let mut line = || lines.next().expect("each request was added with all its lines");
        let (method, path, headers) = (line(), line(), line());
        let parts = RequestParts { method, path, headers, body: [b""; 3], file: None, cookie: b"" };
        if entry.is_filled { parts } else { parts.with(self.body_of(index)) }
    }
}

pub(crate) fn authority(host: &HeaderValue) -> Result<Authority, InvalidUri> {
    Authority::try_from(host.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderName;

    fn target(url: &str, headers: &[(&'static str, &'static str)], body: &Bytes) -> TargetSpec {
        let header = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        TargetSpec {
            method: Method::PUT,
            url: url.parse().unwrap(),
            headers: headers.iter().map(header).collect(),
            body: body.clone().into(),
            form: Vec::new(),
            weight: 1,
        }
    }

    #[test]
    fn a_stored_request_equals_its_target() {
        let mut requests = Requests::default();
        let body = Bytes::from_static(b"body");
        requests.add(&target("https://h:1/a?b=c", &[], &Bytes::new()), 0, 0).unwrap();
        let own = [("x", "1"), ("host", "other"), ("x", ""), ("y", "a: b")];
        requests.add(&target("https://h:1", &own, &body), 1, 3).unwrap();
        let requests = requests.complete();
        assert_eq!((requests.count(), requests.server(0), requests.server(1)), (2, 0, 1));
        assert_eq!([0, 1].map(|index| requests.label(index)), [0, 3]);
        let [one, two] = [0, 1].map(|index| requests.get(index));
        assert_eq!((one.method, one.path, two.path), (&b"PUT"[..], &b"/a?b=c"[..], &b"/"[..]));
        assert_eq!((one.headers().count(), one.body_length(), two.body[0]), (0, 0, &body[..]));
        let headers: Vec<_> = two.headers().collect();
        assert_eq!(headers, own.map(|(name, value)| (name.as_bytes(), value.as_bytes())));
    }

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
        // An allocator may return slightly more memory than was requested, so the limits are 10 % higher.
        assert!(requests.heads.capacity() <= COUNT * text * 11 / 10);
        assert!(requests.entries.capacity() <= COUNT * 11 / 10 && requests.known.capacity() == 0);
    }
}
