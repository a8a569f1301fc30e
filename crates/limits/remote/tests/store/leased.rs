//! Tests tokens that are taken ahead. The limits bound all admissions, and only leased tokens are missing.

use crate::common::{Micros, ask, runner, servers, store, until};
use nanopace_limits::{Limits, Rule};
use nanopace_nanos::{ManualClock, Nanos};
use nanopace_remote::{Remote, RemoteError, RemoteKeyed};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

struct Fleet {
    limiters: Vec<RemoteKeyed>,
    clock: ManualClock,
    micros: Arc<AtomicU64>,
}

impl Fleet {
    fn new(store: &Remote, limits: &str, prefix: u64, ahead: Duration) -> Fleet {
        let (clock, micros) = (ManualClock::new(), Arc::new(AtomicU64::new(0)));
        let limiter = |_| {
            let limiter = store.limits(limits).prefix(prefix.to_string()).leased(ahead);
            limiter.clock(clock.clone()).store_clock(Micros(micros.clone())).build().unwrap()
        };
        let mut fleet = Fleet { limiters: (0..3).map(limiter).collect(), clock, micros };
        fleet.set(1_700_000_000_000_000);
        fleet
    }

    fn now(&self) -> Nanos {
        Nanos::from_nanos(self.micros.load(Ordering::Relaxed) * 1_000)
    }

    fn set(&mut self, micros: u64) {
        self.micros.store(micros, Ordering::Relaxed);
        self.clock.set(self.now());
    }

    fn advance(&mut self, micros: u64) {
        self.set(self.micros.load(Ordering::Relaxed) + micros);
    }
}

#[derive(Clone, Debug)]
enum Event {
    Ask {
        who: usize,
        n: u64,
        times: u64,
    },
    /// Advances the clock by this number of microseconds.
    Later(u64),
    Second,
    GiveBack(usize),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (0..3_usize, 1_u64..4).prop_map(|(who, n)| Event::Ask { who, n, times: 1 }),
        4 => (0..3_usize, 1_u64..60).prop_map(|(who, times)| Event::Ask { who, n: 1, times }),
        4 => (0_u64..25_000).prop_map(Event::Later),
        4 => (0_u64..1_000_000).prop_map(Event::Later),
        1 => (0_u64..5_000_000).prop_map(Event::Later),
        2 => Just(Event::Second),
        1 => (0..3_usize).prop_map(Event::GiveBack),
    ]
}

