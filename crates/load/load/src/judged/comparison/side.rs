//! Merges the runs of one side of a comparison. All runs of a side have the same load.

use super::figure::{Estimate, Figure};
use super::stored_run::StoredRun;
use crate::console::human::float;
use crate::results::confidence::{self, Batched, LEAST_BATCHES, Range, Share, wilson};
use crate::results::percentiles::{Sample, quantile};
use crate::results::retained_histograms::{Batch, RetainedHistograms, Times};
use std::iter;

/// The minimum number of runs for which the variance between runs is used too, because the batches of one run do not
/// show it.
const LEAST_RUNS: usize = 3;

const LEAST_FAILED: f64 = 10.0;

#[derive(Clone, Copy)]
enum Parts {
    Batches,
    Runs,
}

#[derive(Debug)]
pub(crate) struct Side {
    /// The runs of the side. Lower bounds of response times are replaced by a time that is longer than all others.
    pub(super) runs: Vec<RetainedHistograms>,
    sum: Times,
}

pub(crate) fn sum<'run>(mut runs: impl Iterator<Item = &'run RetainedHistograms>) -> Times {
    let mut sum = runs.next().expect("a side has at least one run").all.clone();
    runs.for_each(|run| sum.add(&run.all));
    sum
}

impl Side {
    pub(crate) fn new(runs: &[StoredRun]) -> Side {
        let mut runs: Vec<_> = runs.iter().map(|run| run.histograms.clone()).collect();
        let longest = runs.iter().map(|run| run.all.response.max()).max().unwrap_or_default();
        let endless = longest.saturating_mul(2);
        for run in &mut runs {
            let batches = run.batches.iter_mut().map(|batch| &mut batch.times);
            batches.chain([&mut run.all]).for_each(|times| times.set_lower_bounds(endless));
        }
        Side { sum: sum(runs.iter()), runs }
    }

    /// Returns the estimate of a figure. The intervals of times and errors are never shorter than those of independent
    /// requests.
    pub(crate) fn estimate(&self, figure: Figure, own_variance: f64) -> Option<Estimate> {
        match figure {
            Figure::Rate => self.rate(own_variance),
            Figure::Errors => self.errors(own_variance),
            Figure::Response(percent) | Figure::Service(percent) => {
                self.percentile(figure, quantile(percent), own_variance)
            }
        }
    }

    /// Returns how much each batch raises the figure. For times, the sign is reversed.
    pub(crate) fn deviations(&self, figure: Figure, batches: &[Batch]) -> Option<Vec<f64>> {
        let (shares, slope): (Vec<_>, _) = match figure {
            Figure::Rate => (batches.iter().map(rate_of).collect(), 1.0),
            Figure::Errors => (batches.iter().map(failed_of).collect(), 1.0),
            Figure::Response(percent) | Figure::Service(percent) => {
                let times = self.batched(figure, batches.iter().map(|batch| &batch.times));
                (times.shares_at(quantile(percent)), times.slope(quantile(percent))?)
            }
        };
        let all = Some(confidence::whole(&shares).all).filter(|all| *all > 0.0)?;
        let deviations = confidence::deviations(&shares).into_iter();
        Some(deviations.map(|deviation| deviation * slope / all).collect())
    }

    fn batched<'a>(
        &'a self,
        figure: Figure,
        parts: impl Iterator<Item = &'a Times>,
    ) -> Batched<'a> {
        let Times { service, response, lower_bounds } = &self.sum;
        if matches!(figure, Figure::Service(_)) {
            let batches = parts.map(|part| &part.service).collect();
            return Batched { sample: Sample::exact(service), batches };
        }
        let batches = parts.map(|part| &part.response).collect();
        Batched { sample: Sample::bounded(response, lower_bounds), batches }
    }

    fn percentile(&self, figure: Figure, quantile: f64, own_variance: f64) -> Option<Estimate> {
        let split_into = |parts| match parts {
            Parts::Batches => self.batched(figure, self.batches().map(|batch| &batch.times)),
            Parts::Runs => self.batched(figure, self.runs.iter().map(|run| &run.all)),
        };
        let batches = split_into(Parts::Batches);
        batches.range(quantile)?;
        let sample = batches.sample;
        let longest = Some(sample.measured()).filter(|times| !times.is_empty())?.max();
        let effective = self.parts().map(|parts| split_into(parts).effective(quantile));
        let effective = effective.reduce(f64::min)? / own_variance;
        let effective = effective.min(float(sample.times.len()));
        let Range { low, high, is_rough } = batches.range_of(quantile, effective);
        Some(Estimate {
            value: float(sample.times.value_at_quantile(quantile).min(longest)),
            low: float(low.min(longest)),
            high: high.map_or(f64::INFINITY, float),
            is_rough,
            is_bound: sample.is_at_least(quantile),
        })
    }

    fn parts(&self) -> impl Iterator<Item = Parts> {
        let runs = (self.runs.len() >= LEAST_RUNS).then_some(Parts::Runs);
        iter::once(Parts::Batches).chain(runs)
    }

    fn batches(&self) -> impl Iterator<Item = &Batch> {
        self.runs.iter().flat_map(|run| &run.batches)
    }

    fn shares(&self, parts: Parts, share: impl Fn(&Batch) -> Share) -> Vec<Share> {
        let run = |run: &RetainedHistograms| {
            let shares: Vec<_> = run.batches.iter().map(&share).collect();
            confidence::whole(&shares)
        };
        match parts {
            Parts::Batches => self.batches().map(share).collect(),
            Parts::Runs => self.runs.iter().map(run).collect(),
        }
    }

    fn errors(&self, own_variance: f64) -> Option<Estimate> {
        let shares = self.shares(Parts::Batches, failed_of);
        let whole = confidence::whole(&shares);
        let value = whole.part();
        if shares.len() < LEAST_BATCHES || value > 1.0 {
            return None;
        }
        let effective = |parts| confidence::effective(&self.shares(parts, failed_of));
        let effective = self.parts().map(effective).reduce(f64::min)? / own_variance;
        let effective = effective.min(whole.all);
        let (low, high) = wilson(value, effective);
        let is_rough = value > 0.0 && effective * value < LEAST_FAILED;
        Some(Estimate { value, low, high, is_rough, is_bound: false })
    }

    fn rate(&self, own_variance: f64) -> Option<Estimate> {
        let shares = self.shares(Parts::Batches, rate_of);
        if shares.len() < LEAST_BATCHES {
            return None;
        }
        let whole = confidence::whole(&shares);
        let reach = |parts| {
            let shares = self.shares(parts, rate_of);
            let t = confidence::student(confidence::float_of(shares.len()) - 1.0);
            t * (confidence::variance(&shares) * own_variance).sqrt() / whole.all
        };
        let (value, reach) = (whole.part(), self.parts().map(reach).reduce(f64::max)?);
        Some(Estimate {
            value,
            low: (value - reach).max(0.0),
            high: value + reach,
            is_rough: false,
            is_bound: false,
        })
    }
}

fn failed_of(batch: &Batch) -> Share {
    Share { counted: float(batch.failed), all: float(batch.started) }
}

fn rate_of(batch: &Batch) -> Share {
    Share { counted: float(batch.started), all: batch.to_seconds - batch.from_seconds }
}
