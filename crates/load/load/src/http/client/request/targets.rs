//! Reads the targets of a run from a file in vegeta's HTTP or JSON format. A target is a request with its URL.
//!
//! The HTTP format has two extensions. `3x GET ...` gives a target the weight 3. A body may follow the headers after a
//! blank line. The body ends before the next line that begins with a known method or has a URL as its first or second
//! word. Blank lines and comments directly before this line do not belong to the body. Paths of body files are relative
//! to the working directory.
//!
//! If the first target of a file begins with a brace, the file is in the JSON format. Each line is an object with
//! `method`, `url` and, optionally, `header` (an object of lists), `body` (base64) and `weight`.

use super::body::Content;
use super::form::Piece;
use crate::console::input;
use crate::console::position::{column, line_and_column, utf8};
use crate::http::template;
use crate::net::url::Told;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::body::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, Uri};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub(crate) struct TargetSpec {
    pub(crate) method: Method,
    pub(crate) url: Uri,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Content,
    /// The pieces of a form. If a piece contains a placeholder, the pieces replace `body`.
    pub(crate) form: Vec<Piece>,
    pub(crate) weight: u32,
}

const REQUEST: &str = "write METHOD URL, as in GET http://127.0.0.1:8080/";
const WEIGHT: &str = "write a weight of at least 1, as in 3x GET http://127.0.0.1:8080/";
const OBJECT: &str = r#"write for example {"method": "GET", "url": "http://127.0.0.1:8080/"}"#;
const HEADER: &str = "write Name: value";
const LIKE_A_REQUEST: &str = "; a body with such a line must be in a file: @FILE";
/// The methods that begin a new target after a blank line, even if no URL follows.
const METHODS: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];

/// Passes each target of a file to `take`, and returns the paths of the body files.
pub(crate) fn read(
    path: &Path,
    take: impl FnMut(TargetSpec) -> Told<()>,
) -> anyhow::Result<Vec<PathBuf>> {
    let file = path.display();
    let bytes =
        input::read(path).map_err(|error| anyhow::anyhow!("cannot read {file}: {error}"))?;
    let text = utf8(&bytes).map_err(|at| {
        let (line, column) = line_and_column(&bytes, at);
        Wrong { line, column, told: "this is not UTF-8".to_owned() }
    });
    let read = text.and_then(|text| parse(text, take));
    let read = read.map_err(|Wrong { line, column, told }| {
        anyhow::anyhow!("{file} line {line} column {column}: {told}")
    })?;
    Ok(read.bodies.into_keys().map(PathBuf::from).collect())
}

fn parse<Take: FnMut(TargetSpec) -> Told<()>>(
    text: &str,
    take: Take,
) -> Result<Reader<Take>, Wrong> {
    let text = text.trim_start_matches('\u{feff}');
    let lines = (1..).zip(text.split_inclusive('\n'));
    let mut reader = Reader { take, open: None, count: 0, bodies: HashMap::new() };
    let first = lines.clone().map(|(_, line)| line.trim()).find(|line| !is_skipped(line));
    let json = first.is_some_and(|first| first.starts_with('{'));
    for (number, line) in lines {
        match is_skipped(line.trim()) {
            true => reader.skipped(line),
            false if json => reader.json(number, line)?,
            false => reader.line(number, line)?,
        }
    }
    reader.end()?;
    if reader.count == 0 {
        let (line, column) = line_and_column(text.as_bytes(), text.len());
        let told = format!("the file has no targets; {REQUEST}");
        return Err(Wrong { line, column, told });
    }
    Ok(reader)
}

#[derive(Debug)]
struct Wrong {
    line: usize,
    column: usize,
    told: String,
}

/// A value read from a line. The error is the invalid part of the line, and the reason.
type Read<'line, T> = Result<T, (&'line str, String)>;

struct Open {
    line: usize,
    column: usize,
    target: TargetSpec,
    part: Part,
}

