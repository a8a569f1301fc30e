//! What is in an answer, and where.

use crate::http::client::kept::Kept;
use hyper::StatusCode;
use hyper::header::HeaderName;
use regex::bytes::Regex;
use serde_json::Value;
use std::borrow::Cow;
use std::cell::OnceCell;

/// Where something is in an answer.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) part: Part,
    /// If it is not all of that: the first group of the first match, or all of the match.
    pub(crate) regex: Option<Regex>,
}

/// A part of an answer.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// The first header of this name.
    Header(HeaderName),
    /// A place in a body of JSON (RFC 6901).
    Json(String),
    Body,
}

/// An answer that is looked into. Its body is read as JSON once at most.
#[derive(Debug)]
pub(crate) struct Looked<'a> {
    pub(crate) status: StatusCode,
    kept: &'a Kept,
    json: OnceCell<Option<Value>>,
}

impl<'a> Looked<'a> {
    /// An answer with this status.
    pub(crate) fn new(status: StatusCode, kept: &'a Kept) -> Looked<'a> {
        Looked { status, kept, json: OnceCell::new() }
    }

    /// What is there, as text. Null is nothing.
    pub(crate) fn find(&self, source: &Source) -> Option<Cow<'_, [u8]>> {
        let part = self.part(&source.part)?;
        let Some(regex) = &source.regex else { return Some(part) };
        let groups = regex.captures(&part)?;
        let found = if groups.len() > 1 { groups.get(1) } else { groups.get(0) };
        Some(Cow::Owned(found?.as_bytes().to_owned()))
    }

    fn part(&self, part: &Part) -> Option<Cow<'_, [u8]>> {
        match part {
            Part::Header(name) => self.kept.headers.get(name).map(|it| it.as_bytes().into()),
            Part::Json(pointer) => match self.json(pointer)? {
                Value::Null => None,
                Value::String(text) => Some(text.as_bytes().into()),
                other => Some(other.to_string().into_bytes().into()),
            },
            Part::Body => self.kept.body().map(Cow::Borrowed),
        }
    }

    /// What is at a place of its JSON.
    pub(crate) fn json(&self, pointer: &str) -> Option<&Value> {
        let read = || serde_json::from_slice(self.kept.body()?).ok();
        self.json.get_or_init(read).as_ref()?.pointer(pointer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::client::kept::Wanted;
    use crate::http::client::steps::{Check, Condition};
    use crate::http::template::values::Values;
    use nanopace_load::load::kind::Kind;

    fn kept(body: &str) -> Kept {
        let mut kept = Kept::default();
        kept.begin(Wanted { headers: true, body: true });
        kept.head(b"HTTP/1.1 201 Created\r\nlocation: /a/7\r\n\r\n");
        kept.look(body.as_bytes());
        kept
    }

    fn header(name: &'static str) -> Source {
        Source { part: Part::Header(HeaderName::from_static(name)), regex: None }
    }

    fn json(pointer: &str) -> Source {
        Source { part: Part::Json(pointer.to_owned()), regex: None }
    }

    fn matched(text: &str, in_: Source) -> Source {
        Source { regex: Some(Regex::new(text).unwrap()), ..in_ }
    }

    fn regex(text: &str) -> Source {
        matched(text, Source { part: Part::Body, regex: None })
    }

    #[test]
    fn what_is_in_an_answer_is_found() {
        let kept = kept(r#"{"a": {"b/c": ["x", 1.5, null, true]}, "id=12": "é"}"#);
        let answer = Looked::new(StatusCode::CREATED, &kept);
        for (source, found) in [
            (header("location"), Some("/a/7")),
            (header("x"), None),
            (matched("/a/(.*)", header("location")), Some("7")),
            (matched(r"\d$", json("/a/b~1c/1")), Some("5")),
            (matched("b", header("location")), None),
            (json("/a/b~1c/0"), Some("x")),
            (json("/a/b~1c/1"), Some("1.5")),
            (json("/a/b~1c/2"), None),
            (json("/a/b~1c/9"), None),
            (json("/a"), Some(r#"{"b/c":["x",1.5,null,true]}"#)),
            (regex(r"id=(\d+)"), Some("12")),
            (regex(r"id=\d"), Some("id=1")),
            (regex("nothing"), None),
        ] {
            let text =
                answer.find(&source).map(|text| String::from_utf8(text.into_owned()).unwrap());
            assert_eq!(text.as_deref(), found, "{source:?}");
        }
        let none = super::tests::kept("no JSON");
        assert!(Looked::new(StatusCode::OK, &none).find(&json("")).is_none());
    }

    #[test]
    fn an_answer_is_as_it_must_be_or_not() {
        let kept = kept(r#"{"n": 1, "t": "1", "f": false}"#);
        let answer = Looked::new(StatusCode::CREATED, &kept);
        let header = || header("location");
        for (condition, holds) in [
            (Condition::Status(201), true),
            (Condition::Status(200), false),
            (Condition::At(header(), None), true),
            (Condition::At(header(), Some("/a/7".into())), true),
            (Condition::At(header(), Some("/a/8".into())), false),
            (Condition::At(json("/n"), Some(1.into())), true),
            (Condition::At(json("/n"), Some(1.0.into())), true),
            (Condition::At(json("/t"), Some(1.into())), false),
            (Condition::At(json("/f"), Some(false.into())), true),
            (Condition::At(json("/g"), Some(false.into())), false),
            (Condition::At(regex("true|false"), None), true),
        ] {
            let check = Check { kind: Kind::new("check"), condition };
            let mut values = Values::of_slot(0, 0, None);
            assert_eq!(check.holds(&answer, &mut values), holds, "{check:?}");
        }
    }
}
