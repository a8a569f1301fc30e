//! Tests that a key exists for as long as it counts by the store's own clock, and not much longer. Tests that set the
//! store's time cannot test this, because the store then keeps keys for longer.

use crate::common::{ask, servers, store};
use nanopace_keyed::KeyRejected;
use nanopace_remote::{Rejected, RemoteKeyed, RemoteRejected};
use nanopace_services::Server;

fn expires(server: &Server) -> u64 {
    ask::<u64>(server, &["PEXPIRETIME", "nanopace:{alice}"]) * 1_000_000
}

fn not_until(users: &RemoteKeyed) -> u64 {
    match users.try_acquire("alice") {
        Err(RemoteRejected::Key(KeyRejected::Limit(Rejected::NotUntil(moment)))) => {
            moment.as_nanos()
        }
        answer => panic!("{answer:?}"),
    }
}

fn late(expires: u64, counts_until: u64, what: &str) -> u64 {
    let late = expires.checked_sub(counts_until);
    late.unwrap_or_else(|| panic!("{what}: {} ns early", counts_until - expires))
}

/// With each of these limits, one request counts until the limits would admit the next request.
#[test]
#[ignore = "needs Redis and Valkey"]
fn a_key_expires_when_nothing_of_it_counts_any_more() {
    for (engine, server) in servers() {
        let users = store(&server).limits("1/s").build().unwrap();
        for turn in 0..20 {
            for limits in [
                "1/min",
                "1/60000900us", // the remaining time has a fraction of a millisecond
                "1/60000900us burst 1, 1/min sliding-counter",
                "7/17min burst 1", // an interval that is not a whole number of nanoseconds
                "3/h burst 1, 1/day burst 1",
                "1/day fixed-window",
                "1/h fixed-window, 1/day burst 1",
                "1/9h sliding-counter",
            ] {
                ask::<String>(&server, &["FLUSHALL"]);
                users.set_limits(limits.parse().unwrap()).unwrap();
                users.try_acquire("alice").unwrap();
                let expires = expires(&server);
                let what = format!("{engine}, {limits}, turn {turn}");
                let late = late(expires, not_until(&users), &what);
                // Rounding causes a few milliseconds, and any stall of the server during the script adds to them.
                assert!(late < 1_000_000_000, "{what}: {late} ns late");
            }
        }
    }
}

/// The state that is carried over to other limits is written by a separate script.
#[test]
#[ignore = "needs Redis and Valkey"]
fn a_replaced_limit_keeps_its_key_as_long_as_it_counts() {
    for (engine, server) in servers() {
        let users = store(&server).limits("1/s").build().unwrap();
        for turn in 0..20 {
            ask::<String>(&server, &["FLUSHALL"]);
            users.set_limits("1/day".parse().unwrap()).unwrap();
            users.try_acquire("alice").unwrap();
            let counts_until = not_until(&users);
            users.set_limits("1/h".parse().unwrap()).unwrap();
            not_until(&users);
            let what = format!("{engine}, turn {turn}");
            late(expires(&server), counts_until, &what);
        }
    }
}
