//! Draws percentiles of the wait, service and response times.

use super::grid::{Grid, Rect, plain};
use crate::results::over_time::Brief;
use crate::results::percentiles::Sample;
use crate::shown::times::{AT_LEAST, NONE};
use crossterm::style::Stylize;

/// The columns in the order of their importance. In a narrow terminal, the last ones are left out.
const QUANTILES: [(&str, f64); 4] = [("p99", 0.99), ("p50", 0.5), ("max", 1.0), ("p90", 0.9)];
const NAME: usize = 11;
const COLUMN: usize = 9;

pub(super) fn draw_times(grid: &mut Grid, area: Rect, recent: &Brief) {
    let fitting = (usize::from(area.width).saturating_sub(NAME) / COLUMN).max(1);
    let mut columns = QUANTILES[..fitting.min(QUANTILES.len())].to_vec();
    columns.sort_unstable_by(|a, b| a.1.total_cmp(&b.1));
    let names = columns.iter().map(|(name, _)| (*name).to_owned());
    let head = plain(row("last second", names)).dim();
    let [wait, service] = [&recent.wait, &recent.service].map(Sample::exact);
    let rows = [("wait", wait), ("service", service), ("response", recent.responses())];
    let rows = rows.map(|(name, sample)| plain(row(name, shown(sample, &columns))));
    let lines = [head].into_iter().chain(rows);
    area.rows().zip(lines).for_each(|(area, line)| grid.line(area, [line]));
}

fn row(name: &str, values: impl Iterator<Item = String>) -> String {
    values.fold(format!("{name:NAME$}"), |row, value| row + &format!("{value:>COLUMN$}"))
}

fn shown(sample: Sample<'_>, columns: &[(&str, f64)]) -> impl Iterator<Item = String> {
    let cell = move |quantile| sample.shown(quantile, AT_LEAST).unwrap_or_else(|| NONE.to_owned());
    columns.iter().map(move |&(_, quantile)| cell(quantile))
}