fn limits() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("10/s burst 20"),
        Just("100/s"),
        Just("7/s burst 5"),
        Just("1000/s burst 40"),
        Just("10/s burst 1"),
        Just("20/s fixed-window"),
        Just("9/700ms sliding-counter"),
        Just("100/s burst 30, 50/s fixed-window"),
        Just("30/m, 10/s burst 7"),
    ]
    .prop_map(str::to_owned)
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn several_processes_admit_no_more_than_one_would() {
    for (engine, server) in servers() {
        let store = store(&server);
        let (prefix, by_lease) = (AtomicU64::new(0), AtomicU64::new(0));
        let events = proptest::collection::vec(event(), 1..80);
        let ahead = prop_oneof![Just(100_u64), Just(900), Just(5_000)];
        let cases = (limits(), ahead, events);
        let result = runner(150).run(&cases, |(text, ahead, events)| {
            let prefix = prefix.fetch_add(1, Ordering::Relaxed);
            let mut fleet = Fleet::new(&store, &text, prefix, Duration::from_millis(ahead));
            let limits: Limits = text.parse().unwrap();
            let mut state = limits.fresh();
            for event in events {
                match event {
                    Event::Later(micros) => fleet.advance(micros),
                    Event::GiveBack(who) => fleet.limiters[who].give_back(),
                    Event::Second => {
                        let micros = fleet.micros.load(Ordering::Relaxed);
                        fleet.set((micros / 1_000_000 + 1) * 1_000_000);
                    }
                    Event::Ask { who, n, times } => {
                        for _ in 0..times {
                            if fleet.limiters[who].try_acquire_costs("alice", n).is_ok() {
                                let judged = limits.try_acquire(&mut state, fleet.now(), n);
                                prop_assert!(judged.is_ok(), "{} too many of {}", n, text);
                            }
                        }
                    }
                }
            }
            let local = |limiter: &RemoteKeyed| limiter.stats().local;
            by_lease.fetch_add(fleet.limiters.iter().map(local).sum(), Ordering::Relaxed);
            Ok(())
        });
        result.unwrap_or_else(|error| panic!("{engine}: {error}"));
        assert!(by_lease.into_inner() > 500, "the test is about leases");
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn no_more_is_missing_than_what_is_leased() {
    for (engine, server) in servers() {
        let limits = "1000/day fixed-window";
        let fleet = Fleet::new(&store(&server), limits, 0, Duration::from_secs(10));
        let mut let_in = 0;
        for turn in 0..3_000 {
            let_in += u64::from(fleet.limiters[turn % 3].try_acquire("alice").is_ok());
        }
        let leased: u64 = fleet.limiters.iter().map(|users| users.stats().leased).sum();
        assert!(let_in <= 1000 && let_in + leased >= 1000, "{engine}: {let_in} and {leased}");
        let local: u64 = fleet.limiters.iter().map(|users| users.stats().local).sum();
        assert!(local > 300, "the store was not asked for {local}");
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn unused_tokens_are_given_back() {
    for (_, server) in servers() {
        let store = store(&server);
        let left = || {
            let looks = store.limits("1000/day fixed-window").build().unwrap();
            looks.decide_costs("alice", 0).unwrap().remaining()
        };
        let lease = |ahead| {
            let users = store.limits("1000/day fixed-window").leased(ahead).build().unwrap();
            users.try_acquire("alice").unwrap();
            users
        };
        let users = lease(Duration::from_secs(10));
        assert_eq!((users.stats().leased, left()), (1, 998));
        users.give_back();
        assert_eq!((users.stats().leased, left()), (0, 999));
        users.try_acquire("alice").unwrap();
        assert_eq!((users.stats().leased, left()), (1, 997));
        drop(users);
        // The thread that gives tokens back may keep the limiter alive a little longer.
        until("what was left is given back", || left() == 998);

        let idle = lease(Duration::from_millis(1));
        until("idle tokens are given back", || idle.stats().leased == 0 && left() == 997);
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn blocks_are_smaller_the_more_processes_there_are() {
    for (_, server) in servers() {
        let store = store(&server);
        let limiter = || {
            let limiter = store.limits("100/s fixed-window").leased(Duration::from_secs(1));
            limiter.build().unwrap()
        };
        let block = |key: &str, limiter: &RemoteKeyed| {
            limiter.try_acquire(key).unwrap();
            limiter.stats().leased
        };
        let first = limiter();
        let alone = block("a", &first);
        assert!((20..=50).contains(&alone), "{alone}");
        first.give_back();
        let others: Vec<_> = (0..9).map(|_| limiter()).collect();
        until("all are counted", || ask::<u64>(&server, &["ZCARD", "nanopace/processes"]) == 10);
        until("the blocks are smaller", || {
            first.give_back();
            block("b", &first) <= 6
        });
        drop((first, others));
        until("none is left", || ask::<u64>(&server, &["ZCARD", "nanopace/processes"]) == 0);
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn tokens_of_old_limits_are_not_used() {
    for (_, server) in servers() {
        let users = store(&server).limits("1000/s fixed-window").leased(Duration::from_secs(1));
        let users = users.build().unwrap();
        users.try_acquire("alice").unwrap();
        assert!(users.stats().leased > 0);
        users.set_limits("1/day fixed-window".parse().unwrap()).unwrap();
        let let_in = (0..20).filter(|_| users.try_acquire("alice").is_ok()).count();
        assert!(let_in <= 1, "{let_in}");
    }
}

#[test]
fn tokens_are_taken_a_millisecond_to_ten_seconds_ahead() {
    let store = Remote::lazy("redis://127.0.0.1:1/").unwrap();
    let build = |ahead| store.limits("100/s").leased(ahead).build();
    let [least, most] = [Duration::from_millis(1), Duration::from_secs(10)];
    assert!(build(least).is_ok() && build(most).is_ok());
    let too_short = [Duration::ZERO, Duration::from_nanos(999_999)];
    let too_long = [most + Duration::from_nanos(1), Duration::from_secs(3_600), Duration::MAX];
    for ahead in too_short.into_iter().chain(too_long) {
        let error = build(ahead).map(drop).unwrap_err();
        assert!(matches!(error, RemoteError::Ahead { ahead: told } if told == ahead), "{error}");
        let text = error.to_string();
        assert!(text.contains("1 ms") && text.contains("10 s"), "{text}");
    }
}
