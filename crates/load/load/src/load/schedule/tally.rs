//! Starts counted over time.

use std::time::Duration;

/// How many starts there are by the beginning and by the ends of so many columns until `end`, which
/// is behind all of them.
pub(crate) fn tally(
    starts: impl Iterator<Item = Duration>,
    end: Duration,
    columns: usize,
) -> Vec<f64> {
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
