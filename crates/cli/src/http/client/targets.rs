//! Targets: the requests of a run, from a file in vegeta's formats.
//!
//! The http format has a request line, headers and a body file. Blank lines separate targets;
//! lines that begin with `#` are comments.
//!
//! ```text
//! # Two targets.
//! GET http://127.0.0.1:8080/
//!
//! POST http://127.0.0.1:8080/items
//! Content-Type: application/json
//! @item.json
//! ```
//!
//! The path of a body starts from the working directory, as in vegeta. Whatever follows a body
//! begins a new target. The blank line before a request line may be left out. `3x GET ...` is sent three
//! times for one of another; vegeta has no weights.
//!
//! The JSON format has one object a line: `{"method": "GET", "url": "http://127.0.0.1/"}`, with
//! `header` (an object of lists), `body` (base64) and `weight` if they are needed. A file whose first target
//! begins with a brace is in this format.

use super::form::Piece;
use crate::http::template;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::body::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, Uri};
use nanopace_load::net::url::Told;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TargetSpec {
    pub(crate) method: Method,
    /// With a scheme, `http` or `https`, and a host.
    pub(crate) url: Uri,
    /// In the order of the file. A name may be there more than once.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Bytes,
    /// The pieces of a form; they are the body if anything in them is filled.
    pub(crate) form: Vec<Piece>,
    /// How many of the requests it is, for one of another.
    pub(crate) weight: u32,
}

const REQUEST: &str = "write METHOD URL, as in GET http://127.0.0.1:8080/";
const WEIGHT: &str = "write a weight from 1 on, as in 3x GET http://127.0.0.1:8080/";
const OBJECT: &str = r#"write for example {"method": "GET", "url": "http://127.0.0.1:8080/"}"#;
const HEADER: &str = "write Name: value";

/// Reads a file of targets, and gives them to `take`, one by one. There is at least one in it. Returns
/// the files with their bodies.
///
/// The error is one line, and names the file and the line.
pub(crate) fn read(
    path: &Path,
    take: impl FnMut(TargetSpec) -> Told<()>,
) -> anyhow::Result<Vec<PathBuf>> {
    let file = path.display();
    let text =
        fs::read_to_string(path).map_err(|error| anyhow::anyhow!("cannot read {file}: {error}"))?;
    let read =
        parse(&text, take).map_err(|(line, told)| anyhow::anyhow!("{file} line {line}: {told}"))?;
    anyhow::ensure!(read.count > 0, "{file}: there is no target in it; {REQUEST}");
    Ok(read.bodies.into_keys().map(PathBuf::from).collect())
}

/// Gives the targets in a text to `take`; or the line that is wrong, and why.
fn parse<Take: FnMut(TargetSpec) -> Told<()>>(
    text: &str,
    take: Take,
) -> Result<Reader<Take>, Wrong> {
    let text = text.trim_start_matches('\u{feff}');
    let lines = (1..).zip(text.lines().map(str::trim));
    let mut lines = lines.filter(|(_, line)| !line.starts_with('#')).peekable();
    let mut reader = Reader { take, open: None, count: 0, bodies: HashMap::new() };
    while lines.next_if(|(_, line)| line.is_empty()).is_some() {}
    let json = lines.peek().is_some_and(|(_, line)| line.starts_with('{'));
    for (number, line) in lines {
        if json { reader.json(number, line)? } else { reader.line(number, line)? }
    }
    reader.end()?;
    Ok(reader)
}

/// The line that is wrong, and why.
type Wrong = (usize, String);

/// Gives targets away when they are complete.
struct Reader<Take> {
    take: Take,
    /// The target that more lines can belong to, and the line where it begins.
    open: Option<(usize, TargetSpec)>,
    /// How many there were.
    count: usize,
    /// The bodies that were read, by their paths.
    bodies: HashMap<String, Bytes>,
}

