//! Stores tokens that were taken ahead of requests.
//!
//! # Why no more is admitted than the limits allow
//!
//! A token is used within its *validity* v, which this process's clock measures from a moment before the store was
//! called. So the tokens that are used in a span were taken within a span that is longer by v. [`reserved`] therefore
//! reduces the burst of a rate by the requests that the rate allows in v. A token of a window is valid until the end of
//! the window at the latest, so it is used in the window that has counted it.

use crate::decide::More;
use foldhash::fast::RandomState;
use nanopace_limits::custom::Receipt;
use nanopace_limits::{Decision, Limit, LimitKind, Limits};
use nanopace_nanos::Nanos;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const SHARDS: usize = 16;

#[derive(Debug)]
pub(crate) struct Leases {
    /// The longest validity of a token.
    pub(crate) ahead: Duration,
    shards: Vec<Mutex<HashMap<String, Vec<Block>, RandomState>>>,
    hasher: RandomState,
    leased: AtomicU64,
    processes: AtomicU64,
}

#[derive(Debug)]
pub(crate) struct Block {
    version: u64,
    pub(crate) tokens: u64,
    /// The moment until which the tokens are valid, by this process's clock.
    until: Nanos,
    decision: Decision,
    /// The receipt for these tokens and the request that took them.
    pub(crate) receipt: Receipt,
}

impl Block {
    /// Returns, for each limit, the cost of the request and of the used tokens. The rest of the receipt is given back.
    pub(crate) fn used(&self) -> Vec<u64> {
        self.receipt.costs().iter().map(|counted| counted - self.tokens).collect()
    }
}

impl Leases {
    pub(crate) fn new(ahead: Duration) -> Self {
        Self {
            ahead,
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: RandomState::default(),
            leased: AtomicU64::new(0),
            processes: AtomicU64::new(1),
        }
    }

    /// Returns the number of tokens that were taken ahead and not used yet. Relaxed: no other data is published through
    /// the number.
    pub(crate) fn leased(&self) -> u64 {
        self.leased.load(Ordering::Relaxed)
    }

    /// Sets the number of limiters (usually one in each process) that lease with this prefix, including this one.
    /// Relaxed: no other data is published through the number.
    pub(crate) fn set_processes(&self, processes: u64) {
        self.processes.store(processes.max(1), Ordering::Relaxed);
    }

    /// Returns twice the number of processes, because a block takes at most half of a process's part of the remaining
    /// tokens.
    pub(crate) fn share(&self) -> u64 {
        self.processes.load(Ordering::Relaxed).min(1 << 20) * 2
    }

    /// Takes tokens of a block. Calls `now` under the lock, so that a wait for the lock cannot make an expired block
    /// look valid.
    pub(crate) fn take(
        &self,
        key: &str,
        version: u64,
        n: u64,
        now: impl FnOnce() -> Nanos,
    ) -> Option<Decision> {
        let mut shard = self.shard(key);
        let blocks = shard.get_mut(key)?;
        let now = now();
        let is_good =
            |block: &&mut Block| block.version == version && block.tokens >= n && now < block.until;
        let block = blocks.iter_mut().find(is_good)?;
        block.tokens -= n;
        self.leased.fetch_sub(n, Ordering::Relaxed);
        Some(block.decision)
    }

    /// Stores the tokens that a call after the moment `sent` has taken ahead.
    pub(crate) fn keep(
        &self,
        key: &str,
        version: u64,
        sent: Nanos,
        decision: Decision,
        more: More,
    ) {
        let limits = more.receipt.limits();
        let good_for = self.validity(limits).min(window_left(limits, more.at));
        let block = Block {
            version,
            tokens: more.tokens,
            until: sent + good_for,
            decision,
            receipt: more.receipt,
        };
        self.leased.fetch_add(block.tokens, Ordering::Relaxed);
        self.shard(key).entry(key.to_owned()).or_default().push(block);
    }

