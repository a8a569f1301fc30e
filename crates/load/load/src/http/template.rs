//! Compiles texts that contain placeholders, such as `/users/{{user}}`, and fills the placeholders for each request.
//!
//! A text is compiled once, into pieces that are copied and pieces that are filled. The template engine minijinja takes
//! many times as long per request, because it passes all values by name and evaluates each placeholder as an
//! expression.

mod dots;
pub(crate) mod piece;
pub(crate) mod values;

use crate::load::data::Data;
use crate::net::url;
use dots::Part;
use hyper::Uri;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
pub(crate) use piece::Form;
use piece::Piece;
use std::borrow::Cow;
use std::env;
use values::Values;

const OPEN: &str = "{{";
const CLOSE: &str = "}}";
const ALONE: [&str; 4] = ["slot", "now", "now-ms", "uuid"];
const WITH_WORD: [(&str, &str); 5] = [
    ("random", "random 1..100"),
    ("random-text", "random-text 32"),
    ("env", "env NAME"),
    ("raw", "raw COLUMN"),
    ("json", "json COLUMN"),
];
/// The maximum length of a random text, in characters.
const LONGEST: usize = 1 << 20;

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// The path or the query of a URL. Values are percent-encoded (RFC 3986, section 2.1), except those of `raw`.
    Url,
    /// The value of a header. Values with characters that are not valid there are rejected.
    Header,
    /// The body. Values are copied unchanged, except those of `json`.
    Body,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Names<'a> {
    pub(crate) data: Option<&'a Data>,
    pub(crate) taken: &'a [String],
}

#[derive(Debug)]
pub(crate) struct Template {
    pieces: Vec<Piece>,
}

pub(crate) fn is_known(name: &str) -> bool {
    ALONE.contains(&name) || example(name).is_some()
}

/// Returns whether bytes may contain placeholders. Bytes that are not UTF-8 contain none.
pub(crate) fn is_one(text: &[u8]) -> bool {
    has_open(text) && std::str::from_utf8(text).is_ok()
}

pub(crate) fn has_open(text: &[u8]) -> bool {
    text.windows(OPEN.len()).any(|bytes| bytes == OPEN.as_bytes())
}

pub(crate) fn split_place(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once(OPEN)?;
    let (inside, behind) = rest.split_once(CLOSE)?;
    Some((before, inside, behind))
}

pub(crate) fn url(text: &str) -> Result<Uri, String> {
    let host = text.split_once("://").map_or(text, |(_, rest)| rest);
    if host.split(['/', '?']).next().unwrap_or_default().contains(OPEN) {
        return Err(format!(
            "{text:?}: only the path and the query of a URL can contain placeholders"
        ));
    }
    url::read(&without_blanks(text))
}

/// Changes the placeholders of a URL so that the URL can be parsed: spaces become colons, and other characters that are
/// invalid in a URL are percent-encoded.
fn without_blanks(url: &str) -> Cow<'_, str> {
    if !url.contains(OPEN) {
        return Cow::Borrowed(url);
    }
    let mut parts = url.split(OPEN);
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (inside, behind) = part.split_once(CLOSE).map_or((part, None), |(a, b)| (a, Some(b)));
        whole.push_str(OPEN);
        whole.extend(utf8_percent_encode(&with_colons(inside), INVALID));
        whole.extend(behind.map(|behind| format!("{CLOSE}{behind}")));
    }
    Cow::Owned(whole)
}

/// Returns the text of a URL from [`url`], with spaces in its placeholders.
pub(crate) fn shown(url: &Uri) -> String {
    let url = url.to_string();
    let mut parts = url.split(OPEN);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |whole, part| {
        let (inside, behind) = part.split_at(part.find(CLOSE).unwrap_or_default());
        whole + OPEN + &inside.replace(':', " ") + behind
    })
}

const INVALID: &AsciiSet =
    &CONTROLS.add(b'"').add(b'#').add(b'%').add(b'<').add(b'>').add(b'\\').add(b'^').add(b'`');

fn with_colons(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(":")
}

