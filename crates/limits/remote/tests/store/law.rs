//! Tests that the store and the local rules make the same decisions with the same numbers for the same arrivals, if the
//! local rules may decide up to [`allowed`] microseconds earlier or later than the store.

use crate::common::{Micros, runner, servers, store};
use nanopace_limits::custom::LimitsState;
use nanopace_limits::{Decision, Limit, LimitKind, Limits, Quota, Rejected, Rule};
use nanopace_nanos::Nanos;
use nanopace_remote::{Remote, RemoteKeyed};
use proptest::prelude::*;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The local rules, with each state that the store may have. Several states are possible, because the store may decide
/// some microseconds earlier or later.
struct Local {
    limits: Limits,
    states: Vec<LimitsState>,
}

impl Local {
    fn decide(
        &self,
        limits: &Limits,
        state: &LimitsState,
        micros: u64,
        costs: &[u64],
    ) -> (Decision, LimitsState) {
        let now = Nanos::from_nanos(micros * 1_000);
        let mut state = if *limits == self.limits {
            state.clone()
        } else {
            limits.carry_over(&self.limits, state, now)
        };
        (limits.decide_costs(&mut state, now, costs).unwrap(), state)
    }

    /// Compares `decision` with the local decisions at `micros`, and 1 and `most` microseconds before and after that
    /// time. Keeps the states that lead to the same decision, at most 32.
    fn decides_like(
        &mut self,
        limits: &Limits,
        decision: &Decision,
        micros: u64,
        costs: &[u64],
        most: u64,
    ) -> bool {
        const MOST_STATES: usize = 32;
        let moments = [micros, micros - 1, micros + 1, micros - most, micros + most];
        let (mut states, mut seen) = (Vec::new(), HashSet::new());
        for (micros, state) in moments.iter().flat_map(|at| self.states.iter().map(|s| (*at, s))) {
            let (other, state) = self.decide(limits, state, micros, costs);
            if is_like(limits, decision, &other, most) && seen.insert(format!("{state:?}")) {
                states.push(state);
            }
        }
        states.truncate(MOST_STATES);
        *self = Local { limits: limits.clone(), states };
        !self.states.is_empty()
    }
}

/// Compares two decisions; their times may differ by up to `most` microseconds. If this error can exchange two limits,
/// because their retry times or their remaining requests are near each other, the decision may describe either limit.
fn is_like(limits: &Limits, a: &Decision, b: &Decision, most: u64) -> bool {
    let apart = |a: Duration, b: Duration| a.abs_diff(b) <= Duration::from_micros(most);
    let is_retried_alike = match (a.retry(), b.retry()) {
        (Some(a), Some(b)) => apart(a, b),
        (a, b) => a == b,
    };
    let may_be = |few: &Decision, many: &Decision| {
        many.remaining().saturating_sub(few.remaining())
            <= requests_in(most, limits.each()[few.which()])
    };
    let is_remaining_alike = may_be(a, b) && may_be(b, a);
    let is_same_limit = a.limit() == b.limit() && is_remaining_alike && apart(a.reset(), b.reset());
    let is_described_alike = match (a.which() == b.which(), a.retry()) {
        (true, _) => is_same_limit,
        (false, Some(_)) => true,
        (false, None) => is_remaining_alike,
    };
    a.is_allowed() == b.is_allowed() && is_retried_alike && is_described_alike
}

fn requests_in(micros: u64, limit: Limit) -> u64 {
    let quota = limit.quota();
    match limit.kind() {
        LimitKind::FixedWindow => 0,
        _ => micros * 1_000 * quota.count() / quota.period_ns(),
    }
}

/// Returns the allowed error of the store in microseconds. The error is 1, and 1 more for each whole year of the
/// longest burst.
fn allowed(limits: &[Limits]) -> u64 {
    let burst_ns = |limit: &Limit| {
        u128::from(limit.most()) * u128::from(limit.quota().period_ns())
            / u128::from(limit.quota().count())
    };
    let longest_ns = limits.iter().flat_map(Limits::each).map(burst_ns).max().unwrap_or(0);
    let parts = longest_ns / (365 * 86_400_000_000_000);
    1 + u64::try_from(parts).unwrap()
}

/// The time of a request in microseconds. `Later` counts from the previous request, and `Window` from the beginning of
/// the next window of the first limit.
#[derive(Clone, Copy, Debug)]
enum When {
    Later(i64),
    Window(i64),
}

