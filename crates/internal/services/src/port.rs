//! Finds free ports on loopback.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;

/// The ports for servers, which are below the range for outgoing connections. So no outgoing connection uses the port
/// of a server that is down, and no connection to a stopped server can connect to itself. The bus ports of cluster
/// servers are 10 000 higher, and are below that range too.
const PORTS: Range<u16> = 15_000..22_000;

/// Returns the loopback address with this port.
pub(crate) fn address(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Listens on a random free port.
pub(crate) fn listen() -> io::Result<TcpListener> {
    let random = || TcpListener::bind(address(fastrand::u16(PORTS)));
    (0..100).find_map(|_| random().ok()).map_or_else(random, Ok)
}

/// Returns a random free port.
pub(crate) fn free() -> io::Result<u16> {
    Ok(listen()?.local_addr()?.port())
}
