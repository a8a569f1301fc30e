//! Extracts values from the headers and the body of a retained response, by JSON pointers and regular expressions.

use super::retained::RetainedResponse;
use hyper::StatusCode;
use hyper::header::HeaderName;
use regex::bytes::Regex;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) part: Part,
    /// The regular expression. The value is the first group of its first match, or the whole match if it has no group.
    pub(crate) regex: Option<Regex>,
}

#[derive(Clone, Debug)]
pub(crate) enum Part {
    Header(HeaderName),
    /// The part of the body at this JSON pointer (RFC 6901).
    Json(String),
    Body,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Absent,
    NoJson,
    TooLong,
    /// The value cannot be used in one of the requests that need it.
    Unfit,
}

impl Missing {
    pub(crate) fn named(self, name: &str) -> String {
        let why = match self {
            Missing::Absent => return name.to_owned(),
            Missing::NoJson => "the body is no JSON",
            Missing::TooLong => "the body is longer than 1 MiB",
            Missing::Unfit => "it can't be where it goes to",
        };
        format!("{name} ({why})")
    }
}

#[derive(Debug)]
pub(crate) struct SearchedResponse<'a> {
    pub(crate) status: StatusCode,
    retained: &'a RetainedResponse,
    whole: OnceCell<Result<&'a RawValue, Missing>>,
}

impl<'a> SearchedResponse<'a> {
    pub(crate) fn new(status: StatusCode, retained: &'a RetainedResponse) -> SearchedResponse<'a> {
        SearchedResponse { status, retained, whole: OnceCell::new() }
    }

    /// Returns the content of a JSON string without quotes. A JSON `null` counts as absent.
    pub(crate) fn find(&self, source: &Source) -> Result<Cow<'a, [u8]>, Missing> {
        let part = self.part(&source.part)?;
        let Some(regex) = &source.regex else { return Ok(part) };
        let groups = regex.captures(&part).ok_or(Missing::Absent)?;
        let found = if groups.len() > 1 { groups.get(1) } else { groups.get(0) };
        let found = found.ok_or(Missing::Absent)?;
        Ok(Cow::Owned(found.as_bytes().to_owned()))
    }

    fn part(&self, part: &Part) -> Result<Cow<'a, [u8]>, Missing> {
        match part {
            Part::Header(name) => {
                let value = self.retained.headers.get(name).ok_or(Missing::Absent)?;
                Ok(value.as_bytes().into())
            }
            Part::Json(pointer) => {
                let text = self.json(pointer)?.get();
                match text.as_bytes().first() {
                    Some(b'n') => Err(Missing::Absent),
                    Some(b'"') => {
                        let text: String =
                            serde_json::from_str(text).map_err(|_| Missing::NoJson)?;
                        Ok(Cow::Owned(text.into_bytes()))
                    }
                    _ => Ok(text.as_bytes().into()),
                }
            }
            Part::Body => self.body().map(Cow::Borrowed),
        }
    }

    fn body(&self) -> Result<&'a [u8], Missing> {
        self.retained.body().ok_or(Missing::TooLong)
    }

    pub(crate) fn json(&self, pointer: &str) -> Result<&'a RawValue, Missing> {
        let read = || serde_json::from_slice(self.body()?).map_err(|_| Missing::NoJson);
        let whole = (*self.whole.get_or_init(read))?;
        let mut tokens = pointer.split('/').skip(1);
        let found = tokens.try_fold(whole, |value, token| {
            child(value, &token.replace("~1", "/").replace("~0", "~"))
        });
        found.ok_or(Missing::Absent)
    }
}

pub(crate) fn is_pointer(text: &str) -> bool {
    let is_escape = |part: &str| part.starts_with(['0', '1']);
    (text.is_empty() || text.starts_with('/')) && text.split('~').skip(1).all(is_escape)
}