impl When {
    fn after(self, now: u64, limits: &Limits) -> u64 {
        match self {
            When::Later(micros) => now.saturating_add_signed(micros),
            When::Window(micros) => {
                let period_ns = u128::from(limits.each()[0].quota().period_ns());
                let next_ns = (u128::from(now) * 1_000 / period_ns + 1) * period_ns;
                let next = u64::try_from(next_ns.div_ceil(1_000)).unwrap();
                // At most about three years from now, because the store's clock ends in 2255.
                next.min(now + 100_000_000_000_000).saturating_add_signed(micros)
            }
        }
    }
}

#[derive(Clone, Debug)]
struct Arrival {
    when: When,
    costs: Vec<u64>,
    change: Option<usize>,
}

fn quota() -> impl Strategy<Value = Quota> {
    let period_ns = prop_oneof![
        Just(1_000_000_000_u64),
        Just(86_400_000_000_000),
        Just(400 * 86_400_000_000_000),
        (1_u64..100).prop_map(|micros| micros * 1_000),
        10_000_u64..100_000,
        1_000_000_u64..10_000_000_000,
        1_000_000_000_u64..9_000_000_000_000_000_000,
    ];
    let count = prop_oneof![1_u64..12, 1_u64..5_000, 1_000_u64..10_000_000, Just(1)];
    (count, period_ns).prop_map(|(count, period_ns)| {
        Quota::new(count.min(period_ns), Duration::from_nanos(period_ns)).unwrap()
    })
}

fn limit() -> impl Strategy<Value = Limit> {
    let burst = prop_oneof![Just(1_u64), 1_u64..30, 1_u64..1_000_000];
    (quota(), burst, 0..4).prop_map(|(quota, burst, kind)| match kind {
        0 => Limit::gcra(quota),
        1 => Limit::gcra_with_burst(quota, burst).unwrap_or(Limit::gcra(quota)),
        2 => Limit::fixed_window(quota),
        _ => Limit::sliding_counter(quota),
    })
}

fn arrival() -> impl Strategy<Value = Arrival> {
    let later = prop_oneof![
        Just(0_i64),
        1_i64..1_000,
        1_i64..2_000_000,
        1_i64..100_000_000_000,
        -2_000_000_i64..0,
    ];
    let when = prop_oneof![
        4 => later.prop_map(When::Later),
        1 => (-1_i64..2).prop_map(When::Window),
    ];
    let cost = prop_oneof![
        8 => 1_u64..4, 2 => 1_u64..40, 2 => 1_u64..2_000_000, 1 => Just(0), 1 => any::<u64>(),
    ];
    let change = prop_oneof![9 => Just(None), 2 => (0..3_usize).prop_map(Some)];
    let costs = prop_oneof![
        3 => cost.clone().prop_map(|cost| vec![cost; 3]),
        1 => proptest::collection::vec(cost, 3),
    ];
    (when, costs, change).prop_map(|(when, costs, change)| Arrival { when, costs, change })
}

/// Generates limits for which the store rounds nothing. Intervals are whole microseconds, and bursts last at most 40
/// days.
fn even_limit() -> impl Strategy<Value = Limit> {
    const LONGEST_US: u64 = 40 * 86_400_000_000;
    let interval_us = prop_oneof![1_u64..100, 1_u64..10_000_000, 1_u64..LONGEST_US];
    let count = prop_oneof![Just(1_u64), 1_u64..30, 1_u64..1_000_000];
    (interval_us, count.clone(), count, 0..4).prop_map(|(interval_us, count, burst, kind)| {
        let [count, burst] = [count, burst].map(|n| n.min(LONGEST_US / interval_us));
        let quota = Quota::new(count, Duration::from_micros(count * interval_us)).unwrap();
        match kind {
            0 => Limit::gcra(quota),
            1 => Limit::gcra_with_burst(quota, burst).unwrap(),
            2 => Limit::fixed_window(quota),
            _ => Limit::sliding_counter(quota),
        }
    })
}

fn limits(limit: impl Strategy<Value = Limit>) -> impl Strategy<Value = Limits> {
    proptest::collection::vec(limit, 1..4).prop_map(Limits::new)
}

fn remote(store: &Remote, prefix: u64) -> (RemoteKeyed, Arc<AtomicU64>) {
    let micros = Arc::new(AtomicU64::new(1_700_000_000_000_000));
    let limiter =
        store.limits("1/s").prefix(prefix.to_string()).store_clock(Micros(micros.clone()));
    (limiter.build().unwrap(), micros)
}

