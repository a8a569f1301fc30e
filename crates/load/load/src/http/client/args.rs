//! Defines the options of `nanopace run` for requests and connections. Their doc comments are `--help` texts.

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

pub(crate) const HAS_HTTP2: bool = cfg!(feature = "http2");

pub(crate) const CONNECTIONS: &str = "Connections";

#[derive(Debug, Args)]
#[command(next_help_heading = "Requests")]
#[expect(clippy::struct_excessive_bools, reason = "the fields are command-line switches")]
pub(crate) struct ClientArgs {
    /// Send requests with this method [default: GET; POST with a body]
    #[arg(long, short = 'X', visible_short_alias = 'm', value_name = "METHOD")]
    pub(crate) method: Option<Method>,

    /// Add this header to requests, as "Name: value"; repeatable
    #[arg(long, short = 'H', value_name = "HEADER")]
    pub(crate) header: Vec<Header>,

    /// Send this body with every request [see: help templates]
    #[arg(long, short = 'd', value_name = "TEXT", conflicts_with = "body_file", value_parser = body)]
    pub(crate) body: Option<String>,

    /// Send the content of this file as the body of every request
    #[arg(long, short = 'D', value_name = "FILE")]
    pub(crate) body_file: Option<PathBuf>,

    /// Send a form field: NAME=VALUE, NAME=@FILE or NAME=<FILE; append ;type=TYPE or ;filename=NAME; repeatable
    #[arg(long, short = 'F', value_name = "FIELD", conflicts_with_all = ["body", "body_file"])]
    pub(crate) form: Vec<Field>,

    /// Use HTTP/2 instead of HTTP/1.1
    #[arg(long, hide = !HAS_HTTP2, help_heading = CONNECTIONS)]
    pub(crate) http2: bool,

    /// Allow this number of requests in flight per HTTP/2 connection; --connections sets the total in flight
    #[arg(long, hide = !HAS_HTTP2, help_heading = CONNECTIONS, value_name = "COUNT", default_value = "1", requires = "http2", conflicts_with_all = ["connection_requests", "connection_age"], value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) streams: u32,

    /// Open a new connection for each request
    #[arg(long, conflicts_with = "http2", help_heading = CONNECTIONS)]
    pub(crate) disable_keepalive: bool,

    /// Replace a connection after this number of requests [default: no limit]
    #[arg(long, help_heading = CONNECTIONS, value_name = "COUNT", conflicts_with = "disable_keepalive", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) connection_requests: Option<u64>,

    /// Replace a connection that has been open for this time [default: no limit]
    #[arg(long, help_heading = CONNECTIONS, value_name = "TIME", conflicts_with = "disable_keepalive", value_parser = positive_duration)]
    pub(crate) connection_age: Option<Duration>,

    /// Count a request as failed if the server closed its idle connection [default: retry GET, HEAD, OPTIONS and
    /// TRACE once]
    #[arg(long, help_heading = CONNECTIONS)]
    pub(crate) no_retry_idle: bool,

    /// Send back the cookies that earlier responses of the same session or scenario have set
    #[arg(long, conflicts_with = "items")]
    pub(crate) cookies: bool,

    /// Authenticate with this name and password (Authorization header)
    #[arg(long, short = 'a', value_name = "USER:PASS", value_parser = user)]
    pub(crate) basic_auth: Option<String>,

    /// Time streamed items; KIND is lines or sse, optionally with a JSON pointer: "sse /choices/0/delta/content" [see:
    /// help requirements]
    #[arg(long, value_name = "KIND")]
    pub(crate) items: Option<Items>,

    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
}

impl ClientArgs {
    /// As in curl, the default is POST if the request has a body, and GET otherwise.
    pub(crate) fn method(&self) -> Method {
        let has_body = self.body.is_some() || self.body_file.is_some() || !self.form.is_empty();
        self.method.clone().unwrap_or(if has_body { Method::POST } else { Method::GET })
    }

    pub(crate) fn check(&self) -> anyhow::Result<()> {
        once::check(self.header.iter().map(|header| &header.name)).context("--header")?;
        self.connection.check()
    }
}

/// Rejects a body that is a duration, because `-d 30s` sets the duration of the run in wrk and k6.
fn body(text: &str) -> Result<String, String> {
    match humantime::parse_duration(text) {
        Ok(_) => Err(format!(
            "-d sets the body of requests; for a duration, write --duration {text}; for this body, write --body-file FILE"
        )),
        Err(_) => Ok(text.to_owned()),
    }
}

fn user(text: &str) -> Result<String, String> {
    let has_password = text.contains(':') && !text.contains(char::is_control);
    if has_password { Ok(text.to_owned()) } else { Err("write USER:PASSWORD".to_owned()) }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Header {
    pub(crate) name: HeaderName,
    pub(crate) value: HeaderValue,
}

impl FromStr for Header {
    type Err = String;

    fn from_str(text: &str) -> Result<Header, String> {
        let (name, value) =
            text.split_once(':').ok_or("write Name: value, as in \"Accept: text/html\"")?;
        Ok(Header {
            name: name
                .trim()
                .parse()
                .map_err(|_| format!("{name:?} is not a valid header name"))?,
            value: value
                .trim()
                .parse()
                .map_err(|_| format!("{value:?} is not a valid header value"))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_not_taken_for_a_body() {
        assert!(body("30s").unwrap_err().contains("write --duration 30s"));
        for text in ["", "30", "x=1", "{\"for\": \"30s\"}"] {
            assert_eq!(body(text).as_deref(), Ok(text));
        }
    }

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
