//! Builds the headers that authenticate requests.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue, PROXY_AUTHORIZATION};

/// Adds the credentials for the server and those for a proxy.
pub(super) fn add_to(
    headers: &mut HeaderMap,
    user: Option<&str>,
    proxy_user: Option<&HeaderValue>,
) {
    if let Some(user) = user {
        headers.append(AUTHORIZATION, basic(user.as_bytes()));
    }
    if let Some(user) = proxy_user {
        headers.append(PROXY_AUTHORIZATION, user.clone());
    }
}

/// Returns the value of a header for basic authentication (RFC 7617, section 2).
pub(crate) fn basic(user: &[u8]) -> HeaderValue {
    let text = format!("Basic {}", BASE64_STANDARD.encode(user));
    let mut value = HeaderValue::try_from(text).expect("base64 can be in a header");
    value.set_sensitive(true);
    value
}
