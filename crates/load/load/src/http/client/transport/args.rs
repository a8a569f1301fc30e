//! Defines the options for connections. Their doc comments are `--help` texts.

use super::proxy::Proxy;
use crate::console::human::positive_duration;
use crate::net::trust::Identity;
use clap::Args;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(next_help_heading = "Connections")]
pub(crate) struct ConnectionArgs {
    /// Record the kernel's send and receive times (Linux; HTTP/1.1 over TCP without TLS) [see: help requirements]
    #[arg(long)]
    pub(crate) kernel_timestamps: bool,

    /// Give up connecting after this time; a request that waits for the connection fails
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = positive_duration)]
    pub(crate) connect_timeout: Duration,

    /// Connect to this Unix socket; the URL still sets the path and the Host header
    #[arg(long, value_name = "PATH")]
    pub(crate) unix_socket: Option<PathBuf>,

    /// Use these addresses for a host, as HOST:PORT:ADDRESS[,ADDRESS...]; repeatable
    #[arg(long, value_name = "WHERE", conflicts_with = "unix_socket")]
    pub(crate) resolve: Vec<Resolve>,

    /// Trust only the certificates in this PEM file, not those of the system
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) cacert: Option<PathBuf>,

    /// Present the client certificate in this PEM file
    #[arg(long, value_name = "FILE")]
    pub(crate) cert: Option<PathBuf>,

    /// Read the private key of --cert from this PEM file [default: the file of --cert]
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,

    /// Accept any server certificate
    #[arg(long, short = 'k')]
    pub(crate) insecure: bool,

    /// Send requests through this proxy, as HOST:PORT or http://USER:PASSWORD@HOST:PORT; times include the proxy
    #[arg(long, value_name = "URL", conflicts_with = "unix_socket")]
    pub(crate) proxy: Option<Proxy>,
}

impl ConnectionArgs {
    /// The proxy resolves the names of servers, so an address can be given only for the proxy itself.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let Some(proxy) = &self.proxy else { return Ok(()) };
        for Resolve { host, port, .. } in &self.resolve {
            let is_its = proxy.host.eq_ignore_ascii_case(host) && proxy.port == *port;
            anyhow::ensure!(
                is_its,
                "--resolve {host}:{port}: the proxy resolves this host; leave --resolve out"
            );
        }
        Ok(())
    }

    pub(crate) fn identity(&self) -> Option<Identity<'_>> {
        let certificate = self.cert.as_deref()?;
        Some(Identity { certificate, key: self.key.as_deref().unwrap_or(certificate) })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resolve {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) addresses: Vec<IpAddr>,
}

impl FromStr for Resolve {
    type Err = String;

    fn from_str(text: &str) -> Result<Resolve, String> {
        let usage = "write HOST:PORT:ADDRESS, as in example.com:443:127.0.0.1";
        let (host, rest) = text.split_once(':').ok_or(usage)?;
        let (port, addresses) = rest.split_once(':').ok_or(usage)?;
        let address = |text: &str| {
            let bare = text.trim_start_matches('[').trim_end_matches(']');
            bare.parse().map_err(|_| format!("{text:?} is not an IP address; {usage}"))
        };
        Ok(Resolve {
            host: host.to_ascii_lowercase(),
            port: port.parse().map_err(|_| format!("{port:?} is not a port; {usage}"))?,
            addresses: addresses.split(',').map(address).collect::<Result<_, _>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_follow_host_and_port() {
        let resolve: Resolve = "Example.com:443:127.0.0.1,[::1]".parse().unwrap();
        assert_eq!((resolve.host.as_str(), resolve.port), ("example.com", 443));
        let both: [IpAddr; 2] = ["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()];
        assert_eq!(resolve.addresses, both);
        for text in ["", "a", "a:1", "a:b:127.0.0.1", "a:1:", "a:1:name", "a:70000:::1"] {
            assert!(text.parse::<Resolve>().is_err(), "{text:?}");
        }
    }
}
