//! What is not done, and why.

use super::body::json;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;

/// The answer to a request that changes nothing.
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

    /// With this header.
    pub(super) fn with(self, name: HeaderName, value: HeaderValue) -> Refused {
        Refused { header: Some((name, value)), ..self }
    }

    #[cfg(test)]
    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    /// As JSON.
    pub(super) fn response(self) -> Response<Full<Bytes>> {
        let mut response = json(&Reason { error: &self.reason });
        *response.status_mut() = self.status;
        response.headers_mut().extend(self.header);
        response
    }
}
