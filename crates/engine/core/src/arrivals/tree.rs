//! Computes a sequence of random gaps. The end of any gap can be computed without computing all gaps before it.
//!
//! A node of a binary tree spans a number of gaps, whose sum is known. The share of the left half in this sum is drawn
//! from random numbers that the node's level and index determine. For independent gaps of gamma distribution with shape
//! `a`, the left share of `l + r` gaps has the distribution `Beta(l a, r a)`, whatever the sum is. The gaps of a leaf,
//! as fractions of the leaf's sum, have the Dirichlet distribution (Devroye, "Non-uniform random variate generation",
//! 1986, chapters IX and XI). The tree therefore has the distribution of gaps that are drawn in sequence.
//!
//! Sums are fixed-point numbers, and the parts of a sum add up to exactly that sum: rounding errors do not accumulate,
//! and the ends of gaps never decrease.

use super::random::{Key, Numbers};
use crate::count::Count;

/// The maximum number of gaps of a tree, and of slots of a random arrival process.
pub(super) const MOST: u64 = 1 << 63;
const LEAF: u32 = 7;
const IN_LEAF: u64 = (1 << LEAF) - 1;
/// The number of leaves that are kept: one from which slots are claimed, and one for the slots that are due now.
const KEPT: usize = 2;
/// The number of path nodes that are kept besides the root. The highest of them spans up to 2^15 leaves.
const PATH: usize = 16;

#[derive(Debug)]
pub(super) struct Tree {
    key: Key,
    shape: f64,
    gaps: u64,
    /// The root, followed by the lowest nodes on the path from the root to a leaf.
    path: Vec<Node>,
    leaves: Vec<Leaf>,
}

/// A node, which spans the 2^level gaps from `index * 2^level` on, or fewer at the end of the tree.
#[derive(Clone, Copy, Debug)]
struct Node {
    level: u32,
    index: u64,
    start: Count,
    sum: Count,
}

#[derive(Debug)]
struct Leaf {
    node: Node,
    /// The end of each gap except the last, in units of 2^-64 of the leaf's sum.
    ends: Vec<u64>,
}

impl Leaf {
    #[inline]
    fn end(&self, gap: usize) -> Count {
        let sum = self.node.sum;
        self.node.start + self.ends.get(gap).map_or(sum, |&end| part(sum, end))
    }

    /// The leaf must end after `count`.
    fn ends_by(&self, count: Count) -> usize {
        let ahead = count - self.node.start;
        self.ends.partition_point(|&end| part(self.node.sum, end) <= ahead)
    }
}

impl Tree {
    pub(super) fn new(key: Key, shape: f64, gaps: u64, total: Count) -> Tree {
        let level = gaps.next_power_of_two().trailing_zeros().max(LEAF);
        let root = Node { level, index: 0, start: 0, sum: total };
        let mut path = Vec::with_capacity(1 + PATH);
        path.push(root);
        Tree { key, shape, gaps, path, leaves: Vec::with_capacity(KEPT) }
    }

    pub(super) fn end(&mut self, gap: u64) -> Count {
        let leaf = self.leaf(|node| gap >> node.level == node.index);
        leaf.end(usize::try_from(gap & IN_LEAF).unwrap_or(0))
    }

    pub(super) fn ends_by(&mut self, count: Count) -> u64 {
        if count >= self.path[0].sum {
            return self.gaps;
        }
        let leaf = self.leaf(|node| node.start <= count && count - node.start < node.sum);
        (leaf.node.index << LEAF) + u64::try_from(leaf.ends_by(count)).unwrap_or(0)
    }

    /// `holds` must return true for the leaf and for all nodes above it.
    #[inline]
    fn leaf(&mut self, holds: impl Fn(&Node) -> bool) -> &Leaf {
        let kept = self.leaves.iter().position(|leaf| holds(&leaf.node));
        if kept.is_none() {
            self.descend(holds);
        }
        &self.leaves[kept.unwrap_or(0)]
    }

    fn descend(&mut self, holds: impl Fn(&Node) -> bool) {
        while self.path.len() > 1 && !self.path.last().is_some_and(&holds) {
            self.path.pop();
        }
        let mut node = self.path[self.path.len() - 1];
        while node.level > LEAF {
            let [left, right] = self.halves(node);
            node = if holds(&right) { right } else { left };
            if self.path.len() > PATH {
                self.path.remove(1);
            }
            self.path.push(node);
        }
        self.fill(node);
    }

    fn halves(&self, node: Node) -> [Node; 2] {
        let (level, index) = (node.level - 1, node.index * 2);
        let left_gaps = self.gaps_in(level, index);
        let right_gaps = self.gaps_in(level, index + 1);
        let left_sum = if right_gaps == 0 {
            node.sum
        } else {
            let mut numbers = self.key.numbers(node.level, node.index);
            part(node.sum, share(&mut numbers, self.shape, left_gaps, right_gaps))
        };
        let middle = node.start + left_sum;
        [
            Node { level, index, start: node.start, sum: left_sum },
            Node { level, index: index + 1, start: middle, sum: node.sum - left_sum },
        ]
    }

    fn gaps_in(&self, level: u32, index: u64) -> u64 {
        self.gaps.saturating_sub(index << level).min(1 << level)
    }