enum Part {
    Headers,
    BehindBlank,
    /// The body so far, and its length without trailing blank lines and comments.
    Body(String, usize),
}

struct Reader<Take> {
    take: Take,
    open: Option<Open>,
    count: usize,
    bodies: HashMap<String, Content>,
}

impl<Take: FnMut(TargetSpec) -> Told<()>> Reader<Take> {
    fn line(&mut self, number: usize, whole: &str) -> Result<(), Wrong> {
        let line = whole.trim();
        let here = |(part, told)| Wrong { line: number, column: column(whole, part), told };
        let is_begin = |open: &Open| match open.part {
            Part::Headers => is_request(line),
            Part::BehindBlank | Part::Body(..) => begins_target(line),
        };
        match self.open.as_mut().filter(|open| !is_begin(open)) {
            Some(Open { part: Part::Body(body, end), .. }) => {
                body.push_str(whole);
                *end = body.len();
            }
            Some(open) if line.starts_with('@') => {
                open.target.body = body(&mut self.bodies, &line[1..]).map_err(here)?;
                self.end()?;
            }
            Some(Open { part: part @ Part::BehindBlank, .. }) if !is_header_or_file(line) => {
                *part = Part::Body(whole.to_owned(), whole.len());
            }
            Some(Open { part: Part::Headers, target, .. }) => {
                target.headers.push(header_line(line).map_err(here)?);
            }
            _ => {
                let is_headers = |open: &Open| matches!(open.part, Part::Headers);
                let may_be_body = self.open.as_ref().is_some_and(|open| !is_headers(open));
                let advice = if may_be_body && begins_target(line) { LIKE_A_REQUEST } else { "" };
                self.end()?;
                let read = request(line).map_err(|(part, told)| here((part, told + advice)));
                let (address, target) = read?;
                let (column, part) = (column(whole, address), Part::Headers);
                self.open = Some(Open { line: number, column, target, part });
            }
        }
        Ok(())
    }

    /// Handles a blank line or a comment. It belongs to a body only if more lines of the body follow.
    fn skipped(&mut self, whole: &str) {
        match self.open.as_mut().map(|open| &mut open.part) {
            Some(Part::Body(body, _)) => body.push_str(whole),
            Some(part @ Part::Headers) if whole.trim().is_empty() => *part = Part::BehindBlank,
            _ => {}
        }
    }

    fn json(&mut self, number: usize, whole: &str) -> Result<(), Wrong> {
        let line = whole.trim();
        let here = |(part, told)| Wrong { line: number, column: column(whole, part), told };
        let target: JsonTarget = serde_json::from_str(line).map_err(|error| {
            let column = line_and_column(whole.as_bytes(), wrong_byte(whole, &error)).1;
            Wrong { line: number, column, told: not_json(&error) }
        })?;
        let target = target.spec().map_err(|told| here((line, told)))?;
        let (column, part) = (column(whole, line), Part::Headers);
        self.open = Some(Open { line: number, column, target, part });
        self.end()
    }

    fn end(&mut self) -> Result<(), Wrong> {
        let Some(Open { line, column, mut target, part }) = self.open.take() else {
            return Ok(());
        };
        if let Part::Body(mut body, end) = part {
            body.truncate(end);
            target.body = Bytes::from(body.trim_end_matches(['\r', '\n']).to_owned()).into();
        }
        self.count += 1;
        (self.take)(target).map_err(|told| Wrong { line, column, told })
    }
}

fn is_skipped(line: &str) -> bool {
    line.is_empty() || line.starts_with('#')
}

fn begins_target(line: &str) -> bool {
    let is_url = |word: &str| word.starts_with("http://") || word.starts_with("https://");
    let mut words = line.split_whitespace().filter(|word| weight(word).is_none());
    let first = words.next().unwrap_or_default();
    METHODS.contains(&first) || is_url(first) || words.next().is_some_and(is_url)
}

