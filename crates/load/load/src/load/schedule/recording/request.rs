//! Defines a request of a recording.

use super::rows::{Column, Row};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::body::Bytes;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A request whose strings have not been checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RecordedRequest {
    pub(crate) method: Option<String>,
    /// A URL or a path. A method and a blank may precede it.
    pub(crate) url: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: RecordedBody,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RecordedBody {
    Bytes(Bytes),
    File(String),
}

impl Default for RecordedBody {
    fn default() -> RecordedBody {
        RecordedBody::Bytes(Bytes::new())
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Values {
    One(String),
    Several(Vec<String>),
}

pub(super) fn of_row(row: &mut Row) -> Result<Option<RecordedRequest>, String> {
    let columns = [
        Column::Url,
        Column::Method,
        Column::Headers,
        Column::Body,
        Column::BodyFile,
        Column::BodyBase64,
    ];
    let [url, method, headers, body, file, base64] = columns.map(|column| row.take(column));
    let is_there = |field: &Option<String>| field.is_some();
    if ![&url, &method, &headers, &body, &file, &base64].into_iter().any(is_there) {
        return Ok(None);
    }
    let given = |field: Option<String>| field.filter(|text| !text.is_empty());
    let body = match (given(body), given(file), given(base64)) {
        (None, None, None) => RecordedBody::default(),
        (Some(text), None, None) => RecordedBody::Bytes(text.into()),
        (None, Some(path), None) => RecordedBody::File(path),
        (None, None, Some(text)) => RecordedBody::Bytes(of_base64(&text)?),
        _ => return Err("this row has several bodies: leave all but one out".to_owned()),
    };
    let headers = given(headers).map(|text| self::headers(&text)).transpose()?.unwrap_or_default();
    Ok(Some(RecordedRequest { method: given(method), url, headers, body }))
}

pub(super) fn of_base64(text: &str) -> Result<Bytes, String> {
    let bytes = BASE64_STANDARD.decode(text.trim());
    bytes.map(Bytes::from).map_err(|error| format!("the body is not base64: {error}"))
}

fn headers(text: &str) -> Result<Vec<(String, String)>, String> {
    let names: BTreeMap<String, Values> = serde_json::from_str(text)
        .map_err(|_| r#"headers: write a JSON object of strings, as in {"Accept": "text/html"}"#)?;
    let fields = names.into_iter().flat_map(|(name, values)| {
        let values = match values {
            Values::One(value) => vec![value],
            Values::Several(values) => values,
        };
        values.into_iter().map(move |value| (name.clone(), value))
    });
    Ok(fields.collect())
}
