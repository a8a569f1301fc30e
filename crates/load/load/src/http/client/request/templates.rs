//! Compiles requests that contain placeholders, and fills the placeholders for each slot in memory that is reused.

use super::body::{Content, LargeFile};
use super::form::Piece;
use super::request_parts::RequestParts;
use super::targets::TargetSpec;
use crate::http::template::values::{Values, fits_header, fits_json, fits_url};
use crate::http::template::{Form, Names, Place, Template, is_one};
use crate::load::data::Data;
use crate::load::data::table::shown;
use anyhow::{Context, bail, ensure};
use hyper::Uri;
use hyper::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue, TRANSFER_ENCODING};
use hyper::http::uri::{Authority, PathAndQuery};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// The headers that determine how a request is framed. They must not contain placeholders.
const OURS: [HeaderName; 3] = [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING];

/// A piece without placeholders that has at least this size in bytes is shared by all requests instead of copied.
const LARGE: usize = 1 << 16;

#[derive(Debug)]
pub(crate) struct Templates {
    path: Template,
    headers: Vec<(HeaderName, Template)>,
    body: Body,
}

#[derive(Debug)]
enum Body {
    AsItIs(Content),
    /// The template before the largest piece without placeholders, that piece, which all requests share, and the
    /// template after it.
    Filled(Template, Box<[u8]>, Template),
}

impl Body {
    fn of(template: Template) -> Body {
        let (before, large, after) = template.around_large(LARGE);
        Body::Filled(before, large, after)
    }
}

#[derive(Debug, Default)]
pub(crate) struct FilledRequest {
    path: Vec<u8>,
    headers: Vec<u8>,
    body: [Vec<u8>; 2],
}

pub(crate) fn is_filled(target: &TargetSpec) -> bool {
    let headers = target.headers.iter().any(|(_, value)| is_one(value.as_bytes()));
    headers || has_filled_body(target) || is_one(path(&target.url).as_bytes())
}

/// Braces in uploaded files do not start placeholders.
fn has_filled_body(target: &TargetSpec) -> bool {
    match &target.form[..] {
        [] => is_one(target.body.memory()),
        form => form.iter().any(Piece::is_filled),
    }
}

fn path(url: &Uri) -> &str {
    url.path_and_query().map_or("/", PathAndQuery::as_str)
}

#[derive(Debug, Default)]
pub(crate) struct Compiler {
    pub(crate) data: Option<Data>,
    checked: HashSet<(usize, Place)>,
    pub(crate) taken: Vec<String>,
    pub(crate) uses: BTreeSet<Use>,
}

/// The use of an extracted value: the index of the value, the part of the request that contains it, and its encoding.
pub(crate) type Use = (usize, Place, Form);

impl Compiler {
    pub(crate) fn new(data: Option<Data>) -> Compiler {
        Compiler { data, ..Compiler::default() }
    }

    /// Compiles a request, and checks that the request is valid with the values of every row.
    pub(crate) fn compile(
        &mut self,
        target: &TargetSpec,
        http2: bool,
    ) -> anyhow::Result<Templates> {
        let path = self.path(&target.url).context("path of the URL")?;
        let mut headers = Vec::new();
        for (name, value) in &target.headers {
            let template = self.header(name, value, http2);
            headers.push((name.clone(), template.with_context(|| format!("header {name}"))?));
        }
        let body = self.body(target).context("body")?;
        Ok(Templates { path, headers, body })
    }

    fn body(&mut self, target: &TargetSpec) -> anyhow::Result<Body> {
        if !has_filled_body(target) {
            return Ok(Body::AsItIs(target.body.clone()));
        }
        if target.form.is_empty() {
            let text = std::str::from_utf8(target.body.memory())?;
            return self.template(text, Place::Body).map(Body::of);
        }
        let pieces = target.form.iter().map(|piece| self.piece(piece));
        let pieces = pieces.collect::<anyhow::Result<Vec<_>>>()?;
        Ok(Body::of(pieces.into_iter().collect()))
    }

    fn piece(&mut self, piece: &Piece) -> anyhow::Result<Template> {
        match piece {
            Piece::Bytes(bytes) => Ok(Template::of_bytes(bytes)),
            Piece::Text(text, field) => {
                self.template(text, Place::Body).with_context(|| format!("field {field:?}"))
            }
        }
    }