/// Returns whether a line is a request. A line that begins with a weight is a request. So is a line that begins with a
/// word in capitals and a space, unless it is a header with a space before its colon.
fn is_request(line: &str) -> bool {
    if line.split_once(char::is_whitespace).is_some_and(|(first, _)| weight(first).is_some()) {
        return true;
    }
    let first = line.split_once(char::is_whitespace).map_or("", |(first, _)| first);
    !first.is_empty() && first.chars().all(|c| c.is_ascii_uppercase()) && !is_header_or_file(line)
}

fn is_header_or_file(line: &str) -> bool {
    let is_header = |(name, value): (&str, &str)| {
        HeaderName::from_bytes(name.trim_end().as_bytes()).is_ok() && !value.starts_with("//")
    };
    line.starts_with('@') || line.split_once(':').is_some_and(is_header)
}

fn request(whole: &str) -> Read<'_, (&str, TargetSpec)> {
    if is_header_or_file(whole) {
        let told = format!(
            "{whole:?} has no request line directly above; {REQUEST}, or put a body that begins like this in a file: @FILE"
        );
        return Err((whole, told));
    }
    let (weight, line) = match whole.split_once(char::is_whitespace) {
        Some((first, rest)) if weight(first).is_some() => (weight(first).unwrap_or(0), rest.trim()),
        _ => (1, whole),
    };
    let (name, address) = line
        .split_once(char::is_whitespace)
        .ok_or_else(|| (line, format!("{line:?} is not a target; {REQUEST}")))?;
    let weight = checked(weight).map_err(|told| (whole, told))?;
    let address = address.trim();
    Ok((address, TargetSpec { weight, ..target(name, address)? }))
}

pub(crate) fn method_and_address(text: &str) -> (Option<&str>, &str) {
    let text = text.trim();
    let is_method = |first: &str| first.chars().all(|c| c.is_ascii_uppercase());
    match text.split_once(char::is_whitespace) {
        Some((first, address)) if is_method(first) => (Some(first), address.trim()),
        _ => (None, text),
    }
}

pub(crate) fn target<'line>(name: &'line str, address: &'line str) -> Read<'line, TargetSpec> {
    let method = method(name).map_err(|told| (name, told))?;
    let url = template::url(address).map_err(|told| (address, told))?;
    let (headers, body, form) = (Vec::new(), Bytes::new().into(), Vec::new());
    Ok(TargetSpec { method, url, headers, body, form, weight: 1 })
}

fn weight(word: &str) -> Option<u32> {
    word.strip_suffix('x')?.parse().ok()
}

fn checked(weight: u32) -> Told<u32> {
    if weight == 0 { Err(WEIGHT.to_owned()) } else { Ok(weight) }
}

pub(crate) fn method(name: &str) -> Told<Method> {
    let capitals = !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase());
    let method = Method::from_bytes(name.as_bytes()).ok().filter(|_| capitals);
    method.ok_or_else(|| format!("{name:?} is not a method; write capital letters only, as in GET"))
}

fn header_line(line: &str) -> Read<'_, (HeaderName, HeaderValue)> {
    let (name, value) = line
        .split_once(':')
        .ok_or_else(|| (line, format!("{line:?} is not a header; {HEADER}")))?;
    parts_of_header(name.trim(), value.trim())
}

pub(crate) fn header(name: &str, value: &str) -> Told<(HeaderName, HeaderValue)> {
    parts_of_header(name, value).map_err(|(_, told)| told)
}

fn parts_of_header<'line>(
    name: &'line str,
    value: &'line str,
) -> Read<'line, (HeaderName, HeaderValue)> {
    let wrong = |text: &'line str, what| {
        (text, format!("{text:?} is not the {what} of a header; {HEADER}"))
    };
    Ok((
        HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong(name, "name"))?,
        HeaderValue::from_bytes(value.as_bytes()).map_err(|_| wrong(value, "value"))?,
    ))
}

