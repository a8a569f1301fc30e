//! Decides on requests while the store is lost, for example by this process's part of each limit.

use nanopace_keyed::LimitsOf;
use nanopace_limits::{Limit, LimitKind, Limits, Quota};
use std::sync::Arc;
use std::time::Duration;

/// Decides what happens to requests while the store is lost. The store is lost if it cannot be reached, does not
/// respond in time, returns an error, or has no memory left to count requests
/// ([`StoreError::Full`](crate::StoreError::Full)).
///
/// An error that concerns one key is not a loss of the store. With any setting,
/// [`StoreError::Foreign`](crate::StoreError::Foreign) and [`StoreError::Contended`](crate::StoreError::Contended)
/// reject requests of that key only.
///
/// ```
/// use nanopace_remote::{OnLoss, Remote};
///
/// let store = Remote::lazy("redis://127.0.0.1:1/")?; // no server listens here
/// let denies = store.limits("10/s").build()?;
/// assert!(denies.try_acquire("alice").is_err());
///
/// let allows = store.limits("10/s").on_loss(OnLoss::Allow).build()?;
/// assert!(allows.try_acquire_costs("alice", 10).is_ok());
/// assert!(allows.try_acquire_costs("alice", 11).is_err()); // the burst is 10
/// assert_eq!(allows.stats().degraded, 2);
/// # Ok::<(), nanopace_remote::RemoteError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnLoss {
    /// Requests are rejected with [`RemoteRejected::Store`](crate::RemoteRejected::Store).
    #[default]
    Deny,
    /// Requests are admitted, except those that are too large for the limits.
    Allow,
    /// This process decides on requests by its part of the limits. The value is the number of processes, 1 or more.
    /// Each limit's rate and burst are divided by this number. A burst of less than one is rounded up to one. A
    /// window's count of less than one becomes one request in a longer window. These decisions ignore the counts in the
    /// store. Their moments, such as that of `NotUntil`, come from this process's clock, not the store's. At most
    /// 65,536 keys are stored at a time, each in its full length. A new key beyond that number is rejected.
    LocalShare(u32),
}

#[derive(Debug)]
pub(crate) struct Share<C> {
    pub(crate) of: Arc<C>,
    pub(crate) parts: u32,
}

impl<C: LimitsOf<str>> LimitsOf<String> for Share<C> {
    fn version_for(&self, key: &String) -> u64 {
        self.of.version_for(key)
    }

    fn limits_for(&self, key: &String) -> Option<Arc<Limits>> {
        LimitsOf::<str>::limits_for(self, key)
    }
}

impl<C: LimitsOf<str>> LimitsOf<str> for Share<C> {
    fn version_for(&self, key: &str) -> u64 {
        self.of.version_for(key)
    }

    fn limits_for(&self, key: &str) -> Option<Arc<Limits>> {
        let limits = self.of.limits_for(key)?;
        let parts = limits.each().iter().map(|limit| part(limit, self.parts.into()));
        Some(Arc::new(Limits::new(parts)))
    }
}

fn part(limit: &Limit, parts: u64) -> Limit {
    divided(limit, parts).unwrap_or(*limit)
}

fn divided(limit: &Limit, parts: u64) -> Option<Limit> {
    let quota = limit.quota();
    match limit.kind() {
        LimitKind::Gcra { burst } => {
            let slower = slower(quota, quota.count(), parts)?;
            Limit::gcra_with_burst(slower, (burst / parts).max(1)).ok()
        }
        LimitKind::FixedWindow => window(quota, parts).map(Limit::fixed_window),
        LimitKind::SlidingCounter => window(quota, parts).map(Limit::sliding_counter),
        _ => None,
    }
}

/// Returns the quota of one of `parts` parts: the number of requests divided by `parts`, rounded down. If the result is
/// zero, the quota is one request in several periods.
fn window(quota: Quota, parts: u64) -> Option<Quota> {
    match quota.count() / parts {
        0 => slower(quota, 1, parts.div_ceil(quota.count())),
        whole => Quota::new(whole, quota.period()).ok(),
    }
}

fn slower(quota: Quota, count: u64, times: u64) -> Option<Quota> {
    let period_ns = quota.period_ns().checked_mul(times)?;
    Quota::new(count, Duration::from_nanos(period_ns)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_together_are_no_more_than_the_limit() {
        for (limit, parts, expected) in [
            ("10/s burst 20", 4, "10/4s burst 5"),
            ("1/day", 3, "1/3days"),
            ("10/s fixed-window", 3, "3/s fixed-window"),
            ("2/s fixed-window", 5, "1/3s fixed-window"),
            ("9/m sliding-counter", 2, "4/m sliding-counter"),
            ("1/200years", 2, "1/200years"),
        ] {
            assert_eq!(part(&limit.parse().unwrap(), parts).to_string(), expected, "{limit}");
        }
    }
}
