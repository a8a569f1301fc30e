//! Finds free ports on loopback.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;

/// Ports below the range for outgoing connections. No other program takes such a port by chance while its
/// server is down, and no connection to a stopped server reaches itself. The same holds for the bus ports of
/// cluster servers, which are 10 000 higher.
const PORTS: Range<u16> = 15_000..22_000;

/// An address on loopback.
pub(crate) fn address(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// A listener on a random free port.
pub(crate) fn listen() -> io::Result<TcpListener> {
    let random = || TcpListener::bind(address(fastrand::u16(PORTS)));
    (0..100).find_map(|_| random().ok()).map_or_else(random, Ok)
}

/// A random port without a listener.
pub(crate) fn free() -> io::Result<u16> {
    Ok(listen()?.local_addr()?.port())
}