    pub(crate) fn expired(&self, now: Nanos) -> Vec<(String, Block)> {
        let mut expired = Vec::new();
        for shard in &self.shards {
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            for (key, blocks) in shard.iter_mut() {
                let old = blocks.extract_if(.., |block| block.tokens == 0 || block.until <= now);
                expired.extend(old.map(|block| (key.clone(), block)));
            }
            shard.retain(|_, blocks| !blocks.is_empty());
        }
        expired.retain(|(_, block)| block.tokens > 0);
        let tokens: u64 = expired.iter().map(|(_, block)| block.tokens).sum();
        self.leased.fetch_sub(tokens, Ordering::Relaxed);
        expired
    }

    /// Returns how long tokens of these limits are valid, unless a window ends before that.
    pub(crate) fn validity(&self, limits: &Limits) -> Duration {
        let most = limits.each().iter().filter_map(half_of_burst).min();
        most.map_or(self.ahead, |most| most.min(self.ahead))
    }

    /// Returns the maximum number of tokens in a block: at least 1, or 0 if tokens are never valid.
    pub(crate) fn block(&self, limits: &Limits) -> u64 {
        let validity = self.validity(limits);
        if validity.is_zero() || limits.each().is_empty() {
            return 0;
        }
        let brought = limits.each().iter().map(|limit| brought(limit, validity).0).min();
        brought.unwrap_or(0).clamp(1, 1 << 32)
    }

    pub(crate) fn reserved(&self, limits: &Limits) -> Limits {
        let validity = self.validity(limits);
        Limits::new(limits.each().iter().map(|limit| reserved(limit, validity)))
    }

    fn shard(&self, key: &str) -> MutexGuard<'_, HashMap<String, Vec<Block>, RandomState>> {
        let [number, ..] = self.hasher.hash_one(key).to_be_bytes();
        let shard = &self.shards[usize::from(number) % SHARDS];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn half_of_burst(limit: &Limit) -> Option<Duration> {
    let LimitKind::Gcra { burst } = limit.kind() else { return None };
    let quota = limit.quota();
    let time = u128::from(burst / 2) * u128::from(quota.period_ns()) / u128::from(quota.count());
    Some(Duration::from_nanos(u64::try_from(time).unwrap_or(u64::MAX)))
}

/// Returns the number of requests that a limit allows in this time, rounded down and rounded up.
fn brought(limit: &Limit, time: Duration) -> (u64, u64) {
    let quota = limit.quota();
    let whole = time.as_nanos() * u128::from(quota.count());
    let rounded = |count: u128| u64::try_from(count).unwrap_or(u64::MAX);
    let period = u128::from(quota.period_ns());
    (rounded(whole / period), rounded(whole.div_ceil(period)))
}

fn reserved(limit: &Limit, validity: Duration) -> Limit {
    let LimitKind::Gcra { burst } = limit.kind() else { return *limit };
    let smaller = burst.saturating_sub(brought(limit, validity).1).max(1);
    limit.with_burst(smaller).unwrap_or(*limit)
}

/// Returns the time from `at` until the first of the windows ends, or `Duration::MAX` if no limit has windows.
fn window_left(limits: &Limits, at: Nanos) -> Duration {
    let windows =
        limits.each().iter().filter(|limit| !matches!(limit.kind(), LimitKind::Gcra { .. }));
    let left = windows.map(|limit| {
        let period_ns = limit.quota().period_ns();
        Duration::from_nanos(period_ns - at.as_nanos() % period_ns)
    });
    left.min().unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nanopace_limits::Quota;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_burst_has_room_for_what_is_held(
            count in 1_u64..1_000_000,
            period_ns in 1_000_000_u64..1_000_000_000_000,
            burst in 1_u64..100_000,
            ahead_ms in 1_u64..10_000,
        ) {
            let quota = Quota::new(count.min(period_ns), Duration::from_nanos(period_ns)).unwrap();
            let limit = Limit::gcra_with_burst(quota, burst).unwrap();
            let leases = Leases::new(Duration::from_millis(ahead_ms));
            let limits = Limits::new([limit]);
            let held = leases.validity(&limits).as_nanos() * u128::from(quota.count());
            let smaller = leases.reserved(&limits).each()[0].most();
            let period = u128::from(period_ns);
            prop_assert!(u128::from(smaller) * period + held <= u128::from(burst) * period);
            prop_assert!(smaller >= 1 && leases.block(&limits) < 1 + burst);
        }
    }
}
