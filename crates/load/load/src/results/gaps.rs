//! Measures how even the starts are, independently of their mean rate.
//!
//! The mean rate can be exactly right even if starts come in bursts. Therefore each gap between two consecutive starts,
//! on any thread, is compared with the number of slots that the load requires during the gap. In a load with even gaps,
//! the number is one for each gap.

use serde::Serialize;

/// The statistics of the gaps between starts. Starts must be recorded in the order of their times.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    /// The number of slots that the load required before the last start.
    last: Option<f64>,
    count: f64,
    near: f64,
    /// The mean gap, in slots. Welford's method updates it with each gap, without cancellation of digits.
    mean: f64,
    squares: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Quality {
    pub(crate) within_25_percent: f64,
    /// The standard deviation of the gaps divided by their mean: 0 for even starts, and 1 for Poisson arrivals.
    pub(crate) coefficient_of_variation: f64,
}

impl Gaps {
    /// Leaves out the gap between the last start and the next one, because the load changes during this gap.
    pub(crate) fn cut(&mut self) {
        self.last = None;
    }

    /// Records a start. `asked` is the number of slots, including fractions, that the load required before this start.
    pub(crate) fn start(&mut self, asked: f64) {
        if let Some(last) = self.last.replace(asked) {
            self.gap(asked - last);
        }
    }

    fn gap(&mut self, relative: f64) {
        self.count += 1.0;
        if (0.75..=1.25).contains(&relative) {
            self.near += 1.0;
        }
        let distance = relative - self.mean;
        self.mean += distance / self.count;
        self.squares += distance * (relative - self.mean);
    }

    /// Returns the quality of the gaps. Returns `None` before the second start, and if all starts are at the same time.
    pub(crate) fn quality(&self) -> Option<Quality> {
        (self.mean > 0.0).then(|| Quality {
            within_25_percent: self.near / self.count,
            coefficient_of_variation: (self.squares / self.count).sqrt() / self.mean,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::human::float;

    fn show(gaps: &mut Gaps, hz: f64, starts_us: &[u64]) {
        for us in starts_us {
            gaps.start(float(*us) * hz * 1e-6);
        }
    }

    fn quality(starts_us: &[u64]) -> Option<Quality> {
        let mut gaps = Gaps::default();
        show(&mut gaps, 100.0, starts_us);
        gaps.quality()
    }

    fn assert_quality(quality: Option<Quality>, within: f64, variation: f64) {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(
            quality.is_some_and(|quality| near(quality.within_25_percent, within)
                && near(quality.coefficient_of_variation, variation)),
            "{quality:?}, not {within}, {variation}"
        );
    }

    #[test]
    fn even_starts_are_perfect() {
        assert_quality(quality(&[5_000, 15_000, 25_000, 35_000]), 1.0, 0.0);
    }

    #[test]
    fn the_edges_of_the_quarter_count_as_near() {
        // The gaps are 7.5 ms and 12.5 ms. Their mean is 10 ms, and their standard deviation is 2.5 ms.
        assert_quality(quality(&[0, 7_500, 20_000]), 1.0, 0.25);
    }

    #[test]
    fn clumps_with_a_perfect_mean_are_seen() {
        // The gaps are 0, 20, 0 and 20 ms. Their mean and their standard deviation are 10 ms.
        assert_quality(quality(&[0, 0, 20_000, 20_000, 40_000]), 0.0, 1.0);
    }

    #[test]
    fn evenly_too_slow_is_even_but_far_from_nominal() {
        assert_quality(quality(&[0, 20_000, 40_000]), 0.0, 0.0);
    }

    #[test]
    fn a_rate_change_scales_the_gaps_and_drops_the_one_across_it() {
        let mut gaps = Gaps::default();
        show(&mut gaps, 100.0, &[0, 10_000, 20_000]);
        gaps.cut();
        show(&mut gaps, 1_000.0, &[500_000, 501_000, 502_000]);
        assert_quality(gaps.quality(), 1.0, 0.0);
    }

    #[test]
    fn without_a_gap_there_is_no_quality() {
        for starts in [&[][..], &[7], &[7, 7]] {
            assert_eq!(quality(starts), None, "{starts:?}");
        }
    }
}
