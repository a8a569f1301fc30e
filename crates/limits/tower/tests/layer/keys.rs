//! Tests the keys of requests.

use crate::{API_KEY, behind, by_header, call, from, keyed, limits};
use http::{HeaderName, HeaderValue, Request};
use nanopace_keyed::{ConfigStore, MemoryConfig, Scope};
use nanopace_nanos::ManualClock;
use nanopace_tower::{KeyOf, Keyed, LimitLayer, Peer, WithoutKey};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

fn anonymous() -> Request<String> {
    Request::default()
}

fn peer(address: IpAddr) -> Request<String> {
    let mut request = anonymous();
    request.extensions_mut().insert(SocketAddr::new(address, 4711));
    request
}

fn peer_key(address: IpAddr, bits: Option<u8>) -> IpAddr {
    let key = Peer::of(|address: &SocketAddr| *address);
    let key = bits.map_or(key.clone(), |bits| key.ipv6_prefix(bits));
    *key.key_of(&peer(address)).unwrap()
}

#[test]
fn a_header_field_must_be_text() {
    let mut request = anonymous();
    assert_eq!(API_KEY.key_of(&request), None);
    request.headers_mut().insert(API_KEY, HeaderValue::from_bytes(b"\xff").unwrap());
    assert_eq!(API_KEY.key_of(&request), None);
    request.headers_mut().insert(API_KEY, HeaderValue::from_static("first"));
    request.headers_mut().append(API_KEY, HeaderValue::from_static("second"));
    assert_eq!(API_KEY.key_of(&request).as_deref(), Some("first"));
}

#[test]
fn a_request_without_a_key_is_rejected_admitted_or_has_a_common_key() {
    let clock = ManualClock::new();
    let statuses = |without_key| {
        let layer = by_header("1/h", &clock).without_key(without_key);
        let service = behind(&layer);
        [anonymous(), anonymous(), from("nobody"), from("a")]
            .map(|request| call(&service, request).status().as_u16())
    };
    assert_eq!(statuses(WithoutKey::default()), [400, 400, 200, 200]);
    assert_eq!(statuses(WithoutKey::LetIn), [200, 200, 200, 200]);
    let uncounted = by_header("1/h", &clock).without_key(WithoutKey::LetIn);
    assert!(call(&behind(&uncounted), anonymous()).headers().is_empty());
    assert_eq!(statuses(WithoutKey::Common("nobody".to_owned())), [200, 429, 429, 200]);
}

#[test]
fn a_missing_peer_address_is_the_servers_fault() {
    let clock = ManualClock::new();
    let key = Peer::of(|address: &SocketAddr| *address);
    let service = behind(&LimitLayer::by_address(key, keyed("1/h", &clock)));
    assert_eq!(call(&service, anonymous()).status(), 500);
    let key = Peer::of(|address: &Option<SocketAddr>| *address);
    let service = behind(&LimitLayer::by_address(key, keyed("1/h", &clock)));
    let mut request = anonymous();
    request.extensions_mut().insert(None::<SocketAddr>);
    assert_eq!(call(&service, request).status(), 500);
}

proptest! {
    #[test]
    fn ipv6_addresses_are_distinguished_by_their_prefix(
        one: u128, bits in 0..=128_u8, flipped in 0..128_u32,
    ) {
        let other = one ^ (1 << (127 - flipped));
        let [one, other] = [one, other].map(Ipv6Addr::from_bits);
        prop_assume!(one.to_ipv4_mapped().is_none() && other.to_ipv4_mapped().is_none());
        let [one, other] = [one, other].map(|address| peer_key(address.into(), Some(bits)));
        prop_assert_eq!(one == other, flipped >= u32::from(bits));
    }

    #[test]
    fn by_default_the_prefix_has_64_bits(address: u128) {
        let address = IpAddr::from(Ipv6Addr::from_bits(address));
        prop_assert_eq!(peer_key(address, None), peer_key(address, Some(64)));
        prop_assert_eq!(peer_key(address, Some(200)), address.to_canonical());
    }

    #[test]
    fn ipv4_addresses_are_whole_also_as_ipv6(address: u32, bits in 0..=128_u8) {
        let v4 = Ipv4Addr::from_bits(address);
        for address in [IpAddr::from(v4), v4.to_ipv6_mapped().into()] {
            prop_assert_eq!(peer_key(address, Some(bits)), v4);
        }
    }
}

#[test]
fn a_function_finds_keys_of_any_type() {
    let first = |request: &Request<String>| request.uri().path().as_bytes().get(1).copied();
    let service = behind(&LimitLayer::by_fn(first, keyed("1/h", &ManualClock::new())));
    let status = |path: &str| {
        let request = Request::get(path).body(String::new()).unwrap();
        call(&service, request).status().as_u16()
    };
    assert_eq!(["/a", "/b", "/axe", "/"].map(status), [200, 200, 429, 400]);
}

#[test]
fn keys_have_limits_of_their_own() {
    let users = || {
        let config = MemoryConfig::new();
        config.set(Scope::Prefix("gold:"), limits("2/h")).unwrap();
        config.set(Scope::Prefix("free:"), limits("1/h")).unwrap();
        Keyed::builder(config).clock(ManualClock::new()).build().unwrap()
    };
    let plan =
        |request: &Request<String>| Some(request.headers().get(API_KEY)?.to_str().ok()?.to_owned());
    let keys = ["gold:a", "free:b", "gold:a", "free:b", "gold:a", "c"];
    let expected = [200, 200, 200, 429, 429, 403];
    let service = behind(&LimitLayer::by_fn(plan, users()));
    assert_eq!(keys.map(|key| call(&service, from(key)).status().as_u16()), expected);
    let name = HeaderName::from_static("x-api-key");
    let service = behind(&LimitLayer::by_header(name, users()));
    assert_eq!(keys.map(|key| call(&service, from(key)).status().as_u16()), expected);
}
