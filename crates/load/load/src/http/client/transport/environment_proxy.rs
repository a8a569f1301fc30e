//! Warns if environment variables name a proxy, because requests do not use it unless an option names it too.

use super::endpoint::Endpoint;
use hyper::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use std::env;
use std::net::IpAddr;

pub(crate) fn unused_proxy(servers: &[Endpoint]) -> Option<String> {
    let matcher = Matcher::from_env();
    let url = servers.iter().find_map(|server| {
        server.url_by_name().filter(|url| !is_here(url) && matcher.intercept(url).is_some())
    })?;
    let (name, host) = (variable(url.scheme_str()?), url.host()?);
    Some(format!(
        "{name} is not used: requests go to {host} directly, because times would include the proxy. \
         To use the proxy, give it as --proxy"
    ))
}

/// Returns advice to use a proxy, or an empty string if no environment variable names one. On networks that require a
/// proxy, host names often cannot be resolved without it.
pub(crate) fn advice(url: &Uri) -> String {
    match url.scheme_str().filter(|_| Matcher::from_env().intercept(url).is_some()) {
        Some(scheme) => {
            format!("; to use the proxy that {} names, give it as --proxy", variable(scheme))
        }
        None => String::new(),
    }
}

/// Returns whether the server is on this machine, so that no proxy is needed.
fn is_here(url: &Uri) -> bool {
    let host = url.host().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

fn variable(scheme: &str) -> String {
    let own = format!("{scheme}_proxy");
    let names = [own.to_uppercase(), own, "ALL_PROXY".to_owned(), "all_proxy".to_owned()];
    let mut set =
        names.into_iter().filter(|name| env::var_os(name).is_some_and(|it| !it.is_empty()));
    set.next().unwrap_or_else(|| "the proxy".to_owned())
}
