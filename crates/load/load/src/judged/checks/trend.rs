//! Detects whether times changed during a run, and when. Counts, for each batch, the recorded times that do not exceed
//! the median of the whole run, and adds the difference from the expected count to a cumulative sum. The largest
//! absolute value of this sum is compared with the value that chance would cause. This is Page's test with the
//! distribution of a Brownian bridge. The standard deviation is estimated separately for the parts before and after the
//! change.

use crate::results::confidence::{self, Batched, Share};
use hdrhistogram::Histogram;

const LEAST: usize = 16;

/// The limit of the sum, in standard deviations. In runs without a change, the sum exceeds it in less than 1 % of the
/// runs. For a Brownian bridge, the limit would be 1.63. It has to be larger here, because the split is chosen from the
/// data, and neighbouring batches are correlated.
const LIMIT: f64 = 2.2;

/// Two medians count as equal if they differ by at most 1/`NEAR` of the smaller one.
const NEAR: u64 = 10;

pub(crate) fn is_known(times: &Batched<'_>) -> bool {
    times.batches.len() >= LEAST && !times.sample.is_empty()
}

/// Returns the index of the first batch after the change. Returns `None` if the times did not change.
pub(crate) fn change(times: &Batched<'_>) -> Option<usize> {
    let shares = times.shares(times.sample.times.value_at_quantile(0.5), true);
    let part = confidence::whole(&shares).part();
    let (mut sum, mut far, mut split) = (0.0_f64, 0.0, 0);
    for (index, share) in shares.iter().enumerate() {
        sum += share.counted - part * share.all;
        if sum.abs() > far {
            (far, split) = (sum.abs(), index + 1);
        }
    }
    let is_inside = (1..shares.len()).contains(&split);
    let is_change = is_inside && far > LIMIT * deviation(&shares, split) && {
        let [before, after] = medians(times, split);
        before.abs_diff(after) > before.min(after) / NEAR
    };
    is_change.then_some(split)
}

/// Returns the standard deviation of the sum that chance would cause over all batches, if the times changed at `split`.
fn deviation(shares: &[Share], split: usize) -> f64 {
    let (before, after) = shares.split_at(split);
    let [before, after] = [before, after].map(|shares| {
        let part = confidence::whole(shares).part();
        shares
            .iter()
            .map(move |share| Share { counted: share.counted - part * share.all, all: 0.0 })
    });
    let off: Vec<Share> = before.chain(after).collect();
    confidence::variance(&off).sqrt()
}

pub(crate) fn medians(times: &Batched<'_>, split: usize) -> [u64; 2] {
    let (before, after) = times.batches.split_at(split);
    [before, after].map(|batches| {
        let mut sum: Histogram<u64> = batches[0].clone();
        batches[1..].iter().for_each(|batch| sum += *batch);
        sum.value_at_quantile(0.5)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::confidence::simulated::Queue;

    #[test]
    fn a_hundredth_of_the_runs_that_do_not_change_is_said_to_at_most() {
        for (queue, requests, runs) in
            [(Queue::new(0.5), 10_000.0, 400), (Queue::new(0.9), 50_000.0, 100)]
        {
            let is_change = |seed: &u64| {
                let run = queue.run(requests, *seed);
                change(&run.batched()).is_some()
            };
            let changed = (1..=runs).filter(is_change).count();
            assert!(changed * 100 <= usize::try_from(runs).unwrap(), "{queue:?}: {changed}");
        }
    }

    #[test]
    fn a_change_is_found_with_its_moment() {
        let slower = Queue { slower: 1.4, ..Queue::new(0.5 / 1.4) };
        let [first, second] = [Queue::new(0.5), slower].map(|queue| queue.run(10_000.0, 7));
        let mut all = first.all.clone();
        all += &second.all;
        let batches: Vec<_> = first.batches[20..].iter().chain(&second.batches[..20]).collect();
        let both = Batched { sample: crate::results::percentiles::Sample::exact(&all), batches };
        let split = change(&both).unwrap();
        assert!((18..=22).contains(&split), "{split}");
        let [before, after] = medians(&both, split);
        assert!(after * 10 > before * 12, "{before} {after}");
        let short = Batched { batches: both.batches[..15].to_vec(), ..both.clone() };
        assert!(is_known(&both) && !is_known(&short));
    }
}