pub(crate) fn body<'line>(
    known: &mut HashMap<String, Content>,
    path: &'line str,
) -> Read<'line, Content> {
    if let Some(body) = known.get(path) {
        return Ok(body.clone());
    }
    if path.is_empty() {
        return Err((path, "the path of the body file is missing; write @FILE".to_owned()));
    }
    let body = Content::of_file(path.as_ref()).map_err(|error| {
        let told =
            format!("cannot read {path:?}: {error}; paths are relative to the working directory");
        (path, told)
    })?;
    known.insert(path.to_owned(), body.clone());
    Ok(body)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonTarget {
    method: String,
    url: String,
    #[serde(default)]
    header: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    body: String,
    #[serde(default = "once")]
    weight: u32,
}

fn once() -> u32 {
    1
}

impl JsonTarget {
    fn spec(self) -> Told<TargetSpec> {
        let named = |(name, values): (String, Vec<String>)| {
            values.into_iter().map(move |value| header(&name, &value)).collect::<Vec<_>>()
        };
        let body = BASE64_STANDARD.decode(&self.body).map(Bytes::from);
        Ok(TargetSpec {
            method: method(&self.method)?,
            url: template::url(&self.url)?,
            headers: self.header.into_iter().flat_map(named).collect::<Told<_>>()?,
            body: body.map_err(|error| format!("the body is not base64: {error}"))?.into(),
            form: Vec::new(),
            weight: checked(self.weight)?,
        })
    }
}

/// Returns the message of a serde error without the position, because serde always reports line 1.
fn not_json(error: &serde_json::Error) -> String {
    let told = error.to_string();
    let told = told.rsplit_once(" at line ").map_or("", |(told, _)| told).replace('\n', " ");
    format!("{told}; {OBJECT}")
}

