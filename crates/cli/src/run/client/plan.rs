//! What is sent, and where: everything about requests that is known before the run.

use super::args::{ClientArgs, Header};
use super::endpoint::Endpoint;
use super::targets::{self, TargetSpec};
use super::tls::{self, Trust};
use anyhow::Context;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONNECTION, HOST, HeaderMap, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Uri, Version};
use rustls::ClientConfig;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Requests, the servers they go to, and how.
#[derive(Debug)]
pub(crate) struct Plan {
    requests: Vec<Prepared>,
    /// Which request is next, round and round.
    next: AtomicUsize,
    /// The servers.
    pub(crate) endpoints: Vec<Endpoint>,
    /// None if no server speaks TLS.
    pub(crate) tls: Option<Arc<ClientConfig>>,
    /// Whether HTTP/2 is spoken.
    pub(crate) http2: bool,
    /// Whether each request has a connection of its own.
    pub(crate) one_request_each: bool,
    /// The longest time for a request.
    pub(crate) timeout: Duration,
    /// The longest time for a connection.
    pub(crate) connect_timeout: Duration,
}

/// A request ready to be sent, again and again.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Which of the plan's servers it goes to.
    pub(crate) endpoint: usize,
    method: Method,
    uri: Uri,
    version: Version,
    headers: HeaderMap,
    body: Bytes,
}

impl Plan {
    /// Resolves names and reads files. `targets` has at least one request.
    pub(crate) fn new(
        targets: &[TargetSpec],
        args: &ClientArgs,
        trust: Trust<'_>,
    ) -> anyhow::Result<Plan> {
        let mut endpoints: Vec<Endpoint> = Vec::new();
        let mut requests = Vec::new();
        for target in targets {
            let endpoint = endpoint_of(&mut endpoints, &target.url, args)?;
            requests.push(Prepared::new(target, endpoint, &endpoints[endpoint].authority, args)?);
        }
        let has_tls = endpoints.iter().any(|endpoint| endpoint.tls_name.is_some());
        Ok(Plan {
            requests,
            next: AtomicUsize::new(0),
            endpoints,
            tls: has_tls.then(|| tls::config(trust, args.http2)).transpose()?,
            http2: args.http2,
            one_request_each: args.disable_keepalive,
            timeout: args.timeout,
            connect_timeout: args.connect_timeout.min(args.timeout),
        })
    }

    /// The next request.
    pub(crate) fn next(&self) -> &Prepared {
        match &self.requests[..] {
            [only] => only,
            requests => {
                // Relaxed: each count must be unique; nothing is ordered by it. No model: one
                // atomic.
                &requests[self.next.fetch_add(1, Ordering::Relaxed) % requests.len()]
            }
        }
    }
}

fn endpoint_of(
    endpoints: &mut Vec<Endpoint>,
    url: &Uri,
    args: &ClientArgs,
) -> anyhow::Result<usize> {
    let new = Endpoint::new(url, args)?;
    let is_same = |known: &Endpoint| {
        known.authority == new.authority && known.tls_name.is_some() == new.tls_name.is_some()
    };
    Ok(endpoints.iter().position(is_same).unwrap_or_else(|| {
        endpoints.push(new);
        endpoints.len() - 1
    }))
}

impl Prepared {
    fn new(
        target: &TargetSpec,
        endpoint: usize,
        authority: &str,
        args: &ClientArgs,
    ) -> anyhow::Result<Prepared> {
        let mut headers = HeaderMap::new();
        let agent = concat!("nanopace/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, HeaderValue::from_static(agent));
        if !args.http2 {
            headers.insert(HOST, authority.parse().context("not a host")?);
        }
        if args.disable_keepalive {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let own = target.headers.iter().cloned();
        let all = args.header.iter().map(|Header { name, value }| (name.clone(), value.clone()));
        let mut given = HeaderMap::new();
        for (name, value) in all.chain(own) {
            given.append(name, value);
        }
        // What was given takes the place of what would be sent otherwise.
        headers.extend(given);
        let path = target.url.path_and_query().map_or("/", |path| path.as_str());
        // HTTP/2 sends the host with the path.
        let uri = if args.http2 { target.url.clone() } else { path.parse()? };
        let version = if args.http2 { Version::HTTP_2 } else { Version::HTTP_11 };
        let (method, body) = (target.method.clone(), target.body.clone());
        Ok(Prepared { endpoint, method, uri, version, headers, body })
    }

    /// The request, to be sent once.
    pub(crate) fn request(&self) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        *request.version_mut() = self.version;
        *request.headers_mut() = self.headers.clone();
        request
    }
}

/// The one request that the options describe.
pub(crate) fn target_of(url: &str, args: &ClientArgs) -> anyhow::Result<TargetSpec> {
    let url = targets::url(url).map_err(anyhow::Error::msg)?;
    let body = match (&args.body, &args.body_file) {
        (Some(text), _) => Bytes::from(text.clone()),
        (_, Some(path)) => fs::read(path)
            .with_context(|| format!("--body-file: cannot read {}", path.display()))?
            .into(),
        _ => Bytes::new(),
    };
    Ok(TargetSpec { method: args.method.clone(), url, headers: Vec::new(), body })
}
