//! Computes the 95 % confidence interval of a percentile from a single run.
//!
//! Consecutive response times are not independent: after a slow request, the next requests have to wait too. A run
//! therefore contains less information about a percentile than the same number of independent times. The interval is
//! computed in these steps:
//!
//! 1. The *design effect* is the ratio of two variances of the share of recorded times that do not exceed the
//!    percentile: the variance that is measured between batches of the run ([`OverTime::batches`]), and the variance
//!    that independent times would have. If neighbouring batches are still correlated, the design effect is multiplied
//!    by `(1 + r) / (1 - r)`, where `r` is their correlation (Tafazzoli and Wilson, *Skart*, 2011).
//! 2. The sample size, which is the number of recorded times, is divided by the design effect. The result, corrected
//!    for the small number of batches, is the effective sample size (Korn and Graubard, 1998).
//! 3. The binomial distribution for the effective sample size gives the two ranks between which the percentile lies.
//!    The times at these ranks are the ends of the interval (Woodruff, 1952).
//!
//! The simulations in the tests show when the interval is valid: the run must be long compared with the time over which
//! response times depend on each other. An interval is called *rough* if fewer than ten times of the effective sample
//! are above the percentile or fewer than ten below it, or if an end of the interval is beyond all measured times.

#[cfg(test)]
pub(crate) mod simulated;
#[cfg(test)]
mod tests;

use super::over_time::{Interval, OverTime};
use super::percentiles::Sample;
use super::stats::OperationStats;
use crate::console::human::float;
use hdrhistogram::Histogram;
use serde::Serialize;

pub(crate) const LEAST_BATCHES: usize = 4;

const LEAST_BEYOND: f64 = 10.0;

/// The slope at a percentile is measured over the confidence interval that a sample with this number of times beyond
/// the percentile would have.
const SLOPE_BEYOND: f64 = 1_000.0;

/// 95 % of normally distributed values are within `Z` standard deviations of the mean, and 80 % are within `Z_80`.
pub(crate) const Z: f64 = 1.959_964;
const Z_80: f64 = 1.281_552;

/// A larger correlation between batches is replaced by this value. Runs that are long enough rarely exceed it.
const MOST_ALIKE: f64 = 0.8;

/// A confidence interval, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Range {
    pub(crate) low: u64,
    /// The upper end of the interval, or `None` if it is above all measured times.
    pub(crate) high: Option<u64>,
    #[serde(rename = "too_few")]
    pub(crate) is_rough: bool,
}

#[derive(Debug)]
pub(crate) struct Confidence<'run> {
    pub(crate) stats: &'run OperationStats,
    pub(crate) batches: Vec<Interval>,
}

impl<'run> Confidence<'run> {
    pub(crate) fn new(stats: &'run OperationStats, over_time: &OverTime) -> Confidence<'run> {
        Confidence { stats, batches: over_time.batches() }
    }

    /// Returns the wait times in batches. Each time is in the batch in which its slot was due.
    pub(crate) fn wait(&self) -> Batched<'_> {
        self.batched(Sample::exact(&self.stats.wait), |batch| &batch.due.wait)
    }

    /// Returns the service times in batches. Each time is in the batch in which its request was completed.
    pub(crate) fn service(&self) -> Batched<'_> {
        self.batched(Sample::exact(&self.stats.service), |batch| &batch.brief.service)
    }

    /// Returns the response times in batches. Each time is in the batch in which its slot was due.
    pub(crate) fn response(&self) -> Batched<'_> {
        self.batched(self.stats.responses(), |batch| &batch.due.response)
    }

    fn batched<'a>(
        &'a self,
        sample: Sample<'a>,
        times: impl Fn(&'a Interval) -> &'a Histogram<u64>,
    ) -> Batched<'a> {
        Batched { sample, batches: self.batches.iter().map(times).collect() }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Batched<'run> {
    pub(crate) sample: Sample<'run>,
    pub(crate) batches: Vec<&'run Histogram<u64>>,
}

