//! Selects the header fields of a HAR entry that are sent.

use super::left_out::{LeftOut, UNSENDABLE};
use crate::net::once;
use hyper::header::{COOKIE, HeaderName, HeaderValue};
use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) value: String,
}

/// The header fields about the connection and about framing. The client writes its own fields instead.
const OF_A_CONNECTION: [&str; 9] = [
    "connection",
    "content-length",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];

const CONNECTION: &str = "of the connection (Host, Content-Length and others)";
const REPEATED: &str = "repeated";

/// Joins cookies (RFC 9113, section 8.2.3), and drops repetitions of fields that must occur only once.
pub(super) fn sendable(fields: Vec<Field>, left_out: &mut LeftOut) -> Vec<(String, String)> {
    let mut sent: Vec<(HeaderName, (String, String))> = Vec::new();
    for field in fields {
        if field.is_of_connection() {
            left_out.add_field(CONNECTION);
            continue;
        }
        let Some(name) = field.sendable_name() else {
            left_out.add_field(UNSENDABLE);
            continue;
        };
        match sent.iter_mut().find(|(known, _)| *known == name) {
            Some((known, (_, value))) if *known == COOKIE => {
                value.extend(["; ", &field.value]);
            }
            Some((known, _)) if once::is_once(known) => left_out.add_field(REPEATED),
            _ => sent.push((name, (field.name, field.value))),
        }
    }
    sent.into_iter().map(|(_, field)| field).collect()
}

pub(super) fn announce_body(fields: &[Field]) -> bool {
    let announces = |Field { name, value }: &Field| match &*name.to_ascii_lowercase() {
        "content-length" => value.trim().parse::<u64>().is_ok_and(|length| length > 0),
        "transfer-encoding" => true,
        _ => false,
    };
    fields.iter().any(announces)
}

impl Field {
    /// Returns whether the field is about the connection. The pseudo-headers of HTTP/2, which begin with a colon, are
    /// also about the connection.
    fn is_of_connection(&self) -> bool {
        let name = self.name.to_ascii_lowercase();
        name.starts_with(':') || OF_A_CONNECTION.contains(&&*name)
    }

    fn sendable_name(&self) -> Option<HeaderName> {
        let name = HeaderName::from_bytes(self.name.as_bytes()).ok()?;
        HeaderValue::from_bytes(self.value.as_bytes()).ok().map(|_| name)
    }
}
