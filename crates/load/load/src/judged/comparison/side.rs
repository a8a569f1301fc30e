//! Merges the runs of one side of a comparison. All runs of a side have the same load.

use super::figure::{Estimate, Figure};
use super::stored_run::StoredRun;
use crate::console::human::float;
use crate::results::confidence::{self, Batched, LEAST_BATCHES, Range, Share, Z};
use crate::results::percentiles::{Sample, quantile};
use crate::results::retained_histograms::{Batch, Times};
use hdrhistogram::Histogram;
use std::iter;

/// If a side has at least this number of runs, the variance between runs is used too. The variance between batches does
/// not include differences between runs.
const LEAST_RUNS: usize = 3;

const LEAST_FAILED: f64 = 10.0;

/// The parts of a side whose variance determines the confidence intervals of its figures.
#[derive(Clone, Copy)]
enum Parts {
    Batches,
    Runs,
}

#[derive(Debug)]
pub(crate) struct Side<'run> {
    runs: &'run [StoredRun],
    sum: Times,
}

impl<'run> Side<'run> {
    pub(crate) fn new(runs: &'run [StoredRun]) -> Side<'run> {
        let mut sum = runs[0].histograms.all.clone();
        for run in &runs[1..] {
            sum.service += &run.histograms.all.service;
            sum.response += &run.histograms.all.response;
            sum.lower_bounds += &run.histograms.all.lower_bounds;
        }
        Side { runs, sum }
    }

    pub(crate) fn into_times(self) -> Times {
        self.sum
    }

    pub(crate) fn estimate(&self, figure: Figure) -> Option<Estimate> {
        match figure {
            Figure::Rate => self.rate(),
            Figure::Errors => self.errors(),
            Figure::Response(percent) => {
                let Times { response, lower_bounds, .. } = &self.sum;
                let sample = Sample::bounded(response, lower_bounds);
                self.percentile(sample, |times| &times.response, quantile(percent))
            }
            Figure::Service(percent) => {
                let sample = Sample::exact(&self.sum.service);
                self.percentile(sample, |times| &times.service, quantile(percent))
            }
        }
    }

    fn percentile(
        &self,
        sample: Sample<'_>,
        times: impl Fn(&Times) -> &Histogram<u64>,
        quantile: f64,
    ) -> Option<Estimate> {
        let of = |parts| match parts {
            Parts::Batches => self.batches().map(|batch| times(&batch.times)).collect(),
            Parts::Runs => self.runs.iter().map(|run| times(&run.histograms.all)).collect(),
        };
        let split_into = |parts| Batched { sample, batches: of(parts) };
        let batches = split_into(Parts::Batches);
        batches.range(quantile)?;
        let effective = self.parts().map(|parts| split_into(parts).effective(quantile));
        let effective = effective.reduce(f64::min)?;
        let Range { low, high, is_rough } = batches.range_of(quantile, effective);
        Some(Estimate {
            value: float(sample.times.value_at_quantile(quantile)),
            low: float(low),
            high: high.map_or(f64::INFINITY, float),
            is_rough,
        })
    }

    fn parts(&self) -> impl Iterator<Item = Parts> {
        let runs = (self.runs.len() >= LEAST_RUNS).then_some(Parts::Runs);
        iter::once(Parts::Batches).chain(runs)
    }

    fn batches(&self) -> impl Iterator<Item = &'run Batch> {
        self.runs.iter().flat_map(|run| &run.histograms.batches)
    }

    fn shares(&self, parts: Parts, share: impl Fn(&Batch) -> Share) -> Vec<Share> {
        let run = |run: &StoredRun| {
            let shares: Vec<_> = run.histograms.batches.iter().map(&share).collect();
            confidence::whole(&shares)
        };
        match parts {
            Parts::Batches => self.batches().map(share).collect(),
            Parts::Runs => self.runs.iter().map(run).collect(),
        }
    }

    fn errors(&self) -> Option<Estimate> {
        let share =
            |batch: &Batch| Share { counted: float(batch.failed), all: float(batch.started) };
        let shares = self.shares(Parts::Batches, share);
        let value = confidence::whole(&shares).part();
        if shares.len() < LEAST_BATCHES || value > 1.0 {
            return None;
        }
        let effective = |parts| confidence::effective(&self.shares(parts, share));
        let effective = self.parts().map(effective).reduce(f64::min)?;
        let (low, high) = wilson(value, effective);
        let is_rough = value > 0.0 && effective * value < LEAST_FAILED;
        Some(Estimate { value, low, high, is_rough })
    }

    fn rate(&self) -> Option<Estimate> {
        let share = |batch: &Batch| Share {
            counted: float(batch.started),
            all: batch.to_seconds - batch.from_seconds,
        };
        let shares = self.shares(Parts::Batches, share);
        if shares.len() < LEAST_BATCHES {
            return None;
        }
        let whole = confidence::whole(&shares);
        let reach = |parts| {
            let shares = self.shares(parts, share);
            let t = confidence::student(confidence::float_of(shares.len()) - 1.0);
            t * confidence::variance(&shares).sqrt() / whole.all
        };
        let (value, reach) = (whole.part(), self.parts().map(reach).reduce(f64::max)?);
        Some(Estimate { value, low: value - reach, high: value + reach, is_rough: false })
    }
}

/// Returns the confidence interval of a share of `count` events (Wilson, *Probable inference*, 1927).
fn wilson(share: f64, count: f64) -> (f64, f64) {
    let square = Z * Z / count;
    let middle = (share + square / 2.0) / (1.0 + square);
    let reach = Z / (1.0 + square) * (share * (1.0 - share) / count + square / 4.0 / count).sqrt();
    ((middle - reach).max(0.0), (middle + reach).min(1.0))
}
