//! How time is divided into the columns of a chart.

use crate::limit::results::Results;
use crate::limit::time_series::TimeSeries;
use nanopace_load::console::human;
use std::time::Duration;

/// Columns of equal width: 1, 2 or 5 times a power of ten, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    /// The time that a column stands for.
    pub(crate) width_ns: u64,
    /// How many columns there are.
    pub(crate) number: usize,
}

impl Columns {
    /// At most `most` columns that cover all the results. Each is at least a tenth of the limit's
    /// period wide.
    pub(crate) fn of(results: &Results, most: usize) -> Columns {
        let series = || {
            let admitted = results.candidates.iter().map(|candidate| &candidate.admitted);
            admitted.chain([&results.asked])
        };
        let span = series().map(TimeSeries::span_ns).max().unwrap_or(1);
        let finest = series().map(TimeSeries::bin_ns).max().unwrap_or(1);
        let wanted = span.div_ceil(most as u64).max(results.limit.period_ns() / 10).max(finest);
        let width_ns = round_width(wanted);
        let number = usize::try_from(span.div_ceil(width_ns)).expect("at most as many as wanted");
        Columns { width_ns, number }
    }

    /// The counts per second in each column.
    pub(crate) fn rates(self, series: &TimeSeries) -> Vec<f64> {
        let rate = |count| human::float(count) / self.width().as_secs_f64();
        series.columns(self.width_ns, self.number).into_iter().map(rate).collect()
    }

    /// The time that each column stands for.
    pub(crate) fn width(self) -> Duration {
        Duration::from_nanos(self.width_ns)
    }
}

/// The least of 1, 2, 5, 10, 20, 50 and so on that is not below `least`.
fn round_width(least: u64) -> u64 {
    let tens = (0..).flat_map(|ten: u32| [10_u64.saturating_pow(ten); 3]);
    let mut widths = [1, 2, 5].into_iter().cycle().zip(tens);
    let found = widths.find(|(step, ten)| ten.saturating_mul(*step) >= least);
    found.map_or(u64::MAX, |(step, ten)| ten.saturating_mul(step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_round() {
        for (least, width) in [(0, 1), (1, 1), (3, 5), (6, 10), (11, 20), (500, 500), (501, 1_000)]
        {
            assert_eq!(round_width(least), width, "{least}");
        }
        assert_eq!(round_width(u64::MAX), u64::MAX);
    }
}