impl Template {
    pub(crate) fn new(text: &str, place: Place, names: Names<'_>) -> Result<Template, String> {
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some((before, behind)) = rest.split_once(OPEN) {
            push_text(&mut pieces, before);
            let at = text.len() - behind.len() - OPEN.len();
            let column = text[..at].chars().count() + 1;
            let wrong = |told: String| format!("column {column}: {told}");
            let Some((inside, behind)) = behind.split_once(CLOSE) else {
                return Err(wrong("{{ has no }} after it; write {{\"{{\"}} for two braces".into()));
            };
            let decoded = percent_decode_str(inside).decode_utf8_lossy();
            let inside = if place == Place::Url { &*decoded } else { inside };
            pieces.push(piece(inside.trim(), place, names).map_err(wrong)?);
            rest = behind;
        }
        push_text(&mut pieces, rest);
        Ok(Template { pieces })
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> Template {
        Template { pieces: vec![Piece::Text(bytes.into())] }
    }

    /// Splits the template around its largest piece without placeholders. If no such piece has at least `least` bytes,
    /// the first part is the whole template, and the other parts are empty.
    pub(crate) fn around_large(mut self, least: usize) -> (Template, Box<[u8]>, Template) {
        let length = |piece: &Piece| match piece {
            Piece::Text(text) => text.len(),
            _ => 0,
        };
        let longest = (0..self.pieces.len()).max_by_key(|index| length(&self.pieces[*index]));
        let longest = longest.filter(|index| length(&self.pieces[*index]) >= least);
        let after = self.pieces.split_off(longest.map_or(self.pieces.len(), |index| index + 1));
        let large = match longest.and_then(|_| self.pieces.pop()) {
            Some(Piece::Text(text)) => text,
            _ => Box::default(),
        };
        (self, large, Template { pieces: after })
    }

    pub(crate) fn fill(&self, values: &mut Values<'_>, to: &mut Vec<u8>) {
        self.pieces.iter().for_each(|piece| piece.fill(values, to));
    }

    pub(crate) fn dots(&self) -> Vec<Part> {
        dots::parts(&self.pieces)
    }

    pub(crate) fn taken(&self) -> impl Iterator<Item = (usize, Form)> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Taken(index, form) => Some((*index, *form)),
            _ => None,
        })
    }

    pub(crate) fn is_steady(&self) -> bool {
        self.pieces.iter().all(Piece::is_steady)
    }

    pub(crate) fn columns(&self, form: Form) -> impl Iterator<Item = usize> {
        self.pieces.iter().filter_map(move |piece| match piece {
            Piece::Column(column, its) if *its == form => Some(*column),
            _ => None,
        })
    }
}

impl FromIterator<Template> for Template {
    fn from_iter<I: IntoIterator<Item = Template>>(texts: I) -> Template {
        Template { pieces: texts.into_iter().flat_map(|text| text.pieces).collect() }
    }
}

fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    if !text.is_empty() {
        pieces.push(Piece::Text(text.as_bytes().into()));
    }
}

fn piece(inside: &str, place: Place, names: Names<'_>) -> Result<Piece, String> {
    let plain = if place == Place::Url { Form::Encoded } else { Form::Plain };
    if let Some(value) = names.value(inside, plain) {
        return Ok(value);
    }
    if let Some(text) = inside.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        let text = if place == Place::Url { url::encoded(text).to_string() } else { text.into() };
        return Ok(Piece::Text(text.into_bytes().into()));
    }
    let (name, word) = match inside.split_once([' ', ':']) {
        Some((name, word)) => (name, word.trim()),
        None => (inside, ""),
    };
    let value = |form| names.value(word, form).ok_or_else(|| no_value(name, word, names));
    match (name, word) {
        ("slot", "") => Ok(Piece::Slot),
        ("now", "") => Ok(Piece::Now),
        ("now-ms", "") => Ok(Piece::NowMs),
        ("uuid", "") => Ok(Piece::Uuid),
        ("random", _) => random(word),
        ("random-text", _) => random_text(word),
        ("env", _) if !word.is_empty() => environment(word, place),
        ("raw", _) if !word.is_empty() => value(Form::Plain),
        ("json", _) if !word.is_empty() && place == Place::Body => value(Form::Json),
        ("json", _) if place != Place::Body => {
            Err("json is only for bodies; in URLs and headers, write {{NAME}}".to_owned())
        }
        _ => Err(unknown(inside, names)),
    }
}

