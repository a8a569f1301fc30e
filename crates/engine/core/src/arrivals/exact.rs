//! Computes Poisson arrivals with a fixed number of slots per run, as sorted uniform numbers.

use super::random::{Key, Use};
use super::tree::Tree;
use crate::count::{Count, ONE};
use std::num::NonZeroU32;

/// Sorted uniform numbers cut a run of `n` slots into `n + 1` gaps. These gaps have the same distribution as `n + 1`
/// exponential gaps divided by their sum: Dirichlet with all parameters 1 (Devroye 1986, chapter V).
#[derive(Debug)]
pub(super) struct ExactPoisson {
    slots: NonZeroU32,
    key: Key,
    tree: Tree,
}

impl ExactPoisson {
    pub(super) fn new(slots: NonZeroU32, seed: u64) -> ExactPoisson {
        let key = Key { seed, of: Use::ExactPoisson, run: 0 };
        ExactPoisson { slots, key, tree: tree(key, slots) }
    }

    pub(super) fn count_of(&mut self, slot: u64) -> Count {
        let slots = u64::from(self.slots.get());
        let run = slot / slots;
        let end = self.tree(run).end(slot % slots);
        // Rounding can make the last gap zero. The limit keeps the last slot inside its run.
        Count::from(run) * self.counts() + end.min(self.counts() - 1)
    }

    pub(super) fn slots_by(&mut self, count: Count) -> u64 {
        let slots = u64::from(self.slots.get());
        let run = u64::try_from(count / self.counts()).unwrap_or(u64::MAX);
        let inside = count % self.counts();
        let before = run.saturating_mul(slots);
        if inside == self.counts() - 1 {
            return before.saturating_add(slots);
        }
        before.saturating_add(self.tree(run).ends_by(inside).min(slots))
    }

    fn counts(&self) -> Count {
        Count::from(self.slots.get()) * ONE
    }

    fn tree(&mut self, run: u64) -> &mut Tree {
        if run != self.key.run {
            self.key.run = run;
            self.tree = tree(self.key, self.slots);
        }
        &mut self.tree
    }
}

fn tree(key: Key, slots: NonZeroU32) -> Tree {
    Tree::new(key, 1.0, u64::from(slots.get()) + 1, Count::from(slots.get()) * ONE)
}
