//! Which addresses are taken for one sender.

use std::net::{IpAddr, Ipv6Addr};

/// How many leading bits of an IPv6 address tell who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefix(u8);

/// A network of one subscriber (RFC 6177): it has 2^64 addresses to choose from for each request.
impl Default for Prefix {
    fn default() -> Prefix {
        Prefix(64)
    }
}

impl Prefix {
    pub(crate) fn new(bits: u8) -> Prefix {
        Prefix(bits.min(128))
    }

    /// The address with the other bits zero. An IPv4 address stays whole, also one that a socket for
    /// both has mapped into IPv6 (RFC 4291, section 2.5.5.2).
    pub(crate) fn of(self, address: IpAddr) -> IpAddr {
        match address.to_canonical() {
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(u32::from(128 - self.0)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
            }
            v4 @ IpAddr::V4(_) => v4,
        }
    }
}
