//! Limits by key, with any numbers, on a clock that jumps forth and back by no more than the store's
//! lag. The decision engine gives the answers of a limiter for each key that is never cleaned up.
//! Keys stay within their bound. Changes to the limits of other keys change nothing, and changes to
//! a key's own limits at least break nothing.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use nanopace::Nanos;
use nanopace_fuzz::{AnyQuota, Move, Number};
use nanopace_limits::internal::LimitsState;
use nanopace_keyed::internal::DecisionEngine;
use nanopace_keyed::{ConfigStore, KeyRejected, Limit, Limits, MemoryConfig, Scope, WhenFull};
use nanopace_limits::{Quota, Rejected, Rule};
use std::collections::HashMap;
use std::num::NonZeroU16;
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
    Look { key: u8, n: Number },
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

struct World {
    engine: DecisionEngine<MemoryConfig>,
    max_keys: usize,
    lag: u64,
    limits: Limits,
    /// Beside the engine, unless limits have changed.
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
        let engine = DecisionEngine::new(config, max_keys).tuned(|requests| {
            requests.when_full(when_full).lag(Duration::from_nanos(lag))
        });
        World {
            engine,
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
            self.limits.each().first().map_or(Quota::per_second(1).expect("a quota"), Limit::quota);
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
        let answer = self.engine.try_acquire_n_at(&name(key), n, self.now);
        assert!(self.engine.requests().keys() <= self.max_keys);
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

    /// A look, which may refuse a new key for which a decision would make room.
    fn look(&self, key: u8, n: u64) {
        let answer = self.engine.peek_n_at(&name(key), n, self.now);
        if let Some(own) =
            self.own.as_ref().filter(|_| !matches!(answer, Err(KeyRejected::TooManyKeys { .. })))
        {
            let mut state = own.get(&key).cloned().unwrap_or_else(|| self.limits.fresh());
            let expected = self.limits.try_acquire(&mut state, self.now, n);
            assert_eq!(
                answer,
                expected.map_err(KeyRejected::Limit),
                "{n} for {key} at {:?}",
                self.now
            );
        }
    }

    fn change(&mut self, limits: Limits) {
        set(self.engine.config(), limits.clone());
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
            Step::Look { key, n } => world.look(key, n.get()),
            Step::Sweep(looks) => drop(world.engine.requests().sweep(world.now, looks.into())),
            Step::ChangeOthers(limit) => {
                let others = Scope::Prefix("others");
                world.engine.config().set(others, limits(&[limit])).expect("in memory");
            }
            Step::Change(changed) => world.change(limits(&changed)),
        }
    }
});