fn random(range: &str) -> Result<Piece, String> {
    let ends = range.split_once("..").and_then(|(from, to)| {
        let [from, to] = [from, to].map(|end| end.trim().parse::<i64>().ok());
        from.zip(to).filter(|(from, to)| from <= to)
    });
    let told =
        || format!("{range:?} is not a range; write for example random 1..100, ends included");
    ends.map(|(from, to)| Piece::Random(from..=to)).ok_or_else(told)
}

fn random_text(length: &str) -> Result<Piece, String> {
    let length = length.parse().ok().filter(|length| (1..=LONGEST).contains(length));
    let told = || format!("write random-text 32 for 32 characters; the maximum is {LONGEST}");
    length.map(Piece::RandomText).ok_or_else(told)
}

fn environment(name: &str, place: Place) -> Result<Piece, String> {
    let value = env::var(name)
        .map_err(|_| format!("the environment variable {name} is not set, or is not UTF-8"))?;
    match place {
        Place::Url => Ok(Piece::Text(values::encoded(value.as_bytes()).into())),
        Place::Header if !values::fits_header(value.as_bytes()) => {
            Err(format!("the value of the environment variable {name} can't be in a header"))
        }
        _ => Ok(Piece::Text(value.into_bytes().into())),
    }
}

impl<'a> Names<'a> {
    fn value(self, name: &str, form: Form) -> Option<Piece> {
        let columns = self.data.map(Data::columns).unwrap_or_default();
        let column = columns.iter().position(|column| column == name);
        // In a URL that was parsed, the spaces in placeholders are colons.
        let of_url = || columns.iter().position(|column| with_colons(column) == name);
        let column = column.or_else(of_url).map(|column| Piece::Column(column, form));
        let taken = || self.taken.iter().position(|taken| taken == name);
        column.or_else(|| taken().map(|index| Piece::Taken(index, form)))
    }

    fn all(self) -> Vec<&'a str> {
        let columns = self.data.map(Data::columns).unwrap_or_default();
        columns.iter().chain(self.taken).map(String::as_str).collect()
    }
}

fn example(name: &str) -> Option<&'static str> {
    WITH_WORD.iter().find(|(known, _)| *known == name).map(|(_, example)| *example)
}

fn no_value(name: &str, word: &str, names: Names<'_>) -> String {
    let columns = names.all();
    let told = match near(word, columns.iter().copied()) {
        Some(column) => format!("write {{{{{name} {column}}}}}"),
        None if columns.is_empty() => "for columns, write --data FILE".to_owned(),
        None => format!("write {name} and one of these: {}", columns.join(", ")),
    };
    format!("{word:?} is not a column of --data or a value of an earlier step; {told}")
}

fn unknown(inside: &str, names: Names<'_>) -> String {
    let columns = names.all();
    let known = columns.iter().copied().chain(ALONE).chain(WITH_WORD.map(|(name, _)| name));
    let told = match near(inside, known) {
        Some(name) => format!("write {{{{{}}}}}", example(name).unwrap_or(name)),
        None if columns.is_empty() => {
            "write slot, now, now-ms, uuid, random 1..100, random-text 32 or env NAME; for columns, write --data FILE".into()
        }
        None => format!("write a column or a value ({}), slot, now, uuid or random 1..100", columns.join(", ")),
    };
    format!("{inside:?} is not a placeholder; {told}, or {{{{\"{{{{\"}}}} for two braces")
}

/// The minimum Jaro similarity at which a name is suggested in place of a misspelled word.
const ALIKE: f64 = 0.75;

pub(crate) fn near<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |name: &'a str| (strsim::jaro(word, name), name);
    let alike = names.map(likeness).filter(|(likeness, _)| *likeness >= ALIKE);
    alike.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

#[cfg(test)]
mod tests;
