//! Limits by key, with any numbers, on a clock that jumps forth and back by no more than the store's
//! lag. They give the answers of a limiter for each key that is never cleaned up.
//! Keys stay within their bound. Changes to the limits of other keys change nothing, and changes to
//! a key's own limits at least break nothing.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use nanopace::{Clock, Nanos};
use nanopace_fuzz::{AnyQuota, Move, Number};
use nanopace_keyed::{
    ConfigStore, KeyRejected, Keyed, Limit, Limits, MemoryConfig, Scope, WhenFull,
};
use nanopace_limits::custom::LimitsState;
use nanopace_limits::{Rejected, Rule};
use std::collections::HashMap;
use std::num::NonZeroU16;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

#[derive(Arbitrary, Clone, Copy, Debug)]
enum AnyLimit {
    Gcra(AnyQuota),
    WithBurst(AnyQuota, Number),
    Window(AnyQuota, NonZeroU16),
}

impl AnyLimit {
    fn get(self) -> Option<Limit> {
        match self {
            AnyLimit::Gcra(quota) => Some(Limit::gcra(quota.get())),
            AnyLimit::WithBurst(quota, burst) => {
                Limit::gcra_with_burst(quota.get(), burst.get()).ok()
            }
            AnyLimit::Window(quota, slots) => Some(Limit::window(quota.get(), slots)),
        }
    }
}

#[derive(Arbitrary, Debug)]
enum Step {
    Move(Move),
    Ask { key: u8, n: Number, obey: bool },
    AskForOne { key: u8, obey: bool },
    Look { key: u8 },
    Sweep(u8),
    ChangeOthers(AnyLimit),
    Change(Vec<AnyLimit>),
}

#[derive(Arbitrary, Debug)]
struct Setting {
    limits: Vec<AnyLimit>,
    max_keys: u8,
    reject: bool,
    lag: Number,
}

fn limits(limits: &[AnyLimit]) -> Limits {
    Limits::new(limits.iter().take(4).filter_map(|limit| limit.get()))
}

/// Those of the keys that are asked for, by a prefix.
fn set(config: &MemoryConfig, limits: Limits) {
    config.set(Scope::Prefix("key"), limits).expect("in memory");
}

/// Shows the moment that it was set to last.
#[derive(Clone, Debug, Default)]
struct SetClock(Arc<AtomicU64>);

impl Clock for SetClock {
    fn now(&self) -> Nanos {
        Nanos::from_nanos(self.0.load(Relaxed))
    }
}

struct World {
    keyed: Keyed<String, MemoryConfig>,
    clock: SetClock,
    max_keys: usize,
    lag: u64,
    limits: Limits,
    /// The states of all keys, unless limits have changed.
    own: Option<HashMap<u8, LimitsState>>,
    now: Nanos,
    latest: Nanos,
}

impl World {
    fn new(setting: &Setting) -> World {
        let (limits, max_keys) = (limits(&setting.limits), usize::from(setting.max_keys));
        let when_full = if setting.reject { WhenFull::Reject } else { WhenFull::EvictExpired };
        let lag = setting.lag.get();
        let config = MemoryConfig::new();
        set(&config, limits.clone());
        let (keyed, clock) = (Keyed::builder(config).max_keys(max_keys), SetClock::default());
        let keyed = keyed.when_full(when_full).lag(Duration::from_nanos(lag));
        World {
            keyed: keyed.clock(clock.clone()).build().expect("limits"),
            clock,
            max_keys,
            lag,
            limits,
            own: Some(HashMap::new()),
            now: Nanos::ZERO,
            latest: Nanos::ZERO,
        }
    }

    fn move_clock(&mut self, change: Move) {
        let quota =
            self.limits.each().first().map_or("1/s".parse().expect("a quota"), Limit::quota);
        let oldest = Nanos::from_nanos(self.latest.as_nanos().saturating_sub(self.lag));
        self.now = change.from(self.now, quota).max(oldest);
        self.latest = self.latest.max(self.now);
    }

    fn ask(&mut self, key: u8, n: u64, obey: bool) {
        if let Err(KeyRejected::Limit(Rejected::NotUntil(moment))) = self.decide(key, n) {
            assert!(moment > self.now || moment == Nanos::MAX, "{n} at {:?}: {moment:?}", self.now);
            if obey && moment < Nanos::MAX {
                self.now = moment;
                self.latest = self.latest.max(self.now);
                let answer = self.decide(key, n);
                assert!(
                    !matches!(answer, Err(KeyRejected::Limit(_))),
                    "{n} told to come at {moment:?}: {answer:?}"
                );
            }
        }
    }

    fn decide(&mut self, key: u8, n: u64) -> Result<(), KeyRejected> {
        self.set_clock();
        let answer = self.keyed.try_acquire_costs(&name(key), n);
        assert!(self.keyed.keys() <= self.max_keys);
        let full = matches!(answer, Err(KeyRejected::TooManyKeys { .. }));
        if let Some(own) = self.own.as_mut().filter(|_| !full) {
            let state = own.entry(key).or_insert_with(|| self.limits.fresh());
            let expected = self.limits.try_acquire(state, self.now, n);
            assert_eq!(
                answer,
                expected.map_err(KeyRejected::Limit),
                "{n} for {key} at {:?}",
                self.now
            );
        }
        answer
    }

    fn look(&self, key: u8) {
        self.set_clock();
        let standing = self.keyed.standing(&name(key)).expect("limits");
        if let Some(own) = &self.own {
            let state = own.get(&key).cloned().unwrap_or_else(|| self.limits.fresh());
            let (_, expected) = self.limits.tightest(&state, self.now);
            assert_eq!(standing, expected, "{key} at {:?}", self.now);
        }
    }

    fn sweep(&self, cells: u8) {
        self.set_clock();
        self.keyed.sweep(cells.into());
    }

    fn set_clock(&self) {
        self.clock.0.store(self.now.as_nanos(), Relaxed);
    }

    fn change(&mut self, limits: Limits) {
        set(self.keyed.config(), limits.clone());
        (self.limits, self.own) = (limits, None);
    }
}

fn name(key: u8) -> String {
    format!("key{key}")
}

fuzz_target!(|input: (Setting, Vec<Step>)| {
    let (setting, steps) = input;
    let mut world = World::new(&setting);
    for step in steps {
        match step {
            Step::Move(change) => world.move_clock(change),
            Step::Ask { key, n, obey } => world.ask(key, n.get(), obey),
            Step::AskForOne { key, obey } => world.ask(key, 1, obey),
            Step::Look { key } => world.look(key),
            Step::Sweep(cells) => world.sweep(cells),
            Step::ChangeOthers(limit) => {
                let others = Scope::Prefix("others");
                world.keyed.config().set(others, limits(&[limit])).expect("in memory");
            }
            Step::Change(changed) => world.change(limits(&changed)),
        }
    }
});
