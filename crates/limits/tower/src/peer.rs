//! The address at the other end of the connection.

use crate::KeyOf;
use crate::prefix::Prefix;
use http::{Request, StatusCode};
use std::borrow::Cow;
use std::marker::PhantomData;
use std::net::{IpAddr, SocketAddr};

/// The address at the other end of the connection, which the server has put into the request's
/// extensions. The key is an [`IpAddr`].
///
/// Where each server has it:
///
/// ```
/// use axum::extract::ConnectInfo;
/// use nanopace_tower::Peer;
/// use std::net::SocketAddr;
/// use tonic::transport::server::TcpConnectInfo;
///
/// // axum, served by `into_make_service_with_connect_info::<SocketAddr>()`.
/// let axum = Peer::of(|info: &ConnectInfo<SocketAddr>| info.0);
/// // tonic, without TLS. With TLS it is `TlsConnectInfo<TcpConnectInfo>`, and `info.get_ref()`.
/// let tonic = Peer::of(TcpConnectInfo::remote_addr);
/// ```
///
/// If it is not there, that is the server's fault: the status is 500 then, unless
/// [`without_key`](crate::LimitLayer::without_key) says otherwise.
///
/// Behind a proxy this is the address of the proxy, and all clients share one limit. Take
/// [`Forwarded`](crate::Forwarded) there.
#[derive(Debug)]
pub struct Peer<F, T> {
    address: F,
    prefix: Prefix,
    extension: PhantomData<fn(&T)>,
}

impl<F: Clone, T> Clone for Peer<F, T> {
    fn clone(&self) -> Self {
        Peer { address: self.address.clone(), ..*self }
    }
}

impl<F, T> Peer<F, T> {
    /// The address that the function finds in the extension of type `T`.
    #[must_use]
    pub fn of<A>(address: F) -> Peer<F, T>
    where
        F: Fn(&T) -> A,
        A: Into<Option<SocketAddr>>,
    {
        Peer { address, prefix: Prefix::default(), extension: PhantomData }
    }

    /// How many leading bits of an IPv6 address tell who it is, 0 to 128; more are taken as 128. The
    /// default is 64, because one subscriber has at least 2^64 addresses, and can send each request
    /// from another one. An IPv4 address is always taken whole.
    #[must_use]
    pub fn ipv6_prefix(self, bits: u8) -> Peer<F, T> {
        Peer { prefix: Prefix::new(bits), ..self }
    }
}

impl<B, F, T, A> KeyOf<B> for Peer<F, T>
where
    F: Fn(&T) -> A,
    A: Into<Option<SocketAddr>>,
    T: Send + Sync + 'static,
{
    const MISSING: StatusCode = StatusCode::INTERNAL_SERVER_ERROR;

    type Key = IpAddr;

    fn key_of<'r>(&'r self, request: &'r Request<B>) -> Option<Cow<'r, IpAddr>> {
        let info = request.extensions().get()?;
        let peer: SocketAddr = (self.address)(info).into()?;
        Some(Cow::Owned(self.prefix.of(peer.ip())))
    }
}
