//! Opens streams to a server, directly or through a proxy.

use super::addresses::Addresses;
use super::args::ConnectionArgs;
use super::stamped_stream;
use super::stream::Io;
use crate::console::Unreachable;
use crate::http::client::failure::Failure;
use crate::net::tls::Name;
use anyhow::{Context, bail};
use hyper::Uri;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

#[derive(Debug)]
pub(crate) struct Endpoint {
    /// The host and the port as in the URL. They are the default value of the header Host.
    pub(crate) authority: String,
    /// The name for which the server's certificate must be valid, or `None` if the server is reached without TLS.
    pub(crate) tls_name: Option<Name>,
    route: Route,
    is_stamped: bool,
    pub(crate) tunnel: Option<Vec<u8>>,
    pub(crate) resolved_in: Duration,
}

#[derive(Debug)]
enum Route {
    Tcp(Addresses),
    #[cfg(unix)]
    Unix(PathBuf),
}

impl Endpoint {
    pub(crate) fn new(url: &Uri, args: &ConnectionArgs, http2: bool) -> anyhow::Result<Endpoint> {
        let is_tls = url.scheme_str() == Some("https");
        let (Some(authority), Some(host)) = (url.authority(), url.host()) else {
            bail!("{url} has no host")
        };
        if authority.as_str().contains('@') {
            bail!(
                "leave name and password out of the URL, and give --basic-auth USER:PASSWORD instead"
            );
        }
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let port = url.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        if args.kernel_timestamps && is_tls {
            bail!(
                "--kernel-timestamps works only without TLS: write http://, or leave --target-tls out"
            );
        }
        if args.proxy.is_some() && http2 && !is_tls {
            bail!("--proxy and --http2: HTTP/2 goes through a proxy only with TLS; write https://");
        }
        let tunnel = args.proxy.as_ref().filter(|_| is_tls).map(|proxy| proxy.connect(host, port));
        let begin = Instant::now();
        Ok(Endpoint {
            route: match &args.proxy {
                Some(proxy) => route(&proxy.host, proxy.port, args).context("--proxy")?,
                None => route(bare, port, args)?,
            },
            is_stamped: args.kernel_timestamps,
            tunnel,
            resolved_in: begin.elapsed(),
            authority: authority.as_str().to_owned(),
            tls_name: is_tls.then(|| Name::new(bare)).transpose()?,
        })
    }

    pub(crate) fn url_by_name(&self) -> Option<Uri> {
        let scheme = if self.tls_name.is_some() { "https" } else { "http" };
        match &self.route {
            Route::Tcp(_) => format!("{scheme}://{}/", self.authority).parse().ok(),
            #[cfg(unix)]
            Route::Unix(_) => None,
        }
    }

    pub(crate) async fn connect(&self, within: Duration) -> Result<Box<dyn Io>, Failure> {
        let failed = |error| Failure::from(&error);
        match &self.route {
            Route::Tcp(addresses) => {
                let stream = addresses.connect(within, TcpStream::connect).await?;
                stream.set_nodelay(true).map_err(failed)?;
                if self.is_stamped {
                    return stamped_stream::connection(stream).map_err(failed);
                }
                Ok(Box::new(stream))
            }
            #[cfg(unix)]
            Route::Unix(path) => {
                let stream = tokio::net::UnixStream::connect(path).await;
                Ok(Box::new(stream.map_err(|error| Failure::of_connecting(&error))?))
            }
        }
    }

    pub(crate) fn is_local(&self) -> bool {
        self.addresses().is_none_or(Addresses::are_local)
    }

    pub(crate) fn addresses(&self) -> Option<&Addresses> {
        match &self.route {
            Route::Tcp(addresses) => Some(addresses),
            #[cfg(unix)]
            Route::Unix(_) => None,
        }
    }
}

fn route(host: &str, port: u16, args: &ConnectionArgs) -> anyhow::Result<Route> {
    if let Some(path) = &args.unix_socket {
        return unix(path.clone());
    }
    let given = args.resolve.iter().find(|r| r.port == port && r.host.eq_ignore_ascii_case(host));
    let addresses: Vec<SocketAddr> = match given {
        Some(resolve) => resolve.addresses.iter().map(|ip| (*ip, port).into()).collect(),
        None => (host, port)
            .to_socket_addrs()
            .with_context(|| Unreachable(format!("cannot resolve {host:?}")))?
            .collect(),
    };
    let addresses = Addresses::new(format!("{host}:{port}"), addresses);
    addresses.map(Route::Tcp).with_context(|| format!("{host:?} has no address"))
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "the version for other systems can fail")]
fn unix(path: PathBuf) -> anyhow::Result<Route> {
    Ok(Route::Unix(path))
}

#[cfg(not(unix))]
fn unix(_: PathBuf) -> anyhow::Result<Route> {
    bail!("--unix-socket: this system has no Unix sockets")
}
