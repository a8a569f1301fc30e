//! Lists the header fields that a request may contain only once, because they are not lists (RFC 9110, section 5.3).

use anyhow::ensure;
use hyper::header::{
    AGE, AUTHORIZATION, CONTENT_LENGTH, CONTENT_LOCATION, CONTENT_RANGE, CONTENT_TYPE, COOKIE,
    DATE, ETAG, EXPIRES, FROM, HOST, HeaderName, IF_MODIFIED_SINCE, IF_RANGE, IF_UNMODIFIED_SINCE,
    LAST_MODIFIED, LOCATION, MAX_FORWARDS, ORIGIN, PROXY_AUTHORIZATION, RANGE, REFERER,
    RETRY_AFTER, SERVER, USER_AGENT,
};

/// The fields that may occur only once: those of RFC 9110 and 9111, `Cookie` (RFC 6265, section 5.4) and `Origin` (RFC
/// 6454, section 7.3).
const ONCE: [HeaderName; 25] = [
    AGE,
    AUTHORIZATION,
    CONTENT_LENGTH,
    CONTENT_LOCATION,
    CONTENT_RANGE,
    CONTENT_TYPE,
    COOKIE,
    DATE,
    ETAG,
    EXPIRES,
    FROM,
    HOST,
    IF_MODIFIED_SINCE,
    IF_RANGE,
    IF_UNMODIFIED_SINCE,
    LAST_MODIFIED,
    LOCATION,
    MAX_FORWARDS,
    ORIGIN,
    PROXY_AUTHORIZATION,
    RANGE,
    REFERER,
    RETRY_AFTER,
    SERVER,
    USER_AGENT,
];

pub(crate) fn is_once(name: &HeaderName) -> bool {
    ONCE.contains(name)
}

/// Returns an error if one of these fields is repeated. Servers would use one of its values, or reject the request.
pub(crate) fn check<'a>(names: impl Iterator<Item = &'a HeaderName>) -> anyhow::Result<()> {
    let mut seen = Vec::new();
    for name in names.filter(|name| is_once(name)) {
        let advice =
            if *name == COOKIE { "write all cookies in one header" } else { "leave one out" };
        ensure!(
            !seen.contains(&name),
            "the header {name} is given twice, but a request may contain it only once: {advice}"
        );
        seen.push(name);
    }
    Ok(())
}
