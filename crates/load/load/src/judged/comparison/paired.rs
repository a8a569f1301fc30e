//! Compares two sides that ran at the same time in pairs of batches.
//!
//! A drift of the machine changes both sides, so the drift cancels in the difference of a figure. The variance of the
//! difference is therefore measured from the differences between paired batches. This variance, divided by the sum of
//! the variances of both sides, gives a factor. The variance of each side is multiplied by this factor before the
//! confidence interval of the difference is computed.

#[cfg(test)]
mod tests;

use super::figure::Figure;
use super::side::Side;
use crate::results::confidence::{LEAST_BATCHES, variance_of_sum};
use crate::results::retained_histograms::Batch;
use std::collections::BTreeMap;
use std::iter;

/// The batches of two sides. Batches with the same index cover about the same time.
#[derive(Debug)]
pub(super) struct Pairs([Vec<Batch>; 2]);

impl Pairs {
    /// Divides the run into time ranges, which are the batches of the side with fewer batches. If the middles of
    /// several batches of a side lie in the same range, these batches are joined. Ranges in which one side has no batch
    /// are left out.
    pub(super) fn new(sides: [&[Batch]; 2]) -> Pairs {
        let ends = sides.into_iter().min_by_key(|side| side.len()).unwrap_or_default();
        let [mut first, mut second] = sides.map(|side| joined(side, ends));
        first.retain(|index, _| second.contains_key(index));
        second.retain(|index, _| first.contains_key(index));
        Pairs([first, second].map(|side| side.into_values().collect()))
    }

    /// Returns the variance of the difference of a figure, divided by the sum of the figure's variances on both sides.
    /// Returns 1 if this ratio is unknown, for example because there are too few batches.
    pub(super) fn own_variance(&self, figure: Figure, sides: &[Side; 2]) -> f64 {
        let Pairs([first, second]) = self;
        let both = sides[0].deviations(figure, first).zip(sides[1].deviations(figure, second));
        let Some((first, second)) = both.filter(|(first, _)| first.len() >= LEAST_BATCHES) else {
            return 1.0;
        };
        let differences: Vec<_> = iter::zip(&second, &first).map(|(b, a)| b - a).collect();
        let sum = variance_of_sum(&first) + variance_of_sum(&second);
        if sum > 0.0 { variance_of_sum(&differences) / sum } else { 1.0 }
    }
}

/// Joins the batches of each time range. The time ranges end where the batches of `ends` end. Batches after the last
/// range are left out.
fn joined(batches: &[Batch], ends: &[Batch]) -> BTreeMap<usize, Batch> {
    let mut joined: BTreeMap<usize, Batch> = BTreeMap::new();
    for batch in batches {
        let middle = f64::midpoint(batch.from_seconds, batch.to_seconds);
        let index = ends.partition_point(|end| end.to_seconds <= middle);
        if index < ends.len() {
            joined.entry(index).and_modify(|of| of.join(batch)).or_insert_with(|| batch.clone());
        }
    }
    joined
}
