//! Tests the address of a client that is connected through proxies. Entries that a client sends itself never count.

use http::header::FORWARDED;
use http::{HeaderName, HeaderValue, Request};
use nanopace_tower::{Forwarded, KeyOf};
use proptest::prelude::*;
use std::net::IpAddr;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

fn key(forwarded: &Forwarded, name: &HeaderName, lines: &[impl AsRef<[u8]>]) -> Option<IpAddr> {
    let mut request = Request::new(());
    for line in lines {
        let value = HeaderValue::from_bytes(line.as_ref()).unwrap();
        request.headers_mut().append(name, value);
    }
    KeyOf::key_of(forwarded, &request).map(|key| *key)
}

fn of_entry(name: &HeaderName, entry: &str) -> Option<String> {
    let forwarded = Forwarded::behind(1).in_field(name.clone()).ipv6_prefix(128);
    key(&forwarded, name, &[entry]).map(|address| address.to_string())
}

fn anything() -> impl Strategy<Value = Vec<u8>> {
    let byte =
        prop_oneof![Just(b','), Just(b'"'), Just(b';'), Just(b'='), 32..=126_u8, 128..=255_u8];
    prop::collection::vec(byte, 0..40)
}

/// Returns the lines with the entries of the proxies added. Each entry is appended to the last line or forms a new
/// line.
fn added(
    mut lines: Vec<Vec<u8>>,
    entries: &[(IpAddr, bool)],
    form: fn(&IpAddr) -> String,
) -> Vec<Vec<u8>> {
    for (address, own_line) in entries {
        match lines.last_mut() {
            Some(line) if !own_line => line.extend(format!(", {}", form(address)).bytes()),
            _ => lines.push(form(address).into_bytes()),
        }
    }
    lines
}

fn in_rfc_7239(address: &IpAddr) -> String {
    match address {
        IpAddr::V4(address) => format!("for={address};proto=https"),
        IpAddr::V6(address) => format!(r#"proto=https;For="[{address}]:4711""#),
    }
}

proptest! {
    #[test]
    fn the_entry_of_the_farthest_proxy_counts(
        sent in prop::collection::vec(anything(), 0..3),
        entries in prop::collection::vec((any::<IpAddr>(), any::<bool>()), 1..5),
    ) {
        let client = entries[0].0.to_canonical();
        let forwarded = Forwarded::behind(entries.len()).ipv6_prefix(128);
        let lines = added(sent.clone(), &entries, ToString::to_string);
        prop_assert_eq!(key(&forwarded, &X_FORWARDED_FOR, &lines), Some(client));
        let lines = added(sent, &entries, in_rfc_7239);
        let forwarded = forwarded.in_field(FORWARDED);
        prop_assert_eq!(key(&forwarded, &FORWARDED, &lines), Some(client));
    }

    #[test]
    fn with_fewer_entries_than_proxies_there_is_no_key(
        entries in prop::collection::vec((any::<IpAddr>(), any::<bool>()), 0..4), more in 1..3_usize,
    ) {
        let lines = added(Vec::new(), &entries, ToString::to_string);
        let forwarded = Forwarded::behind(entries.len() + more);
        prop_assert_eq!(key(&forwarded, &X_FORWARDED_FOR, &lines), None);
        prop_assert_eq!(key(&Forwarded::behind(0), &X_FORWARDED_FOR, &lines), None);
    }

    #[test]
    fn no_header_value_panics(lines in prop::collection::vec(anything(), 0..4), proxies in 0..4_usize) {
        for name in [X_FORWARDED_FOR, FORWARDED] {
            key(&Forwarded::behind(proxies).in_field(name.clone()), &name, &lines);
        }
    }
}

#[test]
fn addresses_have_several_forms() {
    for (entry, address) in [
        ("192.0.2.1", Some("192.0.2.1")),
        (" 192.0.2.1:4711 ", Some("192.0.2.1")),
        ("2001:db8::1", Some("2001:db8::1")),
        ("[2001:db8::1]", Some("2001:db8::1")),
        ("[2001:db8::1]:4711", Some("2001:db8::1")),
        ("::ffff:192.0.2.1", Some("192.0.2.1")),
        ("unknown", None),
        ("192.0.2", None),
        ("", None),
    ] {
        assert_eq!(of_entry(&X_FORWARDED_FOR, entry).as_deref(), address, "{entry}");
    }
}

/// Checks the examples of RFC 7239, and other entries with parameters.
#[test]
fn the_field_of_the_standard_has_parameters() {
    for (entry, address) in [
        ("for=192.0.2.43", Some("192.0.2.43")),
        (r#"For="[2001:db8:cafe::17]:4711""#, Some("2001:db8:cafe::17")),
        ("for=192.0.2.60;proto=http;by=203.0.113.43", Some("192.0.2.60")),
        ("by=203.0.113.43; for=192.0.2.60", Some("192.0.2.60")),
        (r#"for="_gazonk""#, None),
        ("for=unknown", None),
        ("by=203.0.113.43", None),
        ("192.0.2.1", None),
    ] {
        assert_eq!(of_entry(&FORWARDED, entry).as_deref(), address, "{entry}");
    }
}

#[test]
fn no_other_field_is_looked_at() {
    assert_eq!(key(&Forwarded::behind(1), &FORWARDED, &["for=192.0.2.1"]), None);
    assert_eq!(
        key(&Forwarded::behind(1).in_field(FORWARDED), &X_FORWARDED_FOR, &["192.0.2.1"]),
        None
    );
}

#[test]
fn one_subscriber_is_one_key() {
    let of = |entry: &str| key(&Forwarded::behind(1), &X_FORWARDED_FOR, &[entry]);
    assert_eq!(of("2001:db8::1"), of("2001:db8::2"));
    assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
}

#[test]
fn separators_in_quotes_separate_nothing() {
    let forwarded = Forwarded::behind(1).in_field(FORWARDED);
    for line in [
        r#"for=7.7.7.8;host="a,for=8.8.9.1""#,
        r#"host="a;for=8.8.9.1";for=7.7.7.8"#,
        r#"for=7.7.7.8;host="a,b""#,
        r#"for="7.7.7.8";host="a\",for=8.8.9.1""#,
        r#"for="8.8.9.1, for=7.7.7.8;host="a,b""#,
        r#"host="\\";for=7.7.7.8"#,
        r#"for=7.7.7.8;host="a,for=8.8.9.1\\""#,
        r#"for=7.7.7.8;host="a\\\",for=8.8.9.1""#,
    ] {
        assert_eq!(key(&forwarded, &FORWARDED, &[line]), "7.7.7.8".parse().ok(), "{line}");
    }
}