    /// Compiles the path of a URL. A row must not make a segment of the path `.` or `..`, because servers would resolve
    /// it to a different path.
    fn path(&mut self, url: &Uri) -> anyhow::Result<Template> {
        let template = self.template(path(url), Place::Url)?;
        let Some(data) = &self.data else { return Ok(template) };
        for part in template.dots() {
            let is_dots = |row: &usize| part.is_dots(|column| data.value(*row, column));
            if let Some(row) = (0..data.count()).find(is_dots) {
                let at = data.place(row);
                bail!(
                    "{at}: with this row, a segment of the path is . or .., which changes the path; write {{{{raw NAME}}}} to allow it"
                );
            }
        }
        Ok(template)
    }

    fn header(
        &mut self,
        name: &HeaderName,
        value: &HeaderValue,
        http2: bool,
    ) -> anyhow::Result<Template> {
        let is_ours = OURS.contains(name) || http2 && name == HOST;
        ensure!(!is_ours || !is_one(value.as_bytes()), "this header can't contain placeholders");
        // If the value is not UTF-8, it contains no placeholders.
        let Ok(text) = std::str::from_utf8(value.as_bytes()) else {
            return Ok(Template::of_bytes(value.as_bytes()));
        };
        let template = self.template(text, Place::Header)?;
        if name == HOST && is_one(value.as_bytes()) {
            self.check_host(&template)?;
        }
        Ok(template)
    }

    fn check_host(&self, template: &Template) -> anyhow::Result<()> {
        ensure!(
            template.taken().next().is_none(),
            "this header can't contain a value taken from a response"
        );
        let Some(data) = &self.data else {
            return check_host(template, Values::of_slot(0, 0, None), "slot 0");
        };
        (0..data.count())
            .try_for_each(|row| check_host(template, Values::of_row(row, data), &data.place(row)))
    }

    pub(crate) fn template(&mut self, text: &str, place: Place) -> anyhow::Result<Template> {
        let Compiler { data, checked, taken, uses } = self;
        let names = Names { data: data.as_ref(), taken };
        let template = Template::new(text, place, names).map_err(anyhow::Error::msg)?;
        uses.extend(template.taken().map(|(index, form)| (index, place, form)));
        let (form, fits, told): (_, fn(&[u8]) -> bool, _) = match place {
            Place::Url => (Form::Plain, fits_url, "a URL without encoding"),
            Place::Header => (Form::Plain, fits_header, "a header"),
            Place::Body => (Form::Json, fits_json, "a JSON string, because it is not UTF-8"),
        };
        for column in template.columns(form) {
            if let Some(data) = data.as_ref().filter(|_| checked.insert((column, place))) {
                data.check(column, fits, told)?;
            }
        }
        Ok(template)
    }
}

fn check_host(template: &Template, mut values: Values<'_>, at: &str) -> anyhow::Result<()> {
    let mut host = Vec::new();
    template.fill(&mut values, &mut host);
    let is_host = Authority::try_from(&host[..]).is_ok_and(|it| !it.as_str().contains('@'));
    ensure!(is_host, "{at}: {} is not a host", shown(&host));
    Ok(())
}

impl Templates {
    pub(crate) fn fill<'a>(
        &'a self,
        method: &'a [u8],
        values: &mut Values<'_>,
        memory: &'a mut FilledRequest,
    ) -> RequestParts<'a> {
        let FilledRequest { path, headers, body: [before, after] } = memory;
        for part in [&mut *path, &mut *headers, &mut *before, &mut *after] {
            part.clear();
        }
        self.path.fill(values, path);
        for (name, value) in &self.headers {
            headers.extend_from_slice(name.as_str().as_bytes());
            headers.push(b'\n');
            value.fill(values, headers);
            headers.push(b'\n');
        }
        let parts = RequestParts { method, path, headers, body: [b""; 3], file: None, cookie: b"" };
        match &self.body {
            Body::AsItIs(body) => parts.with(body),
            Body::Filled(first, large, last) => {
                first.fill(values, before);
                last.fill(values, after);
                RequestParts { body: [before, &large[..], after], ..parts }
            }
        }
    }

    pub(crate) fn file(&self) -> Option<&Arc<LargeFile>> {
        match &self.body {
            Body::AsItIs(body) => body.file(),
            Body::Filled(..) => None,
        }
    }

    pub(crate) fn body_length(&self) -> Option<u64> {
        match &self.body {
            Body::AsItIs(body) => Some(body.len()),
            Body::Filled(..) => None,
        }
    }
}