impl<Take: FnMut(TargetSpec) -> Told<()>> Reader<Take> {
    /// Reads a line of the http format.
    fn line(&mut self, number: usize, line: &str) -> Result<(), Wrong> {
        let here = |told| (number, told);
        if line.is_empty() {
            return self.end();
        }
        match self.open.as_mut().filter(|_| !is_request(line)) {
            Some((_, target)) if line.starts_with('@') => {
                target.body = body(&mut self.bodies, &line[1..]).map_err(here)?;
                self.end()
            }
            Some((_, target)) => {
                target.headers.push(header_line(line).map_err(here)?);
                Ok(())
            }
            None => {
                self.end()?;
                self.open = Some((number, request(line).map_err(here)?));
                Ok(())
            }
        }
    }

    /// Reads a line of the JSON format.
    fn json(&mut self, number: usize, line: &str) -> Result<(), Wrong> {
        let here = |told| (number, told);
        if !line.is_empty() {
            let target: JsonTarget =
                serde_json::from_str(line).map_err(|error| here(not_json(&error)))?;
            self.open = Some((number, target.spec().map_err(here)?));
        }
        self.end()
    }

    /// The open target is complete.
    fn end(&mut self) -> Result<(), Wrong> {
        let Some((number, target)) = self.open.take() else { return Ok(()) };
        self.count += 1;
        (self.take)(target).map_err(|told| (number, told))
    }
}

/// Whether a line begins with a word in capitals and a blank, and is no header with a blank before
/// its colon.
fn is_request(line: &str) -> bool {
    if line.split_once(char::is_whitespace).is_some_and(|(first, _)| weight(first).is_some()) {
        return true;
    }
    let first = line.split_once(char::is_whitespace).map_or("", |(first, _)| first);
    !first.is_empty() && first.chars().all(|c| c.is_ascii_uppercase()) && !is_part(line)
}

/// Whether a line looks like a header or a body.
fn is_part(line: &str) -> bool {
    let is_header = |(name, value): (&str, &str)| {
        HeaderName::from_bytes(name.trim_end().as_bytes()).is_ok() && !value.starts_with("//")
    };
    line.starts_with('@') || line.split_once(':').is_some_and(is_header)
}

fn request(line: &str) -> Told<TargetSpec> {
    if is_part(line) {
        return Err(format!("{line:?} has no request line directly above; {REQUEST}"));
    }
    let (weight, line) = match line.split_once(char::is_whitespace) {
        Some((first, rest)) if weight(first).is_some() => (weight(first).unwrap_or(0), rest.trim()),
        _ => (1, line),
    };
    let (name, address) = line
        .split_once(char::is_whitespace)
        .ok_or_else(|| format!("{line:?} is not a target; {REQUEST}"))?;
    Ok(TargetSpec { weight: checked(weight)?, ..target(name, address.trim())? })
}

/// Reads a URL, or a method and a URL.
pub(crate) fn method_and_url(text: &str) -> Told<TargetSpec> {
    let is_method = |first: &str| first.chars().all(|c| c.is_ascii_uppercase());
    let (name, address) = match text.split_once(char::is_whitespace) {
        Some((first, address)) if is_method(first) => (first, address.trim()),
        _ => ("GET", text),
    };
    target(name, address)
}

fn target(name: &str, address: &str) -> Told<TargetSpec> {
    let (method, url) = (method(name)?, template::url(address)?);
    let (headers, body, form) = (Vec::new(), Bytes::new(), Vec::new());
    Ok(TargetSpec { method, url, headers, body, form, weight: 1 })
}

/// The number of a word such as `3x`.
fn weight(word: &str) -> Option<u32> {
    word.strip_suffix('x')?.parse().ok()
}

fn checked(weight: u32) -> Told<u32> {
    if weight == 0 { Err(WEIGHT.to_owned()) } else { Ok(weight) }
}

/// Reads a method.
pub(crate) fn method(name: &str) -> Told<Method> {
    let capitals = !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase());
    let method = Method::from_bytes(name.as_bytes()).ok().filter(|_| capitals);
    method.ok_or_else(|| format!("{name:?} is not a method; write one in capitals, as in GET"))
}

fn header_line(line: &str) -> Told<(HeaderName, HeaderValue)> {
    let (name, value) =
        line.split_once(':').ok_or_else(|| format!("{line:?} is not a header; {HEADER}"))?;
    header(name.trim(), value.trim())
}

