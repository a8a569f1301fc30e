//! Pairs the batches of two sides that ran at the same time, and measures how much of their variance both have in common.
//!
//! A drift of the machine changes both sides, so it cancels in the difference of a figure. The variance of the difference
//! is therefore measured from the differences of pairs of batches. Its ratio to the sum of the variances of the two sides
//! is the share of the variance that is the sides' own. The interval of the difference is that of sides with only this
//! share of their variance.

#[cfg(test)]
mod tests;

use super::figure::Figure;
use super::side::Side;
use crate::results::confidence::{LEAST_BATCHES, variance_of_sum};
use crate::results::retained_histograms::Batch;
use std::collections::BTreeMap;
use std::iter;

/// Batches of two sides. Those with the same index cover about the same time.
#[derive(Debug)]
pub(super) struct Pairs([Vec<Batch>; 2]);

impl Pairs {
    /// Joins batches until both sides have batches of about the same times. Each batch belongs to the batch of the side
    /// with fewer batches that contains its middle.
    pub(super) fn new(sides: [&[Batch]; 2]) -> Pairs {
        let ends = sides.into_iter().min_by_key(|side| side.len()).unwrap_or_default();
        let [mut first, mut second] = sides.map(|side| joined(side, ends));
        first.retain(|index, _| second.contains_key(index));
        second.retain(|index, _| first.contains_key(index));
        Pairs([first, second].map(|side| side.into_values().collect()))
    }

    /// Returns the share of a figure's variance that the sides do not have in common. Returns 1 if it is unknown.
    pub(super) fn own_variance(&self, figure: Figure, sides: &[Side<'_>; 2]) -> f64 {
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

/// Joins the batches whose middles are before the end of the same one of `ends`. Later batches are left out.
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
