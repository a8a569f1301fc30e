//! The part of each limit that a process keeps by itself.

use nanopace_keyed::LimitsOf;
use nanopace_limits::internal::Kind;
use nanopace_limits::{Limit, Limits, Quota};
use std::sync::Arc;
use std::time::Duration;

/// The limits of another configuration, divided.
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

/// The limit divided by `parts`. What can't be divided further stays as it is.
fn part(limit: &Limit, parts: u64) -> Limit {
    divided(limit, parts).unwrap_or(*limit)
}

fn divided(limit: &Limit, parts: u64) -> Option<Limit> {
    let quota = limit.quota();
    match limit.kind() {
        Kind::Gcra { burst } => {
            let slower = slower(quota, quota.count(), parts)?;
            Limit::gcra_with_burst(slower, (burst / parts).max(1)).ok()
        }
        Kind::Fixed => window(quota, parts).map(Limit::fixed_window),
        Kind::Counter => window(quota, parts).map(Limit::sliding_counter),
        Kind::Window { .. } | Kind::Log | Kind::LogAll => None,
    }
}

/// The whole requests of a part in each window; or one, in as many windows as that takes.
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
