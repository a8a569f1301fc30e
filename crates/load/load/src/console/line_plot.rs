//! Draws two line charts, one below the other, as an SVG image.

use plotters::coord::Shift;
use plotters::prelude::*;
use std::error::Error;

const SIZE: (u32, u32) = (1_000, 640);
const GREY: RGBColor = RGBColor(150, 150, 150);

type Area<'text> = DrawingArea<SVGBackend<'text>, Shift>;

pub(crate) struct PlotLine<'text> {
    /// The points in ascending order of their horizontal coordinate. The axis begins at zero.
    pub(crate) points: Vec<(f64, f64)>,
    /// The expected points, which are drawn in grey. Empty if none are known.
    pub(crate) expected: Vec<(f64, f64)>,
    pub(crate) names: [&'text str; 2],
    pub(crate) unit: &'text str,
    pub(crate) colour: RGBColor,
    pub(crate) label: fn(f64) -> String,
}

pub(crate) fn svg(
    title: &str,
    lines: [PlotLine<'_>; 2],
) -> Result<String, Box<dyn Error + Send + Sync>> {
    let mut text = String::new();
    draw(&SVGBackend::with_string(&mut text, SIZE).into_drawing_area(), title, lines)
        // The error borrows the drawing, which is dropped here, so the error is converted to a string.
        .map_err(|error| error.to_string())?;
    Ok(text)
}

fn draw(area: &Area<'_>, title: &str, lines: [PlotLine<'_>; 2]) -> Result<(), Box<dyn Error>> {
    area.fill(&WHITE)?;
    let area = area.titled(title, ("sans-serif", 15))?;
    for (line, panel) in lines.into_iter().zip(area.split_evenly((2, 1))) {
        draw_line(&panel, line)?;
    }
    area.present()?;
    Ok(())
}

fn draw_line(panel: &Area<'_>, line: PlotLine<'_>) -> Result<(), Box<dyn Error>> {
    let end = line.points.last().map_or(0.0, |point| point.0);
    let top = line.points.iter().chain(&line.expected).map(|point| point.1).fold(0.0, f64::max);
    let range = |end: f64| 0.0..if end > 0.0 { end } else { 1.0 };
    let mut chart = ChartBuilder::on(panel)
        .margin(12)
        .margin_right(24)
        .x_label_area_size(40)
        .y_label_area_size(80)
        .build_cartesian_2d(range(end), range(top * 1.08))?;
    chart
        .configure_mesh()
        .max_light_lines(0)
        .x_desc(line.names[0])
        .y_desc(line.names[1])
        .axis_desc_style(("sans-serif", 14))
        .x_label_formatter(&|at| format!("{}{}", (at * 1e3).round() / 1e3, line.unit))
        .y_label_formatter(&|value| (line.label)(*value))
        .draw()?;
    chart.draw_series(LineSeries::new(line.expected, GREY.stroke_width(2)))?;
    chart.draw_series(LineSeries::new(line.points, line.colour.stroke_width(2)))?;
    Ok(())
}
