//! Requests with places that are filled for each slot, and the memory for one that is.

use super::parts::Parts;
use super::targets::TargetSpec;
use crate::http::data::Data;
use crate::http::template::values::{Values, fits_header, fits_url};
use crate::http::template::{Place, Template, is_one};
use anyhow::{Context, ensure};
use hyper::Uri;
use hyper::body::Bytes;
use hyper::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue, TRANSFER_ENCODING};
use hyper::http::uri::PathAndQuery;
use std::collections::HashSet;

/// Headers that say how the request itself is sent.
const OURS: [HeaderName; 3] = [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING];

/// A request, taken apart.
#[derive(Debug)]
pub(crate) struct Templates {
    path: Template,
    headers: Vec<(HeaderName, Template)>,
    body: Body,
}

#[derive(Debug)]
enum Body {
    AsItIs(Bytes),
    Filled(Template),
}

/// Memory for a request that is filled.
#[derive(Debug, Default)]
pub(crate) struct Filled {
    path: Vec<u8>,
    headers: Vec<u8>,
    body: Vec<u8>,
}

/// Whether anything in a request is filled.
pub(crate) fn is_filled(target: &TargetSpec) -> bool {
    let headers = target.headers.iter().any(|(_, value)| is_one(value.as_bytes()));
    headers || is_one(path(&target.url).as_bytes()) || is_one(&target.body)
}

fn path(url: &Uri) -> &str {
    url.path_and_query().map_or("/", PathAndQuery::as_str)
}

/// Takes requests apart, for data that is there.
#[derive(Debug, Default)]
pub(crate) struct Compiler {
    pub(crate) data: Option<Data>,
    /// Columns that were looked at, and whether for a header.
    checked: HashSet<(usize, bool)>,
}

impl Compiler {
    /// Of requests with the rows of this data.
    pub(crate) fn new(data: Option<Data>) -> Compiler {
        Compiler { data, checked: HashSet::new() }
    }

    /// Takes a request apart, and sees whether all rows fit. HTTP/2 has the host with the path.
    ///
    /// # Errors
    /// Where a place can't be filled, or with which row.
    pub(crate) fn compile(
        &mut self,
        target: &TargetSpec,
        http2: bool,
    ) -> anyhow::Result<Templates> {
        let path = self.template(path(&target.url), Place::Url).context("path of the URL")?;
        let mut headers = Vec::new();
        for (name, value) in &target.headers {
            let template = self.header(name, value, http2);
            headers.push((name.clone(), template.with_context(|| format!("header {name}"))?));
        }
        let body = match std::str::from_utf8(&target.body) {
            Ok(text) if is_one(text.as_bytes()) => {
                Body::Filled(self.template(text, Place::Body).context("body")?)
            }
            _ => Body::AsItIs(target.body.clone()),
        };
        Ok(Templates { path, headers, body })
    }

    fn header(
        &mut self,
        name: &HeaderName,
        value: &HeaderValue,
        http2: bool,
    ) -> anyhow::Result<Template> {
        let is_ours = OURS.contains(name) || http2 && name == HOST;
        ensure!(!is_ours || !is_one(value.as_bytes()), "this header can't be filled in");
        // What is no text has no places either, and stays what it is.
        match std::str::from_utf8(value.as_bytes()) {
            Ok(text) => self.template(text, Place::Header),
            Err(_) => Ok(Template::of_bytes(value.as_bytes())),
        }
    }

    fn template(&mut self, text: &str, place: Place) -> anyhow::Result<Template> {
        let Compiler { data, checked } = self;
        let template = Template::new(text, place, data.as_ref()).map_err(anyhow::Error::msg)?;
        if let Some(data) = data.as_ref().filter(|_| place != Place::Body) {
            let is_header = place == Place::Header;
            let (fits, told): (fn(&[u8]) -> bool, _) =
                if is_header { (fits_header, "a header") } else { (fits_url, "a URL as it is") };
            for column in template.plain_columns() {
                if checked.insert((column, is_header)) {
                    data.check(column, fits, told)?;
                }
            }
        }
        Ok(template)
    }
}

impl Templates {
    /// The request with these values.
    pub(crate) fn fill<'a>(
        &'a self,
        method: &'a [u8],
        values: &mut Values<'_>,
        memory: &'a mut Filled,
    ) -> Parts<'a> {
        let Filled { path, headers, body } = memory;
        for part in [&mut *path, &mut *headers, &mut *body] {
            part.clear();
        }
        self.path.fill(values, path);
        for (name, value) in &self.headers {
            headers.extend_from_slice(name.as_str().as_bytes());
            headers.push(b'\n');
            value.fill(values, headers);
            headers.push(b'\n');
        }
        let body = match &self.body {
            Body::AsItIs(body) => &body[..],
            Body::Filled(template) => {
                template.fill(values, body);
                &body[..]
            }
        };
        Parts { method, path, headers, body }
    }

    /// How long its body is; nobody knows if it is filled.
    pub(crate) fn body_length(&self) -> Option<usize> {
        match &self.body {
            Body::AsItIs(body) => Some(body.len()),
            Body::Filled(_) => None,
        }
    }
}
