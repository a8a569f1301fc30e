//! The chart of what was asked and admitted over time, drawn with characters.

use crate::limit::columns::Columns;
use crate::limit::results::Results;
use crate::limit::times;
use nanopace_load::console::chart::{eighths, round_up};
use nanopace_load::console::human;
use std::fmt::{self, Display, Formatter};

const ROWS: u64 = 10;
/// The width of the rates at the left.
const LABEL: usize = 9;
/// The heights of a row that are round, as parts of the limit and within a factor of ten.
const ROUND: [f64; 4] = [1.0, 2.0, 5.0, 10.0];
const REJECTED: char = '░';

/// Rates over time. Admitted requests are filled; rejected ones are hatched, above them.
pub(crate) struct Chart {
    /// Requests per second in each column.
    asked: Vec<f64>,
    admitted: Vec<f64>,
    limit: f64,
    columns: Columns,
    /// Characters for each column.
    repeat: usize,
}

impl Chart {
    /// The chart of the first limiter, at most `width` characters wide.
    pub(crate) fn new(results: &Results, width: usize) -> Chart {
        let room = width - LABEL - 1;
        let columns = Columns::of(results, room);
        Chart {
            asked: columns.rates(&results.asked),
            admitted: columns.rates(&results.candidates[0].admitted),
            limit: results.limit_hz(),
            columns,
            repeat: (room / columns.number).max(1),
        }
    }

    /// The rate that a row stands for. It is 1, 2 or 5 times the limit times a power of ten, so the
    /// limit is on the edge of a row.
    fn row_hz(&self) -> f64 {
        let most = self.asked.iter().chain(&self.admitted).copied().fold(self.limit, f64::max);
        self.limit * round_up(most / self.limit / human::float(ROWS), &ROUND)
    }

    fn row(&self, f: &mut Formatter<'_>, row: u64, row_hz: f64) -> fmt::Result {
        let top = human::float(row + 1) * row_hz;
        let is_limit = (top - self.limit).abs() < row_hz / 2.0;
        let label = if is_limit || (row + 1).is_multiple_of(ROWS / 2) {
            human::short_hz(top)
        } else {
            String::new()
        };
        write!(f, "{label:>LABEL$}{}", if is_limit { '┼' } else { '│' })?;
        for (asked, admitted) in self.asked.iter().zip(&self.admitted) {
            let [asked, admitted] =
                [asked, admitted].map(|hz| (hz / row_hz - human::float(row)).clamp(0.0, 1.0));
            let cell = if asked - admitted > admitted { REJECTED } else { eighths(admitted) };
            write!(f, "{}", String::from(cell).repeat(self.repeat))?;
        }
        writeln!(f)
    }

    fn time_axis(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let length = self.columns.number * self.repeat;
        let end = times::short(
            self.columns.width() * u32::try_from(self.columns.number).unwrap_or(u32::MAX),
        );
        writeln!(f, "{:LABEL$}└{}", "", "─".repeat(length))?;
        writeln!(f, "{:LABEL$} 0s{end:>1$}", "", length.saturating_sub(2))
    }
}

impl Display for Chart {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let each = times::short(self.columns.width());
        writeln!(
            f,
            "requests per second, each column {each}: █ admitted, {REJECTED} rejected, ┼ limit"
        )?;
        let row_hz = self.row_hz();
        (0..ROWS).rev().try_for_each(|row| self.row(f, row, row_hz))?;
        self.time_axis(f)
    }
}

/// Rates over time in one line; `top` is a full character.
pub(crate) fn line(rates: &[f64], top: f64) -> String {
    rates.iter().map(|rate| eighths(rate / top)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_the_smallest_rate() {
        assert_eq!(line(&[0.0, 0.1, 10.0, 15.0, 20.0], 20.0), " ▁▄▆█");
    }

    /// Up to 10/s admitted, then 15/s asked and 10/s admitted.
    #[test]
    fn the_chart_stacks_what_was_rejected_on_what_was_admitted() {
        let chart = Chart {
            asked: vec![5.0, 10.0, 15.0],
            admitted: vec![5.0, 10.0, 10.0],
            limit: 10.0,
            columns: Columns { width_ns: 1_000_000_000, number: 3 },
            repeat: 2,
        };
        let lines: Vec<_> = chart.to_string().lines().map(str::to_owned).collect();
        assert_eq!(
            lines[1..],
            [
                "   20.0/s│      ",
                "         │      ",
                "         │    ░░",
                "         │    ░░",
                "         │    ░░",
                "   10.0/s┼  ████",
                "         │  ████",
                "         │▄▄████",
                "         │██████",
                "         │██████",
                "         └──────",
                "          0s3.00s",
            ]
        );
    }
}
