//! Limits in the words of the script.

use crate::error::UnsupportedLimit;
use nanopace_limits::{Limit, Limits};
use std::sync::Arc;

/// Limits that a store can keep.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) limits: Arc<Limits>,
    pub(crate) text: String,
    pub(crate) laws: Vec<String>,
}

impl Plan {
    pub(crate) fn new(limits: Arc<Limits>) -> Result<Self, UnsupportedLimit> {
        let laws = limits.each().iter().map(law).collect::<Result<_, _>>()?;
        Ok(Self { text: limits.to_string(), laws, limits })
    }

    /// Whether the costs are more than ever gets in, or zero. Nothing is counted then.
    pub(crate) fn counts_nothing(&self, costs: &[u64]) -> bool {
        costs.iter().all(|cost| *cost == 0)
            || costs.iter().zip(self.limits.each()).any(|(cost, limit)| *cost > limit.most())
    }
}

/// A limit's letter and two numbers.
pub(crate) fn law(limit: &Limit) -> Result<String, UnsupportedLimit> {
    match limit.law_in_doubles() {
        None => Err(UnsupportedLimit::Log { limit: *limit }),
        Some(('f' | 's', [length, _])) if length < 1.0 => {
            Err(UnsupportedLimit::Period { limit: *limit })
        }
        Some((letter, [a, b])) => Ok(format!("{letter} {a} {b}")),
    }
}
