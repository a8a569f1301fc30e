//! Parses the options for form fields, and builds the body of a form as browsers send it (RFC 7578).

use crate::console::input;
use crate::http::template::is_one;
use anyhow::Context;
use fastrand::Rng;
use hyper::body::Bytes;
use hyper::header::HeaderValue;
use std::path::{Path, PathBuf};
use std::str::FromStr;

const USAGE: &str = "write NAME=VALUE, or NAME=@FILE, as in photo=@cat.jpg;type=image/jpeg";

const KINDS: [(&str, &str); 10] = [
    ("gif", "image/gif"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("pdf", "application/pdf"),
    ("xml", "application/xml"),
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    name: String,
    value: Value,
    kind: Option<String>,
    file_name: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Text(String),
    Upload(PathBuf),
    Content(PathBuf),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String, String),
    /// The bytes of a file, in which braces do not start placeholders.
    Bytes(Bytes),
}

impl FromStr for Field {
    type Err = String;

    fn from_str(text: &str) -> Result<Field, String> {
        let (name, rest) =
            text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or(USAGE)?;
        let mark = rest.chars().next().filter(|mark| "@<".contains(*mark));
        let (value, mut rest) = word(&rest[mark.map_or(0, char::len_utf8)..])?;
        let value = match mark {
            Some('@') => Value::Upload(value.into()),
            Some(_) => Value::Content(value.into()),
            None => Value::Text(value),
        };
        let (mut kind, mut file_name) = (None, None);
        while let Some((option, behind)) = option(rest) {
            let to = match option {
                TYPE => &mut kind,
                FILE_NAME => &mut file_name,
                _ => return Err(format!("{option} is not supported; {USAGE}")),
            };
            let (word, behind) = word(behind.trim_start())?;
            (*to, rest) = (Some(word), behind);
        }
        if !rest.is_empty() {
            return Err(format!("{rest:?} is neither ;{TYPE} nor ;{FILE_NAME}; {USAGE}"));
        }
        let field = Field { name: name.to_owned(), value, kind, file_name };
        field.check().map(|()| field)
    }
}

const TYPE: &str = "type=";
const FILE_NAME: &str = "filename=";
/// The options that curl accepts after the value of a form field.
const OPTIONS: [&str; 4] = [TYPE, FILE_NAME, "headers=", "encoder="];

fn option(text: &str) -> Option<(&'static str, &str)> {
    let text = text.trim_start().strip_prefix(';')?.trim_start();
    OPTIONS.into_iter().find_map(|option| {
        let (begin, behind) = text.split_at_checked(option.len())?;
        begin.eq_ignore_ascii_case(option).then_some((option, behind))
    })
}

/// Splits off the first value of the text. In a quoted value, semicolons have no special meaning, and a backslash
/// escapes a quote or a backslash.
fn word(text: &str) -> Result<(String, &str), String> {
    let Some(quoted) = text.strip_prefix('"') else {
        let mut ends = text.match_indices(';').map(|(at, _)| at);
        let Some(end) = ends.find(|at| option(&text[*at..]).is_some()) else {
            return Ok((text.to_owned(), ""));
        };
        return Ok((text[..end].trim_end().to_owned(), &text[end..]));
    };
    let (mut word, mut chars) = (String::new(), quoted.chars());
    loop {
        match chars.next().ok_or("a quoted value has no closing quote")? {
            '"' => return Ok((word, chars.as_str())),
            '\\' if chars.as_str().starts_with(['"', '\\']) => word.extend(chars.next()),
            other => word.push(other),
        }
    }
}