/// Returns the byte offset of the error in the line. serde reports the column, counted from 1, of the last non-blank
/// byte that it has read, or 0 if it has read none.
fn wrong_byte(whole: &str, error: &serde_json::Error) -> usize {
    let begin = whole.len() - whole.trim_start().len();
    begin + error.column().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;
    use tempfile::TempDir;

    fn all(text: &str) -> Result<(Vec<TargetSpec>, Vec<String>), Wrong> {
        let mut targets = Vec::new();
        let read = parse(text, |target| {
            targets.push(target);
            Ok(())
        });
        let read = read?;
        let bodies = read.bodies.into_keys().collect();
        Ok((targets, bodies))
    }

    fn short(text: &str) -> Vec<String> {
        let (targets, _) = all(text).unwrap_or_else(|error| panic!("{text:?}: {error:?}"));
        let header = |(name, value): &(HeaderName, HeaderValue)| {
            format!(" {name}={}", String::from_utf8_lossy(value.as_bytes()))
        };
        let one = |target: &TargetSpec| {
            let weight =
                if target.weight == 1 { String::new() } else { format!("{}x ", target.weight) };
            let headers: String = target.headers.iter().map(header).collect();
            let body = String::from_utf8_lossy(target.body.memory());
            format!("{weight}{} {}{headers} {body}", target.method, target.url)
        };
        targets.iter().map(|target| one(target).trim_end().to_owned()).collect()
    }

    #[test]
    fn targets_are_read_from_the_http_format() {
        for (text, expected) in [
            ("GET http://a/", &["GET http://a/"][..]),
            ("\n\n  GET   http://a/b?c=d  \n\n", &["GET http://a/b?c=d"]),
            (
                "GET http://a/\r\nX: 1\r\n\r\nPUT https://b:8443/\r\n",
                &["GET http://a/ x=1", "PUT https://b:8443/"],
            ),
            ("GET http://a/\nPOST http://b/\n", &["GET http://a/", "POST http://b/"]),
            ("GET http://a/\nX: 1\nHEAD http://b/\n", &["GET http://a/ x=1", "HEAD http://b/"]),
            ("# one\nGET http://a/\n# two\nX: # 3\n#\n", &["GET http://a/ x=# 3"]),
            (
                "GET http://a/\nX:1\nx : 2\nHost: c:1\nEmpty:\n",
                &["GET http://a/ x=1 x=2 host=c:1 empty="],
            ),
            ("GET http://a/\nX-Name: größe\n", &["GET http://a/ x-name=größe"]),
            ("\u{feff}GET http://[::1]:8080/", &["GET http://[::1]:8080/"]),
            ("GET http://a/\nDNT : 1", &["GET http://a/ dnt=1"]),
            ("GET http://u:p@[::1]/", &["GET http://u:p@[::1]/"]),
            ("PURGE http://a/", &["PURGE http://a/"]),
            (
                "3x GET http://a/\nX: 1\n10x  POST http://b/\n1x GET http://c/",
                &["3x GET http://a/ x=1", "10x POST http://b/", "GET http://c/"],
            ),
        ] {
            assert_eq!(short(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_body_may_follow_a_blank_line() {
        for (text, expected) in [
            ("POST http://a/\nX: 1\n\n{\"b\": 1}", &["POST http://a/ x=1 {\"b\": 1}"][..]),
            ("POST http://a/\r\n\r\nb\r\n\r\nc\r\n\r\n", &["POST http://a/ b\r\n\r\nc"]),
            (
                "POST http://a/\n\n\n{\n\n  \"b\": \"@c: d\"\n}\n\n# two\n\n2x PUT http://b/\n\ne=f",
                &["POST http://a/ {\n\n  \"b\": \"@c: d\"\n}", "2x PUT http://b/ e=f"],
            ),
            ("POST http://a/\n\nb\nGET http://c/\n", &["POST http://a/ b", "GET http://c/"]),
            ("POST http://a/\n\nb\n###\nGET http://c/", &["POST http://a/ b", "GET http://c/"]),
            ("POST http://a/\n\n- b\n# c\nd: e\n", &["POST http://a/ - b\n# c\nd: e"]),
            ("POST http://a/\n\n# b\nSELECT c\n", &["POST http://a/ SELECT c"]),
            ("POST http://a/\n\n  b\n", &["POST http://a/   b"]),
            ("GET http://a/\n\n# b\n\nGET http://c/", &["GET http://a/", "GET http://c/"]),
        ] {
            assert_eq!(short(text), expected, "{text:?}");
        }
    }

    #[test]
    fn targets_are_read_from_the_json_format() {
        for (text, expected) in [
            (r#"{"method": "GET", "url": "http://a/"}"#, &["GET http://a/"][..]),
            (r#"{"method": "GET", "url": "http://a/", "weight": 3}"#, &["3x GET http://a/"]),
            (
                "\n# one\n{\"method\":\"PUT\",\"url\":\"http://a/\",\"body\":\"aMOp\",\
                 \"header\":{\"X\":[\"1\",\"2\"]}}\r\n\r\n\
                 {\"method\":\"GET\",\"url\":\"http://b/\"}",
                &["PUT http://a/ x=1 x=2 hé", "GET http://b/"],
            ),
        ] {
            assert_eq!(short(text), expected, "{text:?}");
        }
    }

    #[test]
    fn an_error_has_its_place_and_says_what_to_write() {
        for (text, place, expected) in [
            ("", (1, 1), "the file has no targets; write METHOD URL"),
            ("# nothing\n\n", (3, 1), "the file has no targets"),
            ("\u{feff} GET  ftp://ä/", (1, 7), "\"ftp://ä/\" is not a URL"),
            (" {\"method\": \"é\", \"url\": 1}", (1, 25), "invalid type: integer `1`"),
            (
                "GET",
                (1, 1),
                r#""GET" is not a target; write METHOD URL, as in GET http://127.0.0.1:8080/"#,
            ),
            ("http://a/", (1, 1), r#""http://a/" is not a target; write METHOD URL"#),
            (
                "get http://a/",
                (1, 1),
                r#""get" is not a method; write capital letters only, as in GET"#,
            ),
            ("\nX: 1", (2, 1), r#""X: 1" has no request line directly above; write METHOD URL"#),
            ("0x GET http://a/", (1, 1), "write a weight of at least 1, as in 3x GET"),
            ("-1x GET http://a/", (1, 1), r#""-1x" is not a method"#),
            ("3x get http://a/", (1, 4), r#""get" is not a method"#),
            (
                r#"{"method": "GET", "url": "http://a/", "weight": 0}"#,
                (1, 1),
                "write a weight of at least 1",
            ),
            ("GET /a", (1, 5), r#""/a" is not a URL with http:// or https:// and a host; write"#),
            ("GET ftp://a/", (1, 5), r#""ftp://a/" is not a URL with http:// or https://"#),
            ("GET http:///a", (1, 5), r#""http:///a" is not a URL"#),
            ("GET http://a/ HTTP/1.1", (1, 5), r#""http://a/ HTTP/1.1" is not a URL (invalid uri"#),
            ("GET http://größe/", (1, 5), r#""http://größe/" is not a URL (invalid uri"#),
            ("GET http://a:99999/", (1, 5), r#""http://a:99999/" has no port from 0"#),
            ("GET http://a/\nAccept x", (2, 1), r#""Accept x" is not a header; write Name: value"#),
            (
                "GET http://a/\r\n: 1",
                (2, 1),
                r#""" is not the name of a header; write Name: value"#,
            ),
            ("GET http://a/\nx Y: 1", (2, 1), r#""x Y" is not the name of a header"#),
            ("GET http://a/\nX: \u{1}", (2, 4), r#""\u{1}" is not the value of a header"#),
            ("GET http://a/\n\nX: 1", (3, 1), r#""X: 1" has no request line directly above"#),
            ("GET http://user@a:x/", (1, 5), r#""http://user@a:x/" has no port from 0"#),
            ("GET http://9:99999/", (1, 5), r#""http://9:99999/" has no port from 0"#),
            ("GET http://a:/", (1, 5), r#""http://a:/" has no port from 0 to 65535"#),
            ("GET http://a/\n@", (2, 2), "the path of the body file is missing; write @FILE"),
            ("GET http://a/\n@/nonexistent", (2, 2), r#"cannot read "/nonexistent": No such file"#),
            ("GET http://a/\n\n@x", (3, 2), r#"cannot read "x": No such file"#),
            ("GET http://a/\n\n{}\nget http://b/", (4, 1), r#""get" is not a method"#),
            ("GET http://a/\n\n{}\n\nhttp://b/", (5, 1), r#""http://b/" is not a target"#),
            ("GET http://a/\n\n{}\nPOST b/", (4, 6), r#""b/" is not a URL"#),
            ("POST ftp://a/\n\n{}\n", (1, 6), r#""ftp://a/" is not a URL"#),
            (r#"{"method": "GET"}"#, (1, 17), "missing field `url`; write for example {"),
            (
                "{\"method\": \"GET\", \"url\": \"http://a/\"}\nGET http://a/",
                (2, 1),
                "expected value",
            ),
            (
                "{\"method\": \"GET\", \"url\": \"http://a/\", \"x\": 1}",
                (1, 41),
                "unknown field `x`",
            ),
            (r#"{"a\n at line b": 1}"#, (1, 16), "unknown field `a  at line b`"),
            ("{\"method\": \"GET\", \"url\": \"a\"}", (1, 1), r#""a" is not a URL"#),
            ("{\"method\": \"\", \"url\": \"http://a/\"}", (1, 1), r#""" is not a method"#),
            (
                "{\"method\": \"GET\", \"url\": \"http://a/\", \"body\": \"?\"}",
                (1, 1),
                "the body is not base64: ",
            ),
            (
                "{\"method\": \"GET\", \"url\": \"http://a/\", \"header\": {\"X\": [\"\\n\"]}}",
                (1, 1),
                r#""\n" is not the value"#,
            ),
        ] {
            let Wrong { line, column, told } = all(text).expect_err(text);
            let at = (line, column);
            assert!(at == place && told.starts_with(expected), "{text:?}: {at:?}: {told}");
        }
    }

    #[test]
    fn a_body_with_a_line_like_a_request_line_must_be_in_a_file() {
        const ADVICE: &str = "; a body with such a line must be in a file: @FILE";
        for line in ["GET out", "GET", "see http://a/", "http://a/"] {
            for text in
                [format!("POST http://a/\n\nb\n{line}\n"), format!("POST http://a/\n\n{line}")]
            {
                let told = all(&text).unwrap_err().told;
                assert!(told.ends_with(ADVICE), "{text:?}: {told}");
            }
        }
        for text in ["GET http://a/\nGET out", "GET out", "GET http://a/\n\nX: 1"] {
            let told = all(text).unwrap_err().told;
            assert!(!told.ends_with(ADVICE), "{text:?}: {told}");
        }
        assert_eq!(short("PUT http://a/\n\nget in\nGETS out"), ["PUT http://a/ get in\nGETS out"]);
    }

    #[test]
    fn a_body_comes_from_its_file_and_ends_the_target() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a body.bin");
        fs::write(&path, b"a\xff\n").unwrap();
        let path = path.display();
        let text =
            format!("PUT http://a/\nX: 1\n@{path}\nGET http://b/\nPUT http://a/\n\n@{path}\n");
        let (targets, bodies) = all(&text).unwrap();
        assert_eq!(targets[0].body.memory(), b"a\xff\n");
        assert_eq!((targets[0].headers.len(), targets[1].body.len()), (1, 0));
        assert_eq!(
            (targets[2].body.address(), bodies),
            (targets[0].body.address(), vec![path.to_string()])
        );
        let wrong = all(&format!("PUT http://a/\n@{path}\nX: 1")).unwrap_err();
        let Wrong { line, told, .. } = wrong;
        assert!(line == 3 && told.starts_with(r#""X: 1" has no request"#), "{line}: {told}");
    }

    #[test]
    fn an_error_names_the_file() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("targets.txt");
        let take = |target: TargetSpec| match target.method {
            Method::PUT => Err("cannot be resolved".to_owned()),
            _ => Ok(()),
        };
        let told =
            || read(&path, take).unwrap_err().to_string().replace(path.to_str().unwrap(), "FILE");
        assert!(told().starts_with("cannot read FILE: "), "{}", told());
        for (text, expected) in [
            (&b"# none\n"[..], "FILE line 2 column 1: the file has no targets; write METHOD URL"),
            (b"\xff", "FILE line 1 column 1: this is not UTF-8"),
            (b"GET http://a/\n\nGET", "FILE line 3 column 1: \"GET\" is not a target"),
            (b"\nPUT http://a/\nX: 1\n\nGET http://a/", "FILE line 2 column 5: cannot be resolved"),
        ] {
            fs::write(&path, text).unwrap();
            assert!(told().starts_with(expected) && told().lines().count() == 1, "{}", told());
        }
        fs::write(&path, "GET http://a/").unwrap();
        assert!(read(&path, take).unwrap().is_empty());
    }

    proptest! {
        #[test]
        fn no_text_panics_and_every_error_is_one_line_of_the_text(text in prop_oneof![
            "(?s).*",
            "((GET|PUT|get|http://|/|a|:| |\n|\r\n|\n\n|#|@|X: 1|\\{|\\}|\"|é|\u{feff})){0,16}",
        ]) {
            if let Err(Wrong { line, column, told }) = all(&text) {
                prop_assert!((1..=text.lines().count() + 1).contains(&line));
                let length = text.lines().nth(line - 1).unwrap_or_default().chars().count();
                prop_assert!((1..=length + 1).contains(&column));
                prop_assert_eq!(told.lines().count(), 1, "{}", told);
            }
        }
    }
}