fn child<'a>(value: &'a RawValue, token: &str) -> Option<&'a RawValue> {
    let text = value.get();
    if text.starts_with('{') {
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
        return members.get(token).copied();
    }
    let is_number = token == "0" || token.starts_with(|first: char| matches!(first, '1'..='9'));
    let elements: Vec<&RawValue> = serde_json::from_str(text).ok().filter(|_| is_number)?;
    elements.get(token.parse::<usize>().ok()?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::client::response::retained::{LONGEST_BODY, Wanted};
    use crate::http::client::steps::{Check, Condition};
    use crate::http::template::values::Values;
    use serde_json::Value;

    fn retained(body: &str) -> RetainedResponse {
        let mut retained = RetainedResponse::default();
        retained.begin(Wanted { headers: true, body: true });
        retained.head(b"HTTP/1.1 201 Created\r\nlocation: /a/7\r\n\r\n");
        retained.observe_body(body.as_bytes());
        retained
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
    fn values_in_a_response_are_found() {
        let retained = retained(
            r#"{"a": {"b/c": ["x", 1.50, null, true]}, "id=12": "é", "n": [1e2, -0, 18446744073709551616, 1e400]}"#,
        );
        let answer = SearchedResponse::new(StatusCode::CREATED, &retained);
        for (source, found) in [
            (header("location"), Some("/a/7")),
            (header("x"), None),
            (matched("/a/(.*)", header("location")), Some("7")),
            (matched(r"\d$", json("/a/b~1c/1")), Some("0")),
            (matched("b", header("location")), None),
            (json("/a/b~1c/0"), Some("x")),
            (json("/a/b~1c/1"), Some("1.50")),
            (json("/a/b~1c/01"), None),
            (json("/a/b~1c/-"), None),
            (json("/n/0"), Some("1e2")),
            (json("/n/1"), Some("-0")),
            (json("/n/2"), Some("18446744073709551616")),
            (json("/n/3"), Some("1e400")),
            (json("/n/3/0"), None),
            (json("/a/b~1c/2"), None),
            (json("/a/b~1c/9"), None),
            (json("/a"), Some(r#"{"b/c": ["x", 1.50, null, true]}"#)),
            (regex(r"id=(\d+)"), Some("12")),
            (regex(r"id=\d"), Some("id=1")),
            (regex("nothing"), None),
        ] {
            let text =
                answer.find(&source).map(|text| String::from_utf8(text.into_owned()).unwrap());
            assert_eq!(text.as_deref(), found.ok_or(&Missing::Absent), "{source:?}");
        }
    }

    #[test]
    fn a_missing_value_has_a_reason() {
        for (body, source, why) in [
            ("no JSON", json(""), Missing::NoJson),
            ("{} {}", json("/a"), Missing::NoJson),
            (r#"["\ud800"]"#, json("/0"), Missing::NoJson),
            ("{}", json("/a"), Missing::Absent),
            (&"x".repeat(LONGEST_BODY + 1), regex("x"), Missing::TooLong),
            (&"x".repeat(LONGEST_BODY + 1), json(""), Missing::TooLong),
        ] {
            let retained = retained(body);
            assert_eq!(
                SearchedResponse::new(StatusCode::OK, &retained).find(&source),
                Err(why),
                "{source:?}"
            );
        }
        let told = Missing::NoJson.named("one: take t");
        assert_eq!(
            (told.as_str(), Missing::Absent.named("x")),
            ("one: take t (the body is no JSON)", "x".to_owned())
        );
    }

    #[test]
    fn a_response_is_compared_with_the_expected_values() {
        let retained =
            retained(r#"{"n": 1, "t": "1", "f": false, "l": 9007199254740992, "d": 150e-2}"#);
        let answer = SearchedResponse::new(StatusCode::CREATED, &retained);
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
            (Condition::At(json("/l"), Some(9_007_199_254_740_992_i64.into())), true),
            (Condition::At(json("/l"), Some(9_007_199_254_740_993_i64.into())), false),
            (Condition::At(json("/d"), Some(1.5.into())), true),
            (Condition::At(json("/d"), Some(Value::from("1.5"))), false),
            (Condition::At(json("/f"), Some(false.into())), true),
            (Condition::At(json("/g"), Some(false.into())), false),
            (Condition::At(regex("true|false"), None), true),
        ] {
            let check = Check { name: "check".to_owned(), condition };
            let mut values = Values::of_slot(0, 0, None);
            assert_eq!(check.of(&answer, &mut values).is_ok(), holds, "{check:?}");
        }
    }
}
