//! A load over time: how many requests there are by when.

use super::load::PlannedLoad;
use crate::console::human;
use std::time::Duration;

/// How many columns are kept. Those of the picture and of usual terminals are made of them.
const FINE: usize = 6_000;

/// The part of a load that is shown.
#[derive(Debug)]
pub(crate) struct Outline {
    /// Its end; it begins at the start of the load.
    pub(crate) end: Duration,
    /// The requests by the start and by the end of each column.
    starts: Vec<f64>,
    /// The same as the shape has them, whose rate is no random number; none of a recording.
    shape: Option<Vec<f64>>,
}

impl Outline {
    /// All of a load, or how it begins.
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

    /// All requests.
    pub(crate) fn total(&self) -> f64 {
        self.starts[FINE]
    }

    /// The requests by the start, and by the ends of so many columns.
    pub(crate) fn counts(&self, columns: usize) -> Vec<f64> {
        resample(&self.starts, columns)
    }

    /// Requests per second in each of so many columns.
    pub(crate) fn rates(&self, columns: usize) -> Vec<f64> {
        let counts = resample(self.shape.as_ref().unwrap_or(&self.starts), columns);
        let width = self.end.as_secs_f64() / human::float(columns as u64);
        counts.windows(2).map(|count| (count[1] - count[0]) / width).collect()
    }
}

/// The counts by the ends of other columns; straight between those that are known.
fn resample(counts: &[f64], columns: usize) -> Vec<f64> {
    let count = |index: usize| {
        let (fine, rest) = (index * FINE / columns, index * FINE % columns);
        let (before, after) = (counts[fine], counts[(fine + 1).min(FINE)]);
        before + (after - before) * human::float(rest as u64) / human::float(columns as u64)
    };
    (0..=columns).map(count).collect()
}

/// The number of starts by the beginning and by the end of each of these columns. All starts are before `end`.
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
