//! Measures how even the starts are, independently of their mean rate.
//!
//! Starts in clumps can have exactly the right mean rate. Therefore each gap between two consecutive starts of all
//! workers is compared with the load requested during the gap, which should be one slot.

/// Starts must be recorded in order.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    /// The number of slots requested before the last start.
    last: Option<f64>,
    count: f64,
    near: f64,
    /// The mean of the gaps, in slots. Welford's method updates it without a second pass and without cancellation.
    mean: f64,
    squares: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quality {
    /// The share of gaps within 25 % of nominal.
    pub(crate) within_25_percent: f64,
    /// The standard deviation divided by the mean: 0 for perfectly even starts, 1 for random ones.
    pub(crate) coefficient_of_variation: f64,
}

impl Gaps {
    /// Excludes the gap between the last start and the next one, because the load changes in this gap.
    pub(crate) fn cut(&mut self) {
        self.last = None;
    }

    /// `asked` is the number of slots, with fractions, requested before this start.
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

    /// Returns `None` before the second start, and if all starts are at the same time.
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

    /// Uses a load of 100/s, whose nominal gap is 10 000 us.
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
        // The gaps are 7.5 and 12.5 ms: mean 10, standard deviation 2.5.
        assert_quality(quality(&[0, 7_500, 20_000]), 1.0, 0.25);
    }

    #[test]
    fn clumps_with_a_perfect_mean_are_seen() {
        // The gaps are 0, 20, 0, 20 ms: mean 10, standard deviation 10, none within 25 % of nominal.
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
