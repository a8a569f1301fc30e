//! Ports on loopback.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;

/// Below the ports that systems give to outgoing connections: nobody gets one of these by chance
/// while its server is down, and no connection to a server that is down reaches itself. The same holds
/// for the ports at which servers of a cluster talk to each other: 10 000 above these.
const PORTS: Range<u16> = 15_000..22_000;

/// An address on loopback.
pub(crate) fn address(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// A listener at a random port that nobody else listens at.
pub(crate) fn listen() -> io::Result<TcpListener> {
    let random = || TcpListener::bind(address(fastrand::u16(PORTS)));
    (0..100).find_map(|_| random().ok()).map_or_else(random, Ok)
}

/// A random port that nobody listens at now.
pub(crate) fn free() -> io::Result<u16> {
    Ok(listen()?.local_addr()?.port())
}