impl Field {
    fn check(&self) -> Result<(), String> {
        let head = [Some(&self.name), self.kind.as_ref(), self.file_name.as_ref()];
        if head.into_iter().flatten().any(|text| is_one(text.as_bytes())) {
            return Err("only the value of a field can contain placeholders".to_owned());
        }
        let kind = self.kind.as_deref().unwrap_or("text/plain");
        let has_both = kind.split_once('/').is_some_and(|(a, b)| !a.is_empty() && !b.is_empty());
        if !has_both || HeaderValue::from_str(kind).is_err() {
            return Err(format!("{kind:?} is not a content type; {USAGE}"));
        }
        match self.file() {
            Some(path) if path.as_os_str().is_empty() => {
                Err(format!("the path of the file is missing; {USAGE}"))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn file(&self) -> Option<&Path> {
        match &self.value {
            Value::Text(_) => None,
            Value::Upload(path) | Value::Content(path) => Some(path),
        }
    }

    /// Returns the head of the field in the body. As in browsers, only characters that would end a quoted name are
    /// escaped.
    fn head(&self, boundary: &str) -> String {
        let upload = match &self.value {
            Value::Upload(path) => Some(path),
            _ => None,
        };
        let name = quoted(&self.name);
        let own = upload.and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
        let given = self.file_name.as_deref();
        let file_name = given.or(own.as_deref());
        let file_name = file_name.map(|name| format!("; filename=\"{}\"", quoted(name)));
        let kind = upload.map(|path| {
            let known = given.and_then(|name| kind_of(Path::new(name))).or_else(|| kind_of(path));
            known.unwrap_or("application/octet-stream")
        });
        let kind = self.kind.as_deref().or(kind);
        let kind = kind.map(|kind| format!("\r\nContent-Type: {kind}"));
        let [file_name, kind] = [file_name, kind].map(Option::unwrap_or_default);
        format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"{file_name}{kind}\r\n\r\n"
        )
    }

    fn read(&self) -> anyhow::Result<Piece> {
        match &self.value {
            Value::Text(text) => Ok(Piece::Text(text.clone(), self.name.clone())),
            Value::Upload(path) | Value::Content(path) => {
                let read = input::read(path);
                let read = read.with_context(|| format!("--form: cannot read {}", path.display()));
                Ok(Piece::Bytes(read?.into()))
            }
        }
    }
}

fn quoted(text: &str) -> String {
    text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

fn kind_of(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?;
    let known = KINDS.into_iter().find(|(its, _)| ending.eq_ignore_ascii_case(its));
    known.map(|(_, kind)| kind)
}

pub(crate) fn body(fields: &[Field]) -> anyhow::Result<(Vec<Piece>, HeaderValue)> {
    let values = fields.iter().map(Field::read).collect::<anyhow::Result<Vec<_>>>()?;
    let boundary = boundary(&values);
    let mut pieces = Vec::new();
    for (field, value) in fields.iter().zip(values) {
        pieces.extend([as_it_is(field.head(&boundary)), value, as_it_is("\r\n".to_owned())]);
    }
    pieces.push(as_it_is(format!("--{boundary}--\r\n")));
    Ok((pieces, HeaderValue::try_from(format!("multipart/form-data; boundary={boundary}"))?))
}

fn as_it_is(text: String) -> Piece {
    Piece::Bytes(text.into())
}

/// Returns a boundary that does not occur in any value. It is the same in every run with the same values.
fn boundary(values: &[Piece]) -> String {
    let mut random = Rng::with_seed(0);
    loop {
        let boundary = format!("nanopace-{:032x}", random.u128(..));
        let is_in = |value: &Piece| {
            value.bytes().windows(boundary.len()).any(|part| part == boundary.as_bytes())
        };
        if !values.iter().any(is_in) {
            return boundary;
        }
    }
}

impl Piece {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Piece::Text(text, _) => text.as_bytes(),
            Piece::Bytes(bytes) => bytes,
        }
    }

    pub(crate) fn is_filled(&self) -> bool {
        matches!(self, Piece::Text(text, _) if is_one(text.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Value {
        Value::Text(value.to_owned())
    }

    #[test]
    fn fields_are_read_as_curl_reads_them() {
        for (line, value, kind, file_name) in [
            ("a=b", text("b"), None, None),
            ("a=", text(""), None, None),
            ("a=b=c;d, e", text("b=c;d, e"), None, None),
            ("a={};type=application/json", text("{}"), Some("application/json"), None),
            ("a=@x/y.png", Value::Upload("x/y.png".into()), None, None),
            ("a=<x", Value::Content("x".into()), None, None),
            ("a= b ; TYPE= a/b ; FileName= c ", text(" b"), Some("a/b"), Some("c ")),
            ("a=\"b\" ; type=a/b;charset=x", text("b"), Some("a/b;charset=x"), None),
            ("a=b;foo=bar; typ", text("b;foo=bar; typ"), None, None),
            (
                "a=@x;filename=f\u{e9}.txt;type=text/plain",
                Value::Upload("x".into()),
                Some("text/plain"),
                Some("f\u{e9}.txt"),
            ),
            (r#"a="@x;type=\"\\\n""#, text(r#"@x;type="\\n"#), None, None),
            (
                r#"a=@"x;type=y";filename="b;c""#,
                Value::Upload("x;type=y".into()),
                None,
                Some("b;c"),
            ),
        ] {
            let (kind, file_name) = (kind.map(str::to_owned), file_name.map(str::to_owned));
            let field = Field { name: "a".to_owned(), value, kind, file_name };
            assert_eq!(line.parse(), Ok(field), "{line}");
        }
    }

    #[test]
    fn an_invalid_field_is_rejected_with_its_reason() {
        for (line, told) in [
            ("a", USAGE),
            ("=b", USAGE),
            ("a=@", "the path of the file is missing"),
            ("a=\"b", "a quoted value has no closing quote"),
            ("a=\"b\"c", "\"c\" is neither ;type= nor ;filename="),
            ("a=b;type=x/\ny", "\"x/\\ny\" is not a content type"),
            ("a=b;type=", "\"\" is not a content type"),
            ("a=b;type=bogus", "\"bogus\" is not a content type"),
            ("a=b;headers=\"X: 1\"", "headers= is not supported"),
            ("a=@b;type=a/b; Encoder=base64", "encoder= is not supported"),
            ("{{slot}}=b", "only the value of a field can contain placeholders"),
            ("a=@b;filename={{uuid}}", "only the value of a field can contain placeholders"),
        ] {
            let error = line.parse::<Field>().unwrap_err();
            assert!(error.starts_with(told), "{line}: {error}");
        }
    }

    #[test]
    fn the_type_of_a_file_comes_from_the_name_that_is_sent() {
        for (line, kind) in [
            ("a=@x.htm", "text/html"),
            ("a=@x.PNG", "image/png"),
            ("a=@x.png;filename=y.txt", "text/plain"),
            ("a=@x.png;filename=y", "image/png"),
            ("a=@x;filename=y.csv", "application/octet-stream"),
        ] {
            let head = line.parse::<Field>().unwrap().head("");
            assert!(head.ends_with(&format!("\r\nContent-Type: {kind}\r\n\r\n")), "{head}");
        }
    }

    #[test]
    fn a_boundary_occurs_in_no_value() {
        let first = boundary(&[]);
        assert_eq!(first, boundary(&[as_it_is("a".to_owned())]));
        let second = boundary(&[as_it_is("a".to_owned()), as_it_is(format!("--{first}--"))]);
        assert!(second != first && second.len() == first.len());
    }
}