/// Reads a header.
pub(crate) fn header(name: &str, value: &str) -> Told<(HeaderName, HeaderValue)> {
    let wrong = |text: &str, what| format!("{text:?} is not the {what} of a header; {HEADER}");
    Ok((
        HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong(name, "name"))?,
        HeaderValue::from_bytes(value.as_bytes()).map_err(|_| wrong(value, "value"))?,
    ))
}

/// What is in a file, which is read once.
fn body(known: &mut HashMap<String, Bytes>, path: &str) -> Told<Bytes> {
    if let Some(body) = known.get(path) {
        return Ok(body.clone());
    }
    if path.is_empty() {
        return Err("the path of the body is missing; write @ and a path".to_owned());
    }
    let body = fs::read(path).map(Bytes::from).map_err(|error| {
        format!("cannot read {path:?}: {error}; write a path from the working directory")
    })?;
    known.insert(path.to_owned(), body.clone());
    Ok(body)
}

/// A target in JSON.
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
        let body = BASE64_STANDARD.decode(&self.body);
        Ok(TargetSpec {
            method: method(&self.method)?,
            url: template::url(&self.url)?,
            headers: self.header.into_iter().flat_map(named).collect::<Told<_>>()?,
            body: body.map_err(|error| format!("body: {error}; write it in base64"))?.into(),
            form: Vec::new(),
            weight: checked(self.weight)?,
        })
    }
}

