//! Creates the responses to rejected requests.

use crate::Rejection;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode, Version};

/// Makes responses to rejected requests, with a body of type `R`. Every function from `(&Rejection, &Parts)` to
/// `Response<R>` implements this trait.
///
/// If the limits rejected the request, the layer adds the header fields `RateLimit` and `RateLimit-Policy`
/// ([`Fields`](crate::Fields)). It also adds `Retry-After`, unless that field is set or there is no retry time.
///
/// ```
/// use http::Response;
/// use http::request::Parts;
/// use nanopace_tower::{Limiter, LimitLayer, Rejection};
///
/// let json = |rejection: &Rejection, _: &Parts| {
///     let mut response = Response::new(format!(r#"{{"error":"{rejection}"}}"#));
///     *response.status_mut() = rejection.status();
///     response
/// };
/// let layer = LimitLayer::new(Limiter::per_second(10).build()?).answer(json);
/// # Ok::<(), nanopace_tower::LimitsError>(())
/// ```
pub trait Answer<R> {
    /// Returns the response to a rejected request. `request` contains everything except the body.
    fn answer(&self, rejection: &Rejection, request: &Parts) -> Response<R>;
}

/// The default response: plain text with the [status](Rejection::status) of the rejection, or the response of
/// [`OnlyGrpc`] if the request is a gRPC request.
///
/// A request counts as a gRPC request if it is a `POST` over HTTP/2 or later whose content type is `application/grpc`,
/// in upper or lower case, alone or followed by `;` or `+`. Requests of gRPC-Web get the plain text, because their
/// clients read the HTTP status.
///
/// The body type of the response has to implement `From<String>`, as axum's body type does. Tonic's body type does not:
/// use [`LimitLayer::grpc`](crate::LimitLayer::grpc) for a server with tonic alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextOrGrpc;

/// A gRPC response without a body: status 200, with `grpc-status` and `grpc-message` among the header fields. The
/// [protocol] calls such a response *Trailers-Only*. [`LimitLayer::grpc`](crate::LimitLayer::grpc) sets this response.
///
/// Over HTTP/1.1 and earlier versions, the status is that of the [rejection](Rejection::status), because gRPC needs
/// HTTP/2.
///
/// | status of the rejection | `grpc-status` |
/// |---|---|
/// | 429 | 8, `RESOURCE_EXHAUSTED` |
/// | 503 | 14, `UNAVAILABLE` |
/// | 403 | 7, `PERMISSION_DENIED` |
/// | 400 | 3, `INVALID_ARGUMENT` |
/// | others | 13, `INTERNAL` |
///
/// [protocol]: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnlyGrpc;

impl<R: From<String>> Answer<R> for TextOrGrpc {
    fn answer(&self, rejection: &Rejection, request: &Parts) -> Response<R> {
        match grpc_type(request) {
            Some(content_type) => grpc(rejection, content_type, String::new().into()),
            None => text(rejection),
        }
    }
}

impl<R: Default> Answer<R> for OnlyGrpc {
    fn answer(&self, rejection: &Rejection, request: &Parts) -> Response<R> {
        let plain = || HeaderValue::from_static("application/grpc");
        let mut response = grpc(rejection, grpc_type(request).unwrap_or_else(plain), R::default());
        if request.version < Version::HTTP_2 {
            *response.status_mut() = rejection.status();
        }
        response
    }
}

impl<R, F: Fn(&Rejection, &Parts) -> Response<R>> Answer<R> for F {
    fn answer(&self, rejection: &Rejection, request: &Parts) -> Response<R> {
        self(rejection, request)
    }
}

const GRPC: &[u8] = b"application/grpc";

fn grpc_type(request: &Parts) -> Option<HeaderValue> {
    let content_type = request.headers.get(CONTENT_TYPE)?;
    let (kind, rest) = content_type.as_bytes().split_at_checked(GRPC.len())?;
    let is_whole = matches!(rest, [] | [b';' | b'+', ..]);
    let is_call = request.method == Method::POST && request.version >= Version::HTTP_2;
    let is_grpc = is_call && is_whole && kind.eq_ignore_ascii_case(GRPC);
    is_grpc.then(|| content_type.clone())
}

fn text<R: From<String>>(rejection: &Rejection) -> Response<R> {
    let mut response = Response::new(format!("{rejection}\n").into());
    *response.status_mut() = rejection.status();
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}

fn grpc<R>(rejection: &Rejection, content_type: HeaderValue, body: R) -> Response<R> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, content_type);
    headers.insert("grpc-status", grpc_status(rejection.status()).into());
    // The messages are ASCII without `%`, so they need not be encoded.
    if let Ok(message) = HeaderValue::try_from(rejection.to_string()) {
        headers.insert("grpc-message", message);
    }
    response
}

fn grpc_status(status: StatusCode) -> u16 {
    match status {
        StatusCode::TOO_MANY_REQUESTS => 8,
        StatusCode::SERVICE_UNAVAILABLE => 14,
        StatusCode::FORBIDDEN => 7,
        StatusCode::BAD_REQUEST => 3,
        _ => 13,
    }
}
