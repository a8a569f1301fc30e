//! Counts the requests of a load over time, in columns of equal width.

use super::load::PlannedLoad;
use crate::console::human;
use std::time::Duration;

/// The number of columns that are computed. Other numbers of columns are interpolated.
const FINE: usize = 6_000;

#[derive(Debug)]
pub(crate) struct Outline {
    pub(crate) end: Duration,
    /// The number of requests before the start of the load and before the end of each column.
    starts: Vec<f64>,
    /// The expected counts according to the shape, without random arrivals. `None` for a recording.
    shape: Option<Vec<f64>>,
}

impl Outline {
    pub(crate) fn new(load: &PlannedLoad<'_>) -> anyhow::Result<Outline> {
        let arrivals = load.schedule.arrivals()?;
        let end = load.end(&arrivals)?;
        if load.schedule.is_replay() {
            return Ok(Outline { end, starts: tally(load.starts()?, end, FINE), shape: None });
        }
        let columns = human::float(FINE as u64);
        let moments = (0..=FINE as u64).map(|index| end.mul_f64(human::float(index) / columns));
        let starts = moments.clone().map(|moment| load.count_before(moment, &arrivals));
        let part = load.shard.share();
        let shape = moments.map(|moment| load.shape.count_at(moment) * part).collect();
        Ok(Outline { end, starts: starts.map(human::float).collect(), shape: Some(shape) })
    }

    /// Returns whether all starts of a recording are at the same time, so that there is no rate.
    pub(crate) fn is_instant(&self) -> bool {
        self.end <= Duration::from_nanos(1)
    }

    pub(crate) fn total(&self) -> f64 {
        self.starts[FINE]
    }

    pub(crate) fn counts(&self, columns: usize) -> Vec<f64> {
        resample(&self.starts, columns)
    }

    pub(crate) fn rates(&self, columns: usize) -> Vec<f64> {
        let counts = resample(self.shape.as_ref().unwrap_or(&self.starts), columns);
        let width = self.end.as_secs_f64() / human::float(columns as u64);
        counts.windows(2).map(|count| (count[1] - count[0]) / width).collect()
    }
}

fn resample(counts: &[f64], columns: usize) -> Vec<f64> {
    let count = |index: usize| {
        let (fine, rest) = (index * FINE / columns, index * FINE % columns);
        let (before, after) = (counts[fine], counts[(fine + 1).min(FINE)]);
        before + (after - before) * human::float(rest as u64) / human::float(columns as u64)
    };
    (0..=columns).map(count).collect()
}

/// Counts the starts before the end of each column. All starts must be before `end`.
fn tally(starts: impl Iterator<Item = Duration>, end: Duration, columns: usize) -> Vec<f64> {
    let mut counts = vec![0.0; columns + 1];
    for start in starts {
        let column = start.as_nanos() * columns as u128 / end.as_nanos();
        counts[usize::try_from(column).map_or(columns, |column| column + 1)] += 1.0;
    }
    for index in 1..=columns {
        counts[index] += counts[index - 1];
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_start_is_in_its_column() {
        let starts = [0, 9, 10, 39].map(Duration::from_nanos);
        let counts = tally(starts.into_iter(), Duration::from_nanos(40), 4);
        assert_eq!(counts, [0.0, 2.0, 3.0, 3.0, 4.0]);
    }
}