/// The error of serde ends with its place, which begins with line 1.
fn not_json(error: &serde_json::Error) -> String {
    let (told, column) = (error.to_string(), error.column());
    let told = told.rsplit_once(" at line ").map_or("", |(told, _)| told).replace('\n', " ");
    format!("column {column}: {told}; {OBJECT}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tempfile::TempDir;

    /// All targets in a text, and the paths of their bodies.
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

    /// Targets in short: method, URL, headers, body.
    fn short(text: &str) -> Vec<String> {
        let (targets, _) = all(text).unwrap_or_else(|error| panic!("{text:?}: {error:?}"));
        let header = |(name, value): &(HeaderName, HeaderValue)| {
            format!(" {name}={}", String::from_utf8_lossy(value.as_bytes()))
        };
        let one = |target: &TargetSpec| {
            let weight =
                if target.weight == 1 { String::new() } else { format!("{}x ", target.weight) };
            let headers: String = target.headers.iter().map(header).collect();
            let body = String::from_utf8_lossy(&target.body);
            format!("{weight}{} {}{headers} {body}", target.method, target.url)
        };
        targets.iter().map(|target| one(target).trim_end().to_owned()).collect()
    }

    #[test]
    fn texts_and_their_targets() {
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
            ("", &[]),
            ("# nothing\n\n", &[]),
        ] {
            assert_eq!(short(text), expected, "{text:?}");
        }
    }

    #[test]
    fn objects_and_their_targets() {
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
    fn an_error_has_its_line_and_says_what_to_write() {
        for (text, line, expected) in [
            (
                "GET",
                1,
                r#""GET" is not a target; write METHOD URL, as in GET http://127.0.0.1:8080/"#,
            ),
            ("http://a/", 1, r#""http://a/" is not a target; write METHOD URL"#),
            ("get http://a/", 1, r#""get" is not a method; write one in capitals"#),
            ("\nX: 1", 2, r#""X: 1" has no request line directly above; write METHOD URL"#),
            ("0x GET http://a/", 1, "write a weight from 1 on, as in 3x GET"),
            ("-1x GET http://a/", 1, r#""-1x" is not a method"#),
            ("3x get http://a/", 1, r#""get" is not a method"#),
            (r#"{"method": "GET", "url": "http://a/", "weight": 0}"#, 1, "write a weight from 1"),
            ("GET /a", 1, r#""/a" is not a URL with http:// or https:// and a host; write"#),
            ("GET ftp://a/", 1, r#""ftp://a/" is not a URL with http:// or https://"#),
            ("GET http:///a", 1, r#""http:///a" is not a URL"#),
            ("GET http://a/ HTTP/1.1", 1, r#""http://a/ HTTP/1.1" is not a URL (invalid uri"#),
            ("GET http://größe/", 1, r#""http://größe/" is not a URL (invalid uri"#),
            ("GET http://a:99999/", 1, r#""http://a:99999/" has no port from 0"#),
            ("GET http://a/\nAccept x", 2, r#""Accept x" is not a header; write Name: value"#),
            ("GET http://a/\r\n: 1", 2, r#""" is not the name of a header; write Name: value"#),
            ("GET http://a/\nx Y: 1", 2, r#""x Y" is not the name of a header"#),
            ("GET http://a/\nX: \u{1}", 2, r#""\u{1}" is not the value of a header"#),
            ("GET http://a/\n\nX: 1", 3, r#""X: 1" has no request line directly above"#),
            ("GET http://user@a:x/", 1, r#""http://user@a:x/" has no port from 0"#),
            ("GET http://9:99999/", 1, r#""http://9:99999/" has no port from 0"#),
            ("GET http://a:/", 1, r#""http://a:/" has no port from 0 to 65535"#),
            ("GET http://a/\n@", 2, "the path of the body is missing; write @ and a path"),
            ("GET http://a/\n@/nonexistent", 2, r#"cannot read "/nonexistent": No such file"#),
            ("GET http://a/\n\n@x", 3, r#""@x" has no request line directly above"#),
            (r#"{"method": "GET"}"#, 1, "column 17: missing field `url`; write for example {"),
            (
                "{\"method\": \"GET\", \"url\": \"http://a/\"}\nGET http://a/",
                2,
                "column 1: expected value",
            ),
            (
                "{\"method\": \"GET\", \"url\": \"http://a/\", \"x\": 1}",
                1,
                "column 41: unknown field `x`",
            ),
            (r#"{"a\n at line b": 1}"#, 1, "column 16: unknown field `a  at line b`"),
            ("{\"method\": \"GET\", \"url\": \"a\"}", 1, r#""a" is not a URL"#),
            ("{\"method\": \"\", \"url\": \"http://a/\"}", 1, r#""" is not a method"#),
            ("{\"method\": \"GET\", \"url\": \"http://a/\", \"body\": \"?\"}", 1, "body: "),
            (
                "{\"method\": \"GET\", \"url\": \"http://a/\", \"header\": {\"X\": [\"\\n\"]}}",
                1,
                r#""\n" is not the value"#,
            ),
        ] {
            let (number, told) = all(text).expect_err(text);
            assert!(number == line && told.starts_with(expected), "{text:?}: {number}: {told}");
        }
    }

    #[test]
    fn a_body_comes_from_its_file_and_ends_the_target() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a body.bin");
        fs::write(&path, b"a\xff\n").unwrap();
        let path = path.display();
        let text = format!("PUT http://a/\nX: 1\n@{path}\nGET http://b/\nPUT http://a/\n@{path}\n");
        let (targets, bodies) = all(&text).unwrap();
        assert_eq!(targets[0].body, &b"a\xff\n"[..]);
        assert_eq!((targets[0].headers.len(), targets[1].body.len()), (1, 0));
        assert_eq!(
            (targets[2].body.as_ptr(), bodies),
            (targets[0].body.as_ptr(), vec![path.to_string()])
        );
        let (line, told) = all(&format!("PUT http://a/\n@{path}\nX: 1")).unwrap_err();
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
            (&b"# none\n"[..], "FILE: there is no target in it; write METHOD URL"),
            (b"\xff", "cannot read FILE: "),
            (b"GET http://a/\n\nGET", "FILE line 3: \"GET\" is not a target"),
            (b"\nPUT http://a/\nX: 1\n\nGET http://a/", "FILE line 2: cannot be resolved"),
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
            if let Err((line, told)) = all(&text) {
                prop_assert!((1..=text.lines().count()).contains(&line));
                prop_assert_eq!(told.lines().count(), 1, "{}", told);
            }
        }
    }
}
