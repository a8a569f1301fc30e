//! Computes independent gamma-distributed gaps: Poisson arrivals, and arrivals that are burstier or more even.

use super::random::{Key, Use};
use super::tree::{MOST, Tree};
use crate::count::Count;

/// The level of the random numbers for the sum of all gaps. Every node has a lower level.
const ABOVE_ROOT: u32 = 64;

#[derive(Debug)]
pub(super) struct Renewal(Tree);

impl Renewal {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the total is near 2^63, where every `f64` is a whole number"
    )]
    pub(super) fn new(shape: f64, seed: u64) -> Renewal {
        let key = Key { seed, of: Use::Renewal, run: 0 };
        let total = key.numbers(ABOVE_ROOT, 0).gamma(MOST as f64 * shape) / shape;
        Renewal(Tree::new(key, shape, MOST, Count::from(total as u64) << 64))
    }

    #[inline]
    pub(super) fn count_of(&mut self, slot: u64) -> Count {
        self.0.end(slot)
    }

    pub(super) fn slots_by(&mut self, count: Count) -> u64 {
        self.0.ends_by(count)
    }
}
