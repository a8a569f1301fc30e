//! Counts over time, in bounded memory for any length of time.

use nanopace::Nanos;

/// The most bins. Before there are more, each ten become one.
const MOST_BINS: u64 = 4_000;

/// How many things happened when. The bins start at an origin, and get ten times as wide whenever
/// there would be too many.
#[derive(Clone, Debug)]
pub(crate) struct TimeSeries {
    origin: Nanos,
    bin_ns: u64,
    bins: Vec<u64>,
}

impl TimeSeries {
    /// An empty series. Nothing may be added before `origin`.
    pub(crate) fn new(origin: Nanos) -> TimeSeries {
        TimeSeries { origin, bin_ns: 1, bins: Vec::new() }
    }

    /// Counts one thing at `at`.
    pub(crate) fn add(&mut self, at: Nanos) {
        let offset = at.as_nanos().saturating_sub(self.origin.as_nanos());
        while offset / self.bin_ns >= MOST_BINS {
            self.bins = self.bins.chunks(10).map(|bins| bins.iter().sum()).collect();
            self.bin_ns *= 10;
        }
        let index = usize::try_from(offset / self.bin_ns).expect("less than the most bins");
        if index >= self.bins.len() {
            self.bins.resize(index + 1, 0);
        }
        self.bins[index] += 1;
    }

    /// The time from the origin to the end of the last bin in which something happened.
    pub(crate) fn span_ns(&self) -> u64 {
        self.bins.len() as u64 * self.bin_ns
    }

    /// How wide the bins are, a power of ten.
    pub(crate) fn bin_ns(&self) -> u64 {
        self.bin_ns
    }

    /// The counts in `number` columns. The width of a column is a multiple of a bin's.
    pub(crate) fn columns(&self, column_ns: u64, number: usize) -> Vec<u64> {
        let mut columns = vec![0; number];
        for (bin, count) in (0..).zip(&self.bins) {
            let column = usize::try_from(bin * self.bin_ns / column_ns);
            columns[column.expect("less than the bins")] += count;
        }
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_when_bins_widen() {
        let mut counts = TimeSeries::new(Nanos::from_nanos(100));
        for offset in [0, 5, 3_999, 4_000, 39_999, 40_000, 1_234_567] {
            counts.add(Nanos::from_nanos(100 + offset));
        }
        // 1 234 567 / 1000 is below 4000.
        assert_eq!((counts.bin_ns(), counts.span_ns()), (1_000, 1_235_000));
        let columns = counts.columns(20_000, 62);
        assert_eq!((columns[0], columns[1], columns[2], columns[61]), (4, 1, 1, 1));
        assert_eq!(columns.iter().sum::<u64>(), 7);
    }

    #[test]
    fn the_longest_time_fits() {
        let mut counts = TimeSeries::new(Nanos::ZERO);
        counts.add(Nanos::ZERO);
        counts.add(Nanos::MAX);
        assert_eq!(counts.bins.iter().sum::<u64>(), 2);
        assert!(counts.span_ns() >= Nanos::MAX.as_nanos());
    }
}