    fn fill(&mut self, node: Node) {
        let mut numbers = self.key.numbers(node.level, node.index);
        let mut sum = 0.0;
        let sums: Vec<f64> = (0..self.gaps_in(node.level, node.index))
            .map(|_| {
                sum += numbers.gamma(self.shape);
                sum
            })
            .collect();
        let but_last = sums.len().saturating_sub(1);
        let ends = sums[..but_last].iter().map(|sum_by| fraction(sum_by / sum)).collect();
        self.leaves.truncate(KEPT - 1);
        self.leaves.insert(0, Leaf { node, ends });
    }
}

#[expect(clippy::cast_precision_loss, reason = "a relative error of 2^-53 has no visible effect")]
fn share(numbers: &mut Numbers, shape: f64, left_gaps: u64, right_gaps: u64) -> u64 {
    let left = numbers.gamma(left_gaps as f64 * shape);
    let right = numbers.gamma(right_gaps as f64 * shape);
    fraction(left / (left + right))
}

/// Converts `part`, a number from 0 to 1, to units of 2^-64. A part of 1 becomes 2^64 - 1 units.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "saturates"
)]
pub(super) fn fraction(part: f64) -> u64 {
    (part * ((1_u128 << 64) as f64)) as u64
}

/// Returns `count * fraction * 2^-64`, rounded down.
pub(super) fn part(count: Count, fraction: u64) -> Count {
    let fraction = u128::from(fraction);
    (count >> 64) * fraction + (((count & u128::from(u64::MAX)) * fraction) >> 64)
}

#[cfg(test)]
mod tests {
    use super::super::random::Use;
    use super::super::statistics::{KS_LEVEL, kolmogorov_smirnov, normal};
    use super::*;
    use crate::count::ONE;
    use proptest::prelude::*;

    fn tree(seed: u64, shape: f64, gaps: u64) -> Tree {
        let key = Key { seed, of: Use::Renewal, run: 0 };
        Tree::new(key, shape, gaps, ONE * Count::from(gaps))
    }

    fn part_of_total(end: Count, tree: &Tree) -> f64 {
        let total = tree.path[0].sum;
        let part = u64::try_from((end << 32) / (total >> 32)).unwrap();
        #[expect(clippy::cast_precision_loss, reason = "a figure of a test")]
        let part = part as f64;
        part / 2.0_f64.powi(64)
    }

    proptest! {
        #[test]
        fn gaps_add_up(seed: u64, shape in 0.01..9.0_f64, gaps in 1_u64..3_000) {
            let mut tree = tree(seed, shape, gaps);
            let ends: Vec<Count> = (0..gaps).map(|gap| tree.end(gap)).collect();
            prop_assert!(ends.is_sorted());
            prop_assert_eq!(ends[ends.len() - 1], ONE * Count::from(gaps));
            prop_assert_eq!(tree.ends_by(Count::MAX), gaps);
        }

        #[test]
        fn a_part_is_exact(count in 0..u128::MAX, fraction: u64) {
            let part = part(count, fraction);
            // count * fraction = high * 2^64 + low
            let low = (count & u128::from(u64::MAX)) * u128::from(fraction);
            let high = (count >> 64) * u128::from(fraction);
            prop_assert_eq!(part - high, low >> 64);
            prop_assert!(part <= count);
        }
    }

    /// The right half of the root has the last 2 of 130 gaps, so its share is `Beta(2, 128)`.
    #[test]
    fn a_share_has_its_distribution() {
        let law = |x: f64| 1.0 - (1.0 - x).powi(128) * (1.0 + 128.0 * x);
        let shares: Vec<f64> = (0..20_000)
            .map(|seed| {
                let mut tree = tree(seed, 1.0, 130);
                let end = tree.end(127);
                1.0 - part_of_total(end, &tree)
            })
            .collect();
        let distance = kolmogorov_smirnov(shares, law);
        assert!(distance < KS_LEVEL, "{distance}");
    }

    /// The share of half of 2^k gaps of shape `a` is approximately normal, with variance `1 / (4 (2^k a + 1))`.
    #[test]
    fn the_share_of_half_of_many_gaps_has_its_distribution() {
        for (level, shape) in [(16, 1.0), (30, 0.01), (30, 4.0), (48, 1.0), (62, 1.0), (62, 1e6)] {
            let deviation = 0.5 / (2.0_f64.powi(level) * shape + 1.0).sqrt();
            let middle = (1 << (level - 1)) - 1;
            let mut first = tree(0, shape, 1 << level);
            assert_eq!(first.end(middle), first.halves(first.path[0])[0].sum);
            let halves = (0..5_000)
                .map(|seed| {
                    let tree = tree(seed, shape, 1 << level);
                    let root = tree.path[0];
                    let [left, _] = tree.halves(root);
                    let above_half = left.sum.abs_diff(root.sum / 2);
                    let share = part_of_total(above_half, &tree) / deviation;
                    if left.sum < root.sum / 2 { -share } else { share }
                })
                .collect();
            let distance = kolmogorov_smirnov(halves, normal);
            assert!(distance < KS_LEVEL, "2^{level} gaps of shape {shape}: {distance}");
        }
    }
}
