//! The picture of what was asked and admitted over time, with a panel for each limiter.

use crate::limit::candidate::Candidate;
use crate::limit::columns::Columns;
use crate::limit::results::Results;
use crate::limit::times;
use nanopace_load::console::human;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::error::Error;
use std::time::Duration;

const WIDTH: u32 = 1_000;
/// The height of a single panel, and of one among several.
const HEIGHT: u32 = 420;
const SMALL_HEIGHT: u32 = 190;
/// Panels side by side.
const ABREAST: usize = 2;
/// The most columns of a panel.
const MOST_COLUMNS: usize = 100;
const REJECTED: RGBColor = RGBColor(240, 180, 140);
const ADMITTED: RGBColor = RGBColor(50, 100, 170);
const LIMIT: RGBColor = RGBColor(170, 20, 20);

type Panel<'text> = DrawingArea<SVGBackend<'text>, Shift>;

/// The picture as a text in SVG.
pub(crate) fn svg(results: &Results) -> Result<String, Box<dyn Error + Send + Sync>> {
    let mut text = String::new();
    draw(&mut text, results).map_err(|error| error.to_string())?;
    Ok(text)
}

fn draw(text: &mut String, results: &Results) -> Result<(), Box<dyn Error>> {
    let candidates = &results.candidates;
    let abreast = candidates.len().min(ABREAST);
    let down = candidates.len().div_ceil(ABREAST);
    let height = if candidates.len() == 1 { HEIGHT } else { SMALL_HEIGHT * u32::try_from(down)? };
    let area = SVGBackend::with_string(text, (WIDTH, height)).into_drawing_area();
    area.fill(&WHITE)?;
    for (candidate, panel) in candidates.iter().zip(area.split_evenly((down, abreast))) {
        draw_panel(&panel, results, candidate)?;
    }
    area.present()?;
    Ok(())
}

fn draw_panel(
    panel: &Panel<'_>,
    results: &Results,
    candidate: &Candidate,
) -> Result<(), Box<dyn Error>> {
    let columns = Columns::of(results, MOST_COLUMNS);
    let (asked, admitted) = (columns.rates(&results.asked), columns.rates(&candidate.admitted));
    let limit = results.limit_hz();
    let top = asked.iter().chain(&admitted).copied().fold(limit, f64::max) * 1.08;
    let width = columns.width().as_secs_f64();
    let end = width * human::float(columns.number as u64);
    let mut chart = ChartBuilder::on(panel)
        .caption(title(results, candidate), ("sans-serif", 13))
        .margin(8)
        .margin_right(24)
        .x_label_area_size(22)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..end, 0.0..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .max_light_lines(0)
        .y_labels(5)
        .x_label_formatter(&|seconds| times::short(Duration::from_secs_f64(seconds.max(0.0))))
        .y_label_formatter(&|hz| human::short_hz(*hz))
        .draw()?;
    for (rates, colour) in [(asked, REJECTED), (admitted, ADMITTED)] {
        let bars = (0..).zip(rates).filter(|(_, hz)| *hz > 0.0).map(|(column, hz): (u64, f64)| {
            let left = width * human::float(column);
            Rectangle::new([(left, 0.0), (left + width, hz)], colour.filled())
        });
        chart.draw_series(bars)?;
    }
    chart.draw_series([PathElement::new([(0.0, limit), (end, limit)], LIMIT.stroke_width(1))])?;
    Ok(())
}

fn title(results: &Results, candidate: &Candidate) -> String {
    let (admitted, rejected) = (candidate.total().admitted, candidate.total().rejected());
    format!(
        "{} at {}: {admitted} admitted (blue), {rejected} rejected (orange)",
        candidate.kind, results.limit
    )
}