impl Batched<'_> {
    /// Returns the confidence interval of a quantile. Returns `None` for the quantiles 0 and 1, and if there are no
    /// times or too few batches.
    pub(crate) fn range(&self, quantile: f64) -> Option<Range> {
        let is_inside = quantile > 0.0 && quantile < 1.0 && !self.sample.is_empty();
        let is_known = is_inside && self.batches.len() >= LEAST_BATCHES;
        is_known.then(|| self.range_of(quantile, self.effective(quantile)))
    }

    /// Returns the distance from the time at this quantile to the farther end of its confidence interval, divided by
    /// this time. Returns `None` if the interval is not reliable.
    pub(crate) fn reach(&self, quantile: f64) -> Option<f64> {
        let range = self.range(quantile).filter(|range| !range.is_rough)?;
        let time = self.sample.times.value_at_quantile(quantile);
        let (below, above) = (time - range.low.min(time), range.high?.max(time) - time);
        Some(float(below.max(above)) / float(time.max(1)))
    }

    /// Returns the confidence interval that a sample of `effective` independent times would have.
    pub(crate) fn range_of(&self, quantile: f64, effective: f64) -> Range {
        let (low, high) = ranks(quantile, effective);
        let most = (high < 1.0).then(|| self.sample.at_most(high)).flatten();
        let beyond = effective * quantile.min(1.0 - quantile);
        Range {
            low: self.sample.times.value_at_quantile(low.max(0.0)),
            high: most,
            is_rough: beyond < LEAST_BEYOND || low <= 0.0 || most.is_none(),
        }
    }

    /// Returns how many independent times would determine the quantile as exactly as the recorded times do.
    pub(crate) fn effective(&self, quantile: f64) -> f64 {
        effective(&self.shares_at(quantile))
    }

    /// Returns for each batch the share of its times that are at most the time at this quantile. The times in the same
    /// bucket are included if the share of the whole run is then closer to the quantile.
    pub(crate) fn shares_at(&self, quantile: f64) -> Vec<Share> {
        let time = self.sample.times.value_at_quantile(quantile);
        let [above, below] = [true, false].map(|with_time| self.shares(time, with_time));
        let off = |shares: &[Share]| (whole(shares).part() - quantile).abs();
        if off(&below) < off(&above) { below } else { above }
    }

    /// Returns the derivative of the quantile function in nanoseconds, or `None` with too few times above the quantile.
    pub(crate) fn slope(&self, quantile: f64) -> Option<f64> {
        let most = SLOPE_BEYOND / quantile.min(1.0 - quantile);
        let times = float(self.sample.times.len()).min(most);
        let range = (times > 0.0).then(|| self.range_of(quantile, times))?;
        let (low, high) = ranks(quantile, times);
        Some((float(range.high?) - float(range.low)) / (high - low))
    }

    /// Returns for each batch the share of its times that are below `time`. If `with_time` is true, times in the same
    /// bucket as `time` are included.
    pub(crate) fn shares(&self, time: u64, with_time: bool) -> Vec<Share> {
        let share = |times: &&Histogram<u64>| {
            let same = if with_time { 0 } else { times.count_at(time) };
            let counted = float(times.count_between(0, time) - same);
            Share { counted, all: float(times.len()) }
        };
        self.batches.iter().map(share).collect()
    }
}

/// A share: `counted` of `all`. For example, `counted` of `all` times do not exceed a limit, or `counted` requests
/// started in `all` seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Share {
    pub(crate) counted: f64,
    pub(crate) all: f64,
}

impl Share {
    pub(crate) fn part(self) -> f64 {
        if self.all > 0.0 { self.counted / self.all } else { 0.0 }
    }
}

pub(crate) fn whole(shares: &[Share]) -> Share {
    shares.iter().fold(Share::default(), |sum, share| Share {
        counted: sum.counted + share.counted,
        all: sum.all + share.all,
    })
}

pub(crate) fn effective(shares: &[Share]) -> f64 {
    whole(shares).all / design_effect(shares) * (Z / student(float_of(shares.len()) - 1.0)).powi(2)
}

/// Returns the design effect: the variance of the share in all batches, divided by the variance that this share would
/// have if the times or requests were independent. The result is at least 1.
fn design_effect(shares: &[Share]) -> f64 {
    let whole = whole(shares);
    let independent = whole.part() * (1.0 - whole.part()) * whole.all;
    let variance = variance(shares);
    if independent > 0.0 { (variance / independent).max(1.0) } else { 1.0 }
}

/// Returns the variance of the sum of `counted` over all batches, for these values of `all`.
pub(crate) fn variance(shares: &[Share]) -> f64 {
    variance_of_sum(&deviations(shares))
}

/// Returns for each batch the difference between its `counted` and the number that is expected from its `all`.
pub(crate) fn deviations(shares: &[Share]) -> Vec<f64> {
    let part = whole(shares).part();
    shares.iter().map(|share| share.counted - part * share.all).collect()
}

pub(crate) fn variance_of_sum(off: &[f64]) -> f64 {
    let (batches, squares) = (float_of(off.len()), off.iter().map(|off| off * off).sum::<f64>());
    if squares <= 0.0 {
        return 0.0;
    }
    let alike = off.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / squares;
    // If the correlation is so small that it may be chance, it counts as zero.
    let alike = if alike > Z_80 / batches.sqrt() { alike.min(MOST_ALIKE) } else { 0.0 };
    squares * batches / (batches - 1.0) * (1.0 + alike) / (1.0 - alike)
}

/// Returns the two ranks, as shares, between which the time at `quantile` lies. They are the 2.5 % and the 97.5 %
/// quantile of a binomial distribution for `effective` times. The function uses the first terms of the Cornish-Fisher
/// expansion, and widens the range by half a rank on each side, because the binomial distribution has steps.
fn ranks(quantile: f64, effective: f64) -> (f64, f64) {
    let deviation = (quantile * (1.0 - quantile) / effective).sqrt();
    let middle = quantile + (Z * Z - 1.0) * (1.0 - 2.0 * quantile) / (6.0 * effective);
    let reach = Z * deviation + 0.5 / effective;
    (middle - reach, middle + reach)
}

/// Returns the 97.5 % quantile of Student's t-distribution (Abramowitz and Stegun, 26.7.5). The error is below 1 % for
/// 3 or more degrees of freedom.
pub(crate) fn student(degrees: f64) -> f64 {
    let z = Z;
    let terms = [
        (z.powi(3) + z) / 4.0,
        (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0,
        (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0,
    ];
    terms.iter().rev().fold(0.0, |sum, term| (sum + term) / degrees) + z
}

/// Returns the confidence interval of a share of `count` events (Wilson, *Probable inference*, 1927).
pub(crate) fn wilson(share: f64, count: f64) -> (f64, f64) {
    let square = Z * Z / count;
    let middle = (share + square / 2.0) / (1.0 + square);
    let reach = Z / (1.0 + square) * (share * (1.0 - share) / count + square / 4.0 / count).sqrt();
    ((middle - reach).max(0.0), (middle + reach).min(1.0))
}

/// Converts a count to a float. A count above `u32::MAX` becomes infinite.
pub(crate) fn float_of(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}
