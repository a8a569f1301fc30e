//! Lateness by percentile, a line for each cell.

use crate::cell::{Cell, Seen};
use nanopace_benches::chart::{Chart, Line};
use nanopace_benches::float;
use std::error::Error;
use std::path::Path;

/// Percentiles as 1 / (1 - p), the scale of the axis.
const MARKS: [(f64, &str); 5] =
    [(2.0, "p50"), (10.0, "p90"), (100.0, "p99"), (1_000.0, "p99.9"), (10_000.0, "p99.99")];
/// A line has so many points from one percentile of the axis to ten times as rare a one.
const STEPS: i32 = 20;

pub(crate) fn line(cell: &Cell, seen: &Seen) -> Line {
    let load = if cell.load { ", under load" } else { "" };
    let threads =
        if cell.threads == 1 { String::new() } else { format!(", {} threads", cell.threads) };
    Line { name: format!("{}, {}{threads}{load}", cell.way, cell.text), points: points(seen) }
}

/// As far as there are starts enough to tell; in microseconds.
fn points(seen: &Seen) -> Vec<(f64, f64)> {
    let rarest = float(seen.late_ns.len() as u64).min(MARKS[4].0);
    (0..=4 * STEPS)
        .map(|step| MARKS[0].0 * 10_f64.powf(f64::from(step) / f64::from(STEPS)))
        .take_while(|&rank| rank <= rarest)
        .map(|rank| (rank, float(seen.late(1.0 - 1.0 / rank).max(1)) / 1e3))
        .collect()
}

pub(crate) fn draw(file: &Path, lines: &[Line]) -> Result<(), Box<dyn Error>> {
    let marks = MARKS.map(|(rank, name)| (rank, name.to_owned()));
    let across = ("percentile of the starts", &marks[..]);
    Chart { title: "Lateness of a start by percentile", across, up: "lateness, us" }
        .draw(file, lines)
}
