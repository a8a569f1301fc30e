//! Bodies of answers.

use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use serde::Serialize;

/// An answer with one object.
pub(super) fn json(object: &impl Serialize) -> Response<Full<Bytes>> {
    // Objects of ours have no keys that are not text.
    let mut text = serde_json::to_string(object).unwrap_or_default();
    text.push('\n');
    text_of("application/json", text)
}

/// An answer of now, which nobody should keep.
pub(super) fn text_of(content_type: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