/// Returns whether a moment is at the edge of a window that is not a whole number of microseconds. The store may count
/// such a moment in the window on the other side.
fn is_at_an_edge(micros: u64, all: &[Limits]) -> bool {
    all.iter().flat_map(Limits::each).any(|limit| {
        let length = limit.quota().period_ns();
        let since = micros * 1_000 % length;
        let is_rounded = !matches!(limit.kind(), LimitKind::Gcra { .. }) && length % 1_000 > 0;
        is_rounded && (since < 2_000 || length - since < 2_000)
    })
}

fn compare(
    store: &Remote,
    prefix: u64,
    all: &[Limits],
    arrivals: &[Arrival],
) -> Result<(), TestCaseError> {
    let (remote, micros) = remote(store, prefix);
    let mut limits = all[0].clone();
    let mut local = Local { limits: limits.clone(), states: vec![limits.fresh()] };
    remote.set_limits(limits.clone()).unwrap();
    for Arrival { when, costs, change } in arrivals {
        if let Some(change) = change {
            limits = all[*change].clone();
            remote.set_limits(limits.clone()).unwrap();
        }
        let now = when.after(micros.load(Ordering::Relaxed), &limits);
        let now = (now..now + 10_000).find(|now| !is_at_an_edge(*now, all)).unwrap();
        micros.store(now, Ordering::Relaxed);
        let costs = &costs[..limits.each().len()];
        let decision = remote.decide_costs("subject", costs).unwrap();
        let (expected, _) = local.decide(&limits, &local.states[0], now, costs);
        let is_like = local.decides_like(&limits, &decision, now, costs, allowed(all));
        prop_assert!(is_like, "{} for {:?}: {:?}\n{:?}", limits, costs, decision, expected);
    }
    Ok(())
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn the_store_decides_as_the_rules_do() {
    for (engine, server) in servers() {
        let (store, prefix) = (store(&server), AtomicU64::new(0));
        let mut runner = runner(400);
        let all = prop_oneof![
            // When limits change, counts are carried over in requests, which would enlarge a rounding error. Limits
            // that change are therefore limits for which the store rounds nothing.
            1 => proptest::collection::vec(limits(even_limit()), 3),
            1 => limits(limit()).prop_map(|limits| vec![limits; 3]),
        ];
        let arrivals = proptest::collection::vec(arrival(), 1..40);
        let result = runner.run(&(all, arrivals), |(all, arrivals)| {
            compare(&store, prefix.fetch_add(1, Ordering::Relaxed), &all, &arrivals)
        });
        result.unwrap_or_else(|error| panic!("{engine}: {error}"));
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn retry_times_are_neither_too_short_nor_too_long() {
    for (engine, server) in servers() {
        let (store, prefix) = (store(&server), AtomicU64::new(0));
        let mut runner = runner(400);
        let result = runner.run(&(limit(), 1_u64..4), |(limit, n)| {
            let (remote, micros) = remote(&store, prefix.fetch_add(1, Ordering::Relaxed));
            remote.set_limits(Limits::new([limit])).unwrap();
            let mut rejected = remote.decide_costs("subject", n).unwrap();
            for _ in 0..4 {
                rejected = remote.decide_costs("subject", rejected.remaining().max(n)).unwrap();
            }
            let n = n.min(rejected.limit());
            let rejected = remote.decide_costs("subject", n).unwrap();
            let Some(retry) = rejected.retry() else { return Ok(()) };
            // From the year 2255 on, a double cannot represent single microseconds.
            let end = Nanos::from_nanos(9_000_000_000_000_000_000);
            if rejected.answer() > Err(Rejected::NotUntil(end)) {
                return Ok(());
            }
            let now = micros.load(Ordering::Relaxed);
            // The store's clock has a resolution of a microsecond.
            let wait = u64::try_from(retry.as_nanos().div_ceil(1_000)).unwrap();
            let allowed = allowed(&[Limits::new([limit])]);
            micros.store(now + wait.saturating_sub(1 + allowed), Ordering::Relaxed);
            prop_assert!(!remote.decide_costs("subject", n).unwrap().is_allowed());
            micros.store(now + wait + allowed, Ordering::Relaxed);
            prop_assert!(remote.decide_costs("subject", n).unwrap().is_allowed());
            Ok(())
        });
        result.unwrap_or_else(|error| panic!("{engine}: {error}"));
    }
}
