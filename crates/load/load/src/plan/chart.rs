//! Draws the load over time as a text chart.

use super::outline::Outline;
use crate::console::axis::{TimeAxis, short_count};
use crate::console::chart::{eighths, round_up};
use crate::console::human;
use std::fmt::{self, Display, Formatter};

/// The width of the numbers on the left, in characters.
const LABEL: usize = 9;
/// The minimum number of columns for each time label below the chart.
const MOMENT: u64 = 12;
/// The round values for the height of a row, each to be multiplied by a power of ten.
const ROUND: [f64; 11] = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];

#[derive(Debug)]
pub(crate) struct Chart<'plan> {
    pub(crate) outline: &'plan Outline,
    pub(crate) width: usize,
}

impl Display for Chart<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let columns = self.width - LABEL - 1;
        let rates = self.outline.rates(columns);
        writeln!(f, "requests per second, over time")?;
        self.panel(f, &rates, 10, human::short_hz)?;
        writeln!(f, "\nrequests so far, over time")?;
        self.panel(f, &self.outline.counts(columns)[1..], 6, short_count)
    }
}

impl Chart<'_> {
    fn panel(
        &self,
        f: &mut Formatter<'_>,
        heights: &[f64],
        rows: u32,
        label: fn(f64) -> String,
    ) -> fmt::Result {
        let most = heights.iter().copied().fold(0.0, f64::max);
        let each = round_up(if most > 0.0 { most } else { 1.0 } / f64::from(rows), &ROUND);
        for row in (0..rows).rev() {
            let top = f64::from(row + 1) * each;
            let is_named = (row + 1).is_multiple_of(rows / 2);
            let name = if is_named { label(top) } else { String::new() };
            let part = |height: &f64| eighths(height / each - f64::from(row));
            writeln!(f, "{name:>LABEL$}│{}", heights.iter().map(part).collect::<String>())?;
        }
        self.time_axis(f, heights.len())
    }

    fn time_axis(&self, f: &mut Formatter<'_>, columns: usize) -> fmt::Result {
        let axis = TimeAxis::new(self.outline.end, (columns as u64 / MOMENT).max(1));
        let mut line = vec!['─'; columns + 1];
        let mut labels = vec![' '; columns + 1];
        for (part, label) in axis.ticks() {
            let at = at(part, columns);
            line[at] = if at == 0 { '└' } else { '┴' };
            let begin = at.min((columns + 1).saturating_sub(label.len()));
            labels.iter_mut().skip(begin).zip(label.chars()).for_each(|(to, char)| *to = char);
        }
        let [line, labels] = [line, labels].map(String::from_iter);
        writeln!(f, "{:>LABEL$}{line}\n{:LABEL$}{}", 0, "", labels.trim_end())
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of columns")]
fn at(part: f64, columns: usize) -> usize {
    (part * human::float(columns as u64)).round() as usize
}
