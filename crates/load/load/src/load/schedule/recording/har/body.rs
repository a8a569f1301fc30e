//! Reads the body of a HAR entry.

use super::fields::{Field, announce_body};
use crate::load::schedule::recording::request::of_base64;
use hyper::body::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PostData {
    mime_type: Option<String>,
    text: Option<String>,
    encoding: Option<String>,
    params: Option<Vec<Param>>,
}

#[derive(Deserialize)]
struct Param {
    name: String,
    value: Option<String>,
}

const FORM: &str = "application/x-www-form-urlencoded";

/// Characters that are percent-encoded in a form (URL standard, section 5.2).
const NOT_IN_FORMS: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'*').remove(b'-').remove(b'.').remove(b'_').remove(b' ');

/// Returns `None` if the file does not contain the body. `size` is in bytes, and negative if it is unknown.
pub(super) fn of(
    post_data: Option<&PostData>,
    size: Option<i64>,
    fields: &[Field],
) -> Result<Option<Bytes>, String> {
    let may_be_empty = size.is_none_or(|size| size <= 0) && !announce_body(fields);
    let Some(PostData { text, encoding, .. }) = post_data else {
        return Ok(may_be_empty.then(Bytes::new));
    };
    let form = post_data.and_then(PostData::form);
    let body = match (text.as_deref().filter(|text| !text.is_empty()), encoding.as_deref()) {
        (Some(text), Some("base64")) => Some(of_base64(text)?),
        (Some(text), _) => Some(text.to_owned().into()),
        (None, _) => form.or_else(|| text.is_some().then(Bytes::new)),
    };
    Ok(body.filter(|body| may_be_empty || !body.is_empty()))
}

impl PostData {
    fn form(&self) -> Option<Bytes> {
        let kind = self.mime_type.as_deref()?.split(';').next()?.trim();
        let params = self.params.as_ref().filter(|_| kind.eq_ignore_ascii_case(FORM))?;
        let pairs = params.iter().map(|Param { name, value }| {
            format!("{}={}", encoded(name), encoded(value.as_deref().unwrap_or_default()))
        });
        Some(pairs.collect::<Vec<_>>().join("&").into())
    }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NOT_IN_FORMS).to_string().replace(' ', "+")
}
