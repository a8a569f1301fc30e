//! Finds free ports on loopback.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;

/// The ports for servers and proxies. They are below Linux's default range for outgoing connections, so that no
/// outgoing connection uses the port of a stopped server, and no connection to a stopped server connects to itself. The
/// bus ports of cluster servers are 10 000 higher, which is also below that range.
const PORTS: Range<u16> = 15_000..22_000;

pub(crate) fn address(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

pub(crate) fn listen() -> io::Result<TcpListener> {
    let random = || TcpListener::bind(address(fastrand::u16(PORTS)));
    (0..100).find_map(|_| random().ok()).map_or_else(random, Ok)
}

pub(crate) fn free() -> io::Result<u16> {
    Ok(listen()?.local_addr()?.port())
}
