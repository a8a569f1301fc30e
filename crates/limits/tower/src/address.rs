//! The address of a client as a key, from the connection or from header fields that proxies have written.

use crate::KeyOf;
use http::header::{self, HeaderName};
use http::{HeaderMap, Request, StatusCode};
use std::borrow::Cow;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Prefix(u8);

/// The default prefix has 64 bits. A subscriber has at least one network of this size (RFC 6177), and can choose from
/// its 2^64 addresses for each request.
impl Default for Prefix {
    fn default() -> Prefix {
        Prefix(64)
    }
}

impl Prefix {
    fn new(bits: u8) -> Prefix {
        Prefix(bits.min(128))
    }

    /// Returns an IPv6 address with the bits after the prefix set to 0. Returns an IPv4 address as a whole, even one
    /// that a dual-stack socket has mapped into IPv6 (RFC 4291, 2.5.5.2).
    fn of(self, address: IpAddr) -> IpAddr {
        match address.to_canonical() {
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(u32::from(128 - self.0)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
            }
            v4 @ IpAddr::V4(_) => v4,
        }
    }
}

/// The address of the connection's other end, from the request's extensions. The key is an [`IpAddr`].
///
/// Each server uses a different type of extension:
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
/// If the address is missing, the server is at fault: the status of the response is 500, unless
/// [`without_key`](crate::LimitLayer::without_key) is set.
///
/// If there is a proxy in front of the server, the key is the address of the proxy, and all clients share one limit.
/// Use [`Forwarded`](crate::Forwarded) in that case.
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
    /// Creates a source of keys that gets the address from the extension of type `T` with this function.
    #[must_use]
    pub fn of<A>(address: F) -> Peer<F, T>
    where
        F: Fn(&T) -> A,
        A: Into<Option<SocketAddr>>,
    {
        Peer { address, prefix: Prefix::default(), extension: PhantomData }
    }

    /// Sets the number of leading bits of an IPv6 address that identify a client: 64 by default, and at most 128. One
    /// subscriber has at least 2^64 addresses. An IPv4 address is always used as a whole.
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

/// The address of a client that connects through proxies. The proxies write this address into a header field. The key
/// is an [`IpAddr`].
///
/// # Why the number of proxies is needed
///
/// Each proxy appends the address of its caller to the field. A client may send the field too, with any address in it.
/// So only the last `proxies` entries, which your own proxies have written, can be trusted. The first of these entries
/// is the address of the client. If the number of proxies is too large, each client can choose its own key, which
/// removes the limit. If the number is too small, the key is the address of a proxy, and its clients share one limit.
///
/// For the same reason, clients must not be able to reach the server without these proxies.
///
/// If there are fewer entries than proxies, or if the client's entry is not an address, there is no key. The server is
/// then at fault: the status is 500, unless [`without_key`](crate::LimitLayer::without_key) is set.
///
/// ```
/// use http::Request;
/// use nanopace_tower::{Forwarded, KeyOf};
/// use std::net::IpAddr;
///
/// let request = Request::get("/")
///     .header("x-forwarded-for", "10.6.6.6, 203.0.113.7, 192.0.2.1")
///     .body(())?;
/// let key = Forwarded::behind(2);
/// assert_eq!(*key.key_of(&request).unwrap(), IpAddr::from([203, 0, 113, 7]));
/// # Ok::<(), http::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Forwarded {
    proxies: usize,
    field: HeaderName,
    prefix: Prefix,
}

impl Forwarded {
    /// Creates a source of keys from `X-Forwarded-For`, written by `proxies` proxies. With 0 proxies, no request has a
    /// key.
    #[must_use]
    pub fn behind(proxies: usize) -> Forwarded {
        let field = HeaderName::from_static("x-forwarded-for");
        Forwarded { proxies, field, prefix: Prefix::default() }
    }

    /// Sets the name of the header field that the proxies write. The field [`FORWARDED`](header::FORWARDED) is parsed
    /// as in RFC 7239, and any other field as a list of addresses. Other fields are ignored, because the proxies pass
    /// them on unchanged.
    #[must_use]
    pub fn in_field(self, field: HeaderName) -> Forwarded {
        Forwarded { field, ..self }
    }

    /// Sets the number of leading bits that identify a client, as for [`Peer`](crate::Peer::ipv6_prefix).
    #[must_use]
    pub fn ipv6_prefix(self, bits: u8) -> Forwarded {
        Forwarded { prefix: Prefix::new(bits), ..self }
    }

    fn entry<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        let values = headers.get_all(&self.field).iter().rev();
        let last = if self.field == header::FORWARDED { last_unquoted } else { last_of_all };
        let mut entries = values.flat_map(|value| from_the_end(value.as_bytes(), b',', last));
        std::str::from_utf8(entries.nth(self.proxies.checked_sub(1)?)?).ok()
    }
}

impl<B> KeyOf<B> for Forwarded {
    const MISSING: StatusCode = StatusCode::INTERNAL_SERVER_ERROR;

    type Key = IpAddr;

    fn key_of<'r>(&'r self, request: &'r Request<B>) -> Option<Cow<'r, IpAddr>> {
        let mut entry = self.entry(request.headers())?;
        if self.field == header::FORWARDED {
            entry = parameter_for(entry)?;
        }
        Some(Cow::Owned(self.prefix.of(address(entry.trim())?)))
    }
}

fn from_the_end(
    text: &[u8],
    separator: u8,
    last: fn(&[u8], u8) -> Option<usize>,
) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let place = last(text, separator);
        rest = place.map(|place| &text[..place]);
        Some(&text[place.map_or(0, |place| place + 1)..])
    })
}

fn last_of_all(text: &[u8], separator: u8) -> Option<usize> {
    text.iter().rposition(|byte| *byte == separator)
}

/// Returns the position of the last separator that is not in a quoted string (RFC 9110, section 5.6.4). The search
/// starts at the end of the text, where the trusted proxies have appended their entries. A proxy closes every quote in
/// its own entry, so an unclosed quote that a client sent before that entry has no effect.
fn last_unquoted(text: &[u8], separator: u8) -> Option<usize> {
    let mut is_quoted = false;
    (0..text.len()).rev().find(|&place| {
        is_quoted ^= text[place] == b'"' && !is_escaped(text, place);
        text[place] == separator && !is_quoted
    })
}

fn is_escaped(text: &[u8], place: usize) -> bool {
    text[..place].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

fn parameter_for(entry: &str) -> Option<&str> {
    let parameters = from_the_end(entry.as_bytes(), b';', last_unquoted);
    let parameters = parameters.filter_map(|parameter| std::str::from_utf8(parameter).ok());
    let mut pairs = parameters.filter_map(|parameter| parameter.split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("for"))?;
    Some(value.trim().trim_matches('"'))
}

/// Parses an address with or without a port. An IPv6 address may be in brackets.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let with_port = || text.parse::<SocketAddr>().map(|address| address.ip());
    bare.parse().or_else(|_| with_port()).ok()
}
