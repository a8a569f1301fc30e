//! Defines the options of `nanopace run` for requests and connections.

use super::request::form::Field;
use super::response::stream_items::Items;
use super::transport::args::ConnectionArgs;
use crate::console::human::positive_duration;
use crate::net::once;
use anyhow::Context;
use clap::Args;
use hyper::Method;
use hyper::header::{HeaderName, HeaderValue};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Whether this build includes HTTP/2.
pub(crate) const HAS_HTTP2: bool = cfg!(feature = "http2");

/// The options for requests and connections.
#[derive(Debug, Args)]
#[command(next_help_heading = "Requests and connections")]
#[expect(clippy::struct_excessive_bools, reason = "they are switches of a command line")]
pub(crate) struct ClientArgs {
    /// Method of the requests [default: GET; POST where a body is given]
    #[arg(long, short = 'X', visible_short_alias = 'm', value_name = "METHOD")]
    pub(crate) method: Option<Method>,

    /// A header of every request, as "Name: value"; may be given again. A target's own header replaces it if a request
    /// may have that header once
    #[arg(long, short = 'H', value_name = "HEADER")]
    pub(crate) header: Vec<Header>,

    /// Body of every request
    #[arg(long, short = 'd', value_name = "TEXT", conflicts_with = "body_file")]
    pub(crate) body: Option<String>,

    /// File with the body of every request
    #[arg(long, short = 'D', value_name = "FILE")]
    pub(crate) body_file: Option<PathBuf>,

    /// A field of a form (multipart/form-data), as NAME=VALUE; may be given again. NAME=@FILE sends the file,
    /// NAME=<FILE what is in it as the value. Behind all of these there may be ;type=TYPE and ;filename=NAME
    #[arg(long, short = 'F', value_name = "FIELD", conflicts_with_all = ["body", "body_file"])]
    pub(crate) form: Vec<Field>,

    /// Speak HTTP/2 only; without it, TLS servers are offered HTTP/1.1
    #[arg(long, hide = !HAS_HTTP2)]
    pub(crate) http2: bool,

    /// The most requests in flight on one HTTP/2 connection. With more than 1, --connections counts requests in flight
    #[arg(long, hide = !HAS_HTTP2, value_name = "COUNT", default_value = "1", requires = "http2", conflicts_with_all = ["connection_requests", "connection_age"], value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) streams: u32,

    /// Open a new connection for each request
    #[arg(long, conflicts_with = "http2")]
    pub(crate) disable_keepalive: bool,

    /// Open a new connection after so many requests on one [default: no limit]
    #[arg(long, value_name = "COUNT", conflicts_with = "disable_keepalive", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) connection_requests: Option<u64>,

    /// Open a new connection in place of one that has been open for this long, when a request needs it [default:
    /// no limit]
    #[arg(long, value_name = "TIME", conflicts_with = "disable_keepalive", value_parser = positive_duration)]
    pub(crate) connection_age: Option<Duration>,

    /// Let a request fail if its kept connection is closed before any byte of the response. By default, GET, HEAD,
    /// OPTIONS and TRACE are sent again once
    #[arg(long)]
    pub(crate) no_retry_idle: bool,

    /// Send back the cookies that answers set. Each connection has its own, and a scenario begins without any
    #[arg(long, conflicts_with = "items")]
    pub(crate) cookies: bool,

    /// Send this name and password (RFC 7617) in the header Authorization
    #[arg(long, short = 'a', value_name = "USER:PASSWORD", value_parser = user)]
    pub(crate) basic_auth: Option<String>,

    /// Answers are streams of items: sse (server-sent events) or lines. Times the first byte, the first item
    /// and the gaps between items, which requirements may be about: "p99 first-item < 500ms". With a JSON pointer, as in
    /// "sse /choices/0/delta/content", the first item is the first one that has content there
    #[arg(long, value_name = "KIND")]
    pub(crate) items: Option<Items>,

    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
}

impl ClientArgs {
    /// The method of requests. As with curl, a request with a body is a POST by default.
    pub(crate) fn method(&self) -> Method {
        let has_body = self.body.is_some() || self.body_file.is_some() || !self.form.is_empty();
        self.method.clone().unwrap_or(if has_body { Method::POST } else { Method::GET })
    }

    /// Rejects headers that are given too often, and addresses for hosts that a proxy resolves.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        once::check(self.header.iter().map(|header| &header.name)).context("--header")?;
        self.connection.check()
    }
}

fn user(text: &str) -> Result<String, String> {
    let has_password = text.contains(':') && !text.contains(char::is_control);
    if has_password { Ok(text.to_owned()) } else { Err("write USER:PASSWORD".to_owned()) }
}

/// A header of a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Header {
    /// Its name.
    pub(crate) name: HeaderName,
    /// Its value.
    pub(crate) value: HeaderValue,
}

impl FromStr for Header {
    type Err = String;

    /// Reads `Name: value`.
    fn from_str(text: &str) -> Result<Header, String> {
        let (name, value) =
            text.split_once(':').ok_or("write Name: value, as in \"Accept: text/html\"")?;
        Ok(Header {
            name: name.trim().parse().map_err(|_| format!("{name:?} is not a header's name"))?,
            value: value
                .trim()
                .parse()
                .map_err(|_| format!("{value:?} is not a header's value"))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_have_a_name_and_a_value() {
        for (text, name, value) in
            [("Accept: text/html", "accept", "text/html"), ("x:", "x", ""), ("A:b:c", "a", "b:c")]
        {
            let header: Header = text.parse().unwrap();
            assert_eq!((header.name.as_str(), header.value.to_str().unwrap()), (name, value));
        }
        for text in ["", "Accept", ": x", "a b: c", "x: \u{7f}"] {
            assert!(text.parse::<Header>().is_err(), "{text:?}");
        }
    }
}
