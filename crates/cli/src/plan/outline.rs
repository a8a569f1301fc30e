//! A load over time: how many requests there are by when.

use nanopace::Shape;
use nanopace_console::human;
use std::time::Duration;

/// How many columns are kept. Those of the picture and of usual terminals are made of them.
const FINE: usize = 6_000;

/// The part of a load that is shown.
#[derive(Debug)]
pub(crate) struct Outline {
    /// Its end; it begins at the start of the load.
    pub(crate) end: Duration,
    /// The requests by the ends of all columns, and by the start.
    counts: Vec<f64>,
}

impl Outline {
    /// A shape until `end`, of which this process has a share.
    pub(crate) fn of_shape(shape: &Shape, share: f64, end: Duration) -> Outline {
        let columns = human::float(FINE as u64);
        let column = |index| end.mul_f64(human::float(index) / columns);
        let counts = (0..=FINE as u64).map(|index| shape.count_at(column(index)) * share).collect();
        Outline { end, counts }
    }

    /// Starts in order of time, all of which are before `end`.
    pub(crate) fn of_starts(starts: impl Iterator<Item = Duration>, end: Duration) -> Outline {
        let mut counts = vec![0.0; FINE + 1];
        let columns = human::float(FINE as u64);
        for start in starts {
            let part = start.as_secs_f64() / end.as_secs_f64();
            counts[1 + whole(part * columns).min(FINE - 1)] += 1.0;
        }
        for index in 1..=FINE {
            counts[index] += counts[index - 1];
        }
        Outline { end, counts }
    }

    /// All requests.
    pub(crate) fn total(&self) -> f64 {
        self.counts[FINE]
    }

    /// The requests by the start, and by the ends of so many columns.
    pub(crate) fn counts(&self, columns: usize) -> Vec<f64> {
        (0..=columns).map(|index| self.count_by(index, columns)).collect()
    }

    /// Requests per second in each of so many columns.
    pub(crate) fn rates(&self, columns: usize) -> Vec<f64> {
        let width = self.end.as_secs_f64() / human::float(columns as u64);
        self.counts(columns).windows(2).map(|count| (count[1] - count[0]) / width).collect()
    }

    /// Between two ends of fine columns, straight.
    fn count_by(&self, index: usize, columns: usize) -> f64 {
        let (fine, rest) = (index * FINE / columns, index * FINE % columns);
        let before = self.counts[fine];
        let after = self.counts.get(fine + 1).copied().unwrap_or(before);
        before + (after - before) * human::float(rest as u64) / human::float(columns as u64)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of columns")]
fn whole(columns: f64) -> usize {
    columns as usize
}
