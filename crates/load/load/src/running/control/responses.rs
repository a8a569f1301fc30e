//! Builds the responses of the control server: JSON objects, text, and rejections with their reasons.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;

pub(super) fn json(object: &impl Serialize) -> Response<Full<Bytes>> {
    // The keys of the objects are strings or integers, so this cannot fail.
    let mut text = serde_json::to_string(object).unwrap_or_default();
    text.push('\n');
    text_of("application/json", text)
}

pub(super) fn text_of(content_type: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[derive(Debug)]
pub(super) struct Refused {
    status: StatusCode,
    reason: String,
    header: Option<(HeaderName, HeaderValue)>,
}

#[derive(Debug, Serialize)]
struct Reason<'a> {
    error: &'a str,
}

impl Refused {
    pub(super) fn new(status: StatusCode, reason: impl Into<String>) -> Refused {
        Refused { status, reason: reason.into(), header: None }
    }

    pub(super) fn with(self, name: HeaderName, value: HeaderValue) -> Refused {
        Refused { header: Some((name, value)), ..self }
    }

    #[cfg(test)]
    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    pub(super) fn response(self) -> Response<Full<Bytes>> {
        let mut response = json(&Reason { error: &self.reason });
        *response.status_mut() = self.status;
        response.headers_mut().extend(self.header);
        response
    }
}
