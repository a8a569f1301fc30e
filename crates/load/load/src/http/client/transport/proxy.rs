//! Parses the address of a proxy, and opens tunnels through the proxy to servers.

use super::http1::head::{ExpectedResponse, Head};
use super::stream::Io;
use crate::http::client::auth;
use crate::http::client::failure::Failure;
use crate::net::url;
use hyper::header::HeaderValue;
use percent_encoding::percent_decode_str;
use std::str::FromStr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const LONGEST_ANSWER: usize = 1 << 14;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Proxy {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: Option<HeaderValue>,
}

impl FromStr for Proxy {
    type Err = String;

    fn from_str(text: &str) -> Result<Proxy, String> {
        let usage = "write http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT";
        let whole = if text.contains("://") { text } else { &format!("http://{text}") };
        let url = url::read(whole).map_err(|_| usage)?;
        let (Some("http"), "/", Some(authority), Some(host), Some(port)) =
            (url.scheme_str(), url.path(), url.authority(), url.host(), url.port_u16())
        else {
            return Err(usage.to_owned());
        };
        let user = authority.as_str().rsplit_once('@').map(|(user, _)| user);
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Proxy { host, port, user: user.map(basic_of_url).transpose()? })
    }
}

impl Proxy {
    pub(crate) fn connect(&self, host: &str, port: u16) -> Vec<u8> {
        let place = format!("{host}:{port}");
        let mut request = format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n").into_bytes();
        if let Some(user) = &self.user {
            let lines = [b"Proxy-Authorization: ", user.as_bytes(), b"\r\n"];
            request.extend_from_slice(&lines.concat());
        }
        request.extend_from_slice(b"\r\n");
        request
    }
}

/// Opens a tunnel with a CONNECT request (RFC 9110, section 9.3.6).
pub(crate) async fn open(io: &mut dyn Io, request: &[u8]) -> Result<(), Failure> {
    let of = |error| Failure::from(&error);
    io.write_all(request).await.map_err(of)?;
    io.flush().await.map_err(of)?;
    let mut answer = Vec::new();
    let head = loop {
        match Head::read(&answer, ExpectedResponse::Connect)? {
            // Interim responses may come before the response (RFC 9110, section 15.2).
            Some(head) if head.is_interim() => drop(answer.drain(..head.size)),
            Some(head) => break head,
            None if answer.len() > LONGEST_ANSWER => return Err(Failure::TooLarge),
            None if io.read_buf(&mut answer).await.map_err(of)? == 0 => {
                return Err(Failure::HungUp);
            }
            None => {}
        }
    };
    match head.status {
        // With TLS, the client sends first, so any bytes after the head are an error.
        status if status.is_success() && answer.len() == head.size => Ok(()),
        status if status.is_success() => Err(Failure::Protocol),
        status => Err(Failure::Proxy(status.as_u16())),
    }
}

fn basic_of_url(user: &str) -> Result<HeaderValue, String> {
    let user: Vec<u8> = percent_decode_str(user).collect();
    let has_password = user.contains(&b':') && !user.iter().any(u8::is_ascii_control);
    has_password
        .then(|| auth::basic(&user))
        .ok_or_else(|| "write USER:PASSWORD before the @".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::runtime::Builder;

    #[test]
    fn interim_responses_of_a_proxy_are_skipped() {
        let interim = "HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n";
        for (answer, expected) in [
            ("HTTP/1.1 200 OK\r\n\r\n", Ok(())),
            ("HTTP/1.1 407 No\r\n\r\n", Err(Failure::Proxy(407))),
            ("HTTP/1.1 101 No\r\n\r\n", Err(Failure::Proxy(101))),
            ("HTTP/1.1 200 OK\r\n\r\nmore", Err(Failure::Protocol)),
            ("HTTP/1.1 200 OK\r\n", Err(Failure::HungUp)),
            ("", Err(Failure::HungUp)),
        ] {
            for interims in 0..3 {
                let answer = interim.repeat(interims) + answer;
                let opened = async {
                    let (mut client, mut server) = tokio::io::duplex(1 << 16);
                    server.write_all(answer.as_bytes()).await.unwrap();
                    server.shutdown().await.unwrap();
                    open(&mut client, b"CONNECT h:1 HTTP/1.1\r\n\r\n").await
                };
                let runtime = Builder::new_current_thread().build().unwrap();
                assert_eq!(runtime.block_on(opened), expected, "{answer}");
            }
        }
    }

    #[test]
    fn a_proxy_is_a_host_and_a_port_and_perhaps_a_user() {
        // This is the example of RFC 7617. The special characters are percent-encoded.
        let user = "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==";
        for (text, host, port, expected) in [
            ("http://10.0.0.1:3128", "10.0.0.1", 3128, None),
            ("proxy:80", "proxy", 80, None),
            ("http://[::1]:3128/", "::1", 3128, None),
            ("http://Aladdin:open%20sesame@proxy:8080/", "proxy", 8080, Some(user)),
        ] {
            let proxy: Proxy = text.parse().unwrap();
            assert_eq!((proxy.host.as_str(), proxy.port), (host, port));
            assert_eq!(proxy.user.as_ref().map(|user| user.to_str().unwrap()), expected);
        }
        for text in [
            "",
            "proxy",
            "http://proxy/",
            "https://proxy:1/",
            "socks5://proxy:1/",
            "http://proxy:1/path",
            "http://proxy:99999/",
            "http://user@proxy:1/",
            "http://a%0a:b@proxy:1/",
        ] {
            assert!(text.parse::<Proxy>().is_err(), "{text}");
        }
    }
}
