//! Limits as the script is told of them.

use crate::error::UnsupportedLimit;
use nanopace_limits::internal::Arithmetic;
use nanopace_limits::{Limit, Limits};
use std::sync::Arc;

/// Limits that a store can keep, in the script's words.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) limits: Arc<Limits>,
    pub(crate) text: String,
    pub(crate) specifications: Vec<String>,
    laws: Vec<Arithmetic>,
}

impl Plan {
    pub(crate) fn new(limits: Arc<Limits>) -> Result<Self, UnsupportedLimit> {
        let laws: Result<Vec<_>, _> = limits.each().iter().map(law).collect();
        let laws = laws?;
        Ok(Self {
            text: limits.to_string(),
            specifications: laws.iter().map(specification).collect(),
            laws,
            limits,
        })
    }

    /// Whether the costs are more than ever gets in, or nothing at all. Nothing is counted then.
    pub(crate) fn counts_nothing(&self, costs: &[u64]) -> bool {
        costs.iter().all(|cost| *cost == 0)
            || costs.iter().zip(&self.laws).any(|(cost, law)| *cost > most(law))
    }

    /// What a script needs that decides on rates in whole nanoseconds alone: for each, the time of the
    /// burst that has to be left, and the time that the request takes to be paid off. None if there is
    /// another limit, or a cost that is more than the burst.
    pub(crate) fn plain(&self, costs: &[u64]) -> Option<Vec<String>> {
        let mut numbers = Vec::with_capacity(4 * costs.len());
        for (law, cost) in self.laws.iter().zip(costs) {
            let Arithmetic::Rate { interval, shortfall_q64: 0, burst } = *law else { return None };
            if *cost == 0 {
                return None;
            }
            let [left, cost] = [burst.checked_sub(*cost)? * interval, cost * interval];
            numbers.extend([left >> 36, left & LOW, cost >> 36, cost & LOW].map(|n| n.to_string()));
        }
        Some(numbers)
    }
}

/// The lower limb of 36 bits.
const LOW: u64 = (1 << 36) - 1;

fn law(limit: &Limit) -> Result<Arithmetic, UnsupportedLimit> {
    match limit.arithmetic() {
        None => Err(UnsupportedLimit::Log { limit: *limit }),
        Some(law) if is_too_short(&law) => Err(UnsupportedLimit::Period { limit: *limit }),
        Some(law) => Ok(law),
    }
}

fn is_too_short(law: &Arithmetic) -> bool {
    match *law {
        Arithmetic::FixedWindow { period_ns, .. }
        | Arithmetic::SlidingCounter { period_ns, .. } => period_ns < 1_000,
        Arithmetic::Rate { .. } => false,
    }
}

fn most(law: &Arithmetic) -> u64 {
    match *law {
        Arithmetic::Rate { burst, .. } => burst,
        Arithmetic::FixedWindow { count, .. } | Arithmetic::SlidingCounter { count, .. } => count,
    }
}

/// The kind's letter, and three numbers.
fn specification(law: &Arithmetic) -> String {
    let (kind, numbers) = match *law {
        Arithmetic::Rate { interval, shortfall_q64, burst } => {
            let shortfall_q72 = u128::from(shortfall_q64) << 8;
            ('r', [shortfall_q72, interval.into(), (interval * burst).into()])
        }
        Arithmetic::FixedWindow { period_ns, count, largest } => {
            ('f', [period_ns, count, largest].map(u128::from))
        }
        Arithmetic::SlidingCounter { period_ns, count } => {
            ('s', [period_ns, count, u64::MAX].map(u128::from))
        }
    };
    let [a, b, c] = numbers;
    format!("{kind}{a:018x}{b:018x}{c:018x}")
}

/// The specification of a replaced limit, which was in force in a store before.
pub(crate) fn specification_of(limit: &Limit) -> Option<String> {
    Some(specification(&law(limit).ok()?))
}
