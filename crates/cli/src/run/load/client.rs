//! An HTTP client: one connection, one request at a time.

use crate::run::recording::operation::Failure;
use anyhow::{Context, bail};
use std::io;
use std::time::Duration;
use ureq::Agent;
use ureq::http::Uri;

/// Reads a URL that requests can be sent to.
pub(crate) fn http_url(text: &str) -> anyhow::Result<Uri> {
    let uri: Uri = text.parse().with_context(|| format!("{text:?} is not a URL"))?;
    match (uri.scheme_str(), uri.host()) {
        (Some("http"), Some(host)) if !host.is_empty() => Ok(uri),
        (Some("https"), _) => {
            bail!("https is not supported: give an http:// URL instead of {text:?}")
        }
        _ => bail!("write the URL as http://HOST:PORT/PATH, not {text:?}"),
    }
}

/// Sends one request at a time over a connection that is kept open.
#[derive(Debug)]
pub(crate) struct Client {
    agent: Agent,
    uri: Uri,
}

impl Client {
    /// A client that gives a request up after `timeout`.
    pub(crate) fn new(uri: &Uri, timeout: Duration) -> Client {
        let config = Agent::config_builder()
            .timeout_global(Some(timeout))
            // The status is checked after the body has been read: only then is the connection free.
            .http_status_as_error(false)
            // Following a redirect would time two requests as one. A proxy from the environment is
            // not the target.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .user_agent(concat!("nanopace/", env!("CARGO_PKG_VERSION")))
            .build();
        Client { agent: config.into(), uri: uri.clone() }
    }

    /// Sends a GET request and reads the whole answer.
    pub(crate) fn get(&self) -> Result<(), Failure> {
        let mut response = self.agent.get(&self.uri).call()?;
        io::copy(&mut response.body_mut().as_reader(), &mut io::sink())
            .map_err(ureq::Error::from)?;
        let status = response.status();
        if status.is_success() || status.is_redirection() {
            Ok(())
        } else {
            Err(Failure::Status(status.as_u16()))
        }
    }
}

impl From<ureq::Error> for Failure {
    fn from(error: ureq::Error) -> Failure {
        match error {
            ureq::Error::Timeout(_) => Failure::Timeout,
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::TimedOut => Failure::Timeout,
            ureq::Error::Io(error) => Failure::Connection(error.kind()),
            ureq::Error::HostNotFound => Failure::UnknownHost,
            ureq::Error::ConnectionFailed => Failure::Connection(io::ErrorKind::Other),
            _ => Failure::Protocol,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    /// A server that gives each connection one canned answer; an empty one just hangs up.
    fn server(answer: &'static str) -> Uri {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let uri = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        uri
    }

    fn get(answer: &'static str) -> Result<(), Failure> {
        Client::new(&server(answer), Duration::from_secs(20)).get()
    }

    #[test]
    fn answers_are_told_from_failures() {
        for (answer, outcome) in [
            ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", Ok(())),
            ("HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n", Ok(())),
            ("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", Err(Failure::Status(404))),
            ("HTTP/1.1 503 Busy\r\ncontent-length: 2\r\n\r\nno", Err(Failure::Status(503))),
        ] {
            assert_eq!(get(answer), outcome, "{answer:?}");
        }
    }

    #[test]
    fn a_cut_answer_is_a_failure() {
        for answer in ["", "HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\nok", "nonsense\r\n\r\n"] {
            let outcome = get(answer);
            assert!(
                outcome.is_err() && outcome != Err(Failure::Timeout),
                "{answer:?}: {outcome:?}"
            );
        }
    }

    #[test]
    fn a_silent_server_is_a_timeout() {
        // The listener's backlog accepts the connection, but nothing ever answers.
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let uri = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        assert_eq!(Client::new(&uri, Duration::from_millis(20)).get(), Err(Failure::Timeout));
    }

    #[test]
    fn only_complete_http_urls_are_taken() {
        for url in ["http://localhost/", "http://127.0.0.1:8080", "http://[::1]:80/a?b=c"] {
            assert!(http_url(url).is_ok(), "{url}");
        }
        for url in [
            "",
            "localhost",
            "localhost:8080/x",
            "/path",
            "https://localhost/",
            "ftp://localhost/",
            "http://",
        ] {
            assert!(http_url(url).is_err(), "{url}");
        }
    }
}
