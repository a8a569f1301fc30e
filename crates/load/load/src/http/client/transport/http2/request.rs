//! Builds requests for hyper.

use crate::http::client::failure::Failure;
use crate::http::client::request::body::Flow;
use crate::http::client::request::request_parts::RequestParts;
use crate::http::client::request::requests::{Common, authority};
use hyper::header::{CONTENT_LENGTH, COOKIE, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::http::uri::PathAndQuery;
use hyper::{Method, Request, Uri, Version};

const CHECKED: &str = "it was read before";

/// Returns a failure if the values of placeholders make the path too long for hyper.
pub(crate) fn request(
    parts: &RequestParts<'_>,
    body: Flow,
    common: &Common,
) -> Result<Request<Flow>, Failure> {
    let method = Method::from_bytes(parts.method).expect(CHECKED);
    let path = PathAndQuery::try_from(parts.path).map_err(|_| Failure::LongPath)?;
    let mut headers = headers(parts, common);
    // Some servers require a length for these methods even without a body.
    if parts.body_length() == 0 && [Method::POST, Method::PUT, Method::PATCH].contains(&method) {
        headers.entry(CONTENT_LENGTH).or_insert(HeaderValue::from_static("0"));
    }
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = uri(&common.url, path, &mut headers);
    *request.version_mut() = Version::HTTP_2;
    *request.headers_mut() = headers;
    Ok(request)
}

/// Returns the URL of the request. hyper takes `:authority` from the URL, so the value of a header `Host` replaces the
/// host of the URL.
fn uri(whole: &Uri, path: PathAndQuery, headers: &mut HeaderMap) -> Uri {
    let mut parts = whole.clone().into_parts();
    parts.path_and_query = Some(path);
    if let Some(host) = headers.get_all(HOST).iter().next_back() {
        parts.authority = Some(authority(host).expect(CHECKED));
    }
    headers.remove(HOST);
    Uri::from_parts(parts).expect(CHECKED)
}

/// Returns the headers of the request. Headers from the options and from the request replace default headers of the
/// same name.
fn headers(parts: &RequestParts<'_>, common: &Common) -> HeaderMap {
    let mut given = common.given.clone();
    for (name, value) in parts.headers() {
        let name = HeaderName::from_bytes(name).expect(CHECKED);
        given.append(name, HeaderValue::from_bytes(value).expect(CHECKED));
    }
    if !parts.cookie.is_empty() {
        given.insert(COOKIE, HeaderValue::from_bytes(parts.cookie).expect(CHECKED));
    }
    let mut headers = common.usual.clone();
    headers.extend(given);
    headers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::client::request::requests::Requests;
    use crate::http::client::request::targets::TargetSpec;
    use hyper::body::Bytes;
    use hyper::header::USER_AGENT;

    const NONE: Vec<String> = Vec::new();

    #[test]
    fn the_url_has_the_given_host_and_the_header_is_removed() {
        let pair = |name, value| (HeaderName::from_static(name), HeaderValue::from_static(value));
        let common = Common {
            url: "https://h:1/first".parse().unwrap(),
            is_to_proxy: false,
            usual: [pair("user-agent", "us")].into_iter().collect(),
            given: [pair("x", "for all")].into_iter().collect(),
        };
        let mut requests = Requests::default();
        let own = [pair("x", "1"), pair("host", "other"), pair("x", ""), pair("y", "a: b")];
        for (url, headers) in [("https://h:1/a?b=c", vec![]), ("https://h:1", own.into())] {
            let (url, body) = (url.parse().unwrap(), Bytes::new().into());
            let (method, form) = (Method::PUT, Vec::new());
            let target = TargetSpec { method, url, headers, body, form, weight: 1 };
            requests.add(&target, 0, 0).unwrap();
        }
        let [one, two] = [0, 1].map(|index| {
            request(&requests.get(index), Flow::of(&Bytes::new().into()), &common).unwrap()
        });
        assert_eq!(
            (one.uri().to_string(), one.method()),
            ("https://h:1/a?b=c".into(), &Method::PUT)
        );
        assert_eq!(two.uri(), "https://other/");
        let all = |request: &Request<Flow>, name| -> Vec<String> {
            let values = request.headers().get_all(name).iter();
            values.map(|value| value.to_str().unwrap().to_owned()).collect()
        };
        assert_eq!(
            (all(&one, "x"), all(&two, "x")),
            (vec!["for all".into()], vec!["for all".into(), "1".into(), String::new()])
        );
        assert_eq!(
            (all(&two, USER_AGENT.as_str()), all(&two, "y")),
            (vec!["us".into()], vec!["a: b".into()])
        );
        assert_eq!(
            (all(&one, "host"), all(&two, "host"), all(&two, "content-length")),
            (NONE, NONE, vec!["0".into()])
        );
    }
}
