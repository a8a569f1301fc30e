//! Draws the objective's figure at each rate that was tried, as an SVG image.

use super::answer::Answer;
use super::chart::mark;
use crate::console::human;
use crate::judged::search::judge::Promise;
use crate::judged::search::method::Outcome;
use crate::judged::search::results::{Results, rate};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::error::Error;
use std::time::Duration;

const SIZE: (u32, u32) = (1_000, 560);
const KEPT: RGBColor = RGBColor(50, 100, 170);
const BROKEN: RGBColor = RGBColor(170, 60, 20);
const GENERATOR: RGBColor = RGBColor(120, 120, 120);

const OUTCOMES: [(Outcome, RGBColor, &str); 3] = [
    (Outcome::Kept, KEPT, "met"),
    (Outcome::Broken, BROKEN, "missed"),
    (Outcome::Generator, GENERATOR, "generator could not keep up"),
];

type Panel<'text> = DrawingArea<SVGBackend<'text>, Shift>;

pub(crate) fn svg(
    results: &Results,
    promise: &Promise,
) -> Result<String, Box<dyn Error + Send + Sync>> {
    let mut text = String::new();
    draw(&SVGBackend::with_string(&mut text, SIZE).into_drawing_area(), results, promise)
        // The error refers to the drawing, so only its message is returned.
        .map_err(|error| error.to_string())?;
    Ok(text)
}

fn draw(area: &Panel<'_>, results: &Results, promise: &Promise) -> Result<(), Box<dyn Error>> {
    area.fill(&WHITE)?;
    let title = Answer { results, promise }.sentence();
    let area = area.titled(&title, ("sans-serif", 14))?;
    let (name, limit) = promise.charted();
    let Some((rates, times)) = results.axes(limit) else { return Ok(area.present()?) };
    let (rates, times) = (rates.wider(), times.wider());
    let mut chart = ChartBuilder::on(&area)
        .margin(12)
        .margin_right(24)
        .x_label_area_size(40)
        .y_label_area_size(80)
        .build_cartesian_2d(
            (rates.from..rates.to).log_scale(),
            (times.from..times.to).log_scale(),
        )?;
    chart
        .configure_mesh()
        .max_light_lines(0)
        .x_desc("requests per second, log scale")
        .y_desc(format!("{name}, log scale"))
        .axis_desc_style(("sans-serif", 14))
        .x_label_formatter(&|hz| rate(*hz))
        .y_label_formatter(&|seconds| human::time(Duration::from_secs_f64(*seconds)))
        .draw()?;
    if let Some(limit) = limit.map(|limit| limit.as_secs_f64()) {
        chart.draw_series(LineSeries::new([(rates.from, limit), (rates.to, limit)], BLACK))?;
    }
    for (row, (outcome, colour, name)) in (0..).zip(OUTCOMES) {
        let points = results.points().filter(|point| point.2 == outcome);
        let points = points.map(|(hz, seconds, _)| (hz, seconds));
        let style = TextStyle::from(("sans-serif", 20).into_font())
            .color(&colour)
            .pos(Pos::new(HPos::Center, VPos::Center));
        chart.draw_series(points.map(|at| Text::new(mark(outcome), at, style.clone())))?;
        let y = 16 + 18 * row;
        area.draw(&Text::new(mark(outcome), (110, y), style))?;
        area.draw(&Text::new(name, (122, y - 6), ("sans-serif", 13)))?;
    }
    Ok(area.present()?)
}
