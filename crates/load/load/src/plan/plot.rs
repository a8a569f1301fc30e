//! Draws the load over time as an SVG image.

use super::outline::Outline;
use crate::console::axis::{TimeAxis, short_count};
use crate::console::human;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::error::Error;

const SIZE: (u32, u32) = (1_000, 640);
/// Each column is less than two pixels wide.
const COLUMNS: usize = 600;
const MOMENTS: u64 = 10;
const RATE: RGBColor = RGBColor(50, 100, 170);
const COUNT: RGBColor = RGBColor(170, 60, 20);

type Panel<'text> = DrawingArea<SVGBackend<'text>, Shift>;
type Point = (f64, f64);

pub(crate) fn svg(outline: &Outline, title: &str) -> Result<String, Box<dyn Error + Send + Sync>> {
    let mut text = String::new();
    draw(&SVGBackend::with_string(&mut text, SIZE).into_drawing_area(), outline, title)
        // The error borrows the drawing, so it is converted to a string.
        .map_err(|error| error.to_string())?;
    Ok(text)
}

struct PlotLine {
    points: Vec<Point>,
    name: &'static str,
    colour: RGBColor,
    label: fn(f64) -> String,
}

fn draw(area: &Panel<'_>, outline: &Outline, title: &str) -> Result<(), Box<dyn Error>> {
    area.fill(&WHITE)?;
    let area = area.titled(title, ("sans-serif", 15))?;
    let lines = [
        PlotLine {
            points: steps(outline),
            name: "requests per second",
            colour: RATE,
            label: human::short_hz,
        },
        PlotLine {
            points: sums(outline),
            name: "requests so far",
            colour: COUNT,
            label: short_count,
        },
    ];
    for (line, panel) in lines.into_iter().zip(area.split_evenly((2, 1))) {
        draw_panel(&panel, outline, line)?;
    }
    area.present()?;
    Ok(())
}

fn steps(outline: &Outline) -> Vec<Point> {
    let rates = outline.rates(COLUMNS);
    rates.windows(1).zip(moments(outline).windows(2)).fold(Vec::new(), |mut points, (hz, time)| {
        points.extend([(time[0], hz[0]), (time[1], hz[0])]);
        points
    })
}

fn sums(outline: &Outline) -> Vec<Point> {
    moments(outline).into_iter().zip(outline.counts(COLUMNS)).collect()
}

/// Returns the times at which columns begin and end, in seconds.
fn moments(outline: &Outline) -> Vec<f64> {
    let column = outline.end.as_secs_f64() / human::float(COLUMNS as u64);
    (0..=COLUMNS as u64).map(|index| column * human::float(index)).collect()
}

fn draw_panel(panel: &Panel<'_>, outline: &Outline, line: PlotLine) -> Result<(), Box<dyn Error>> {
    let (unit, seconds) = TimeAxis::new(outline.end, MOMENTS).unit();
    let top = line.points.iter().map(|point| point.1).fold(0.0, f64::max);
    let mut chart = ChartBuilder::on(panel)
        .margin(12)
        .margin_right(24)
        .x_label_area_size(40)
        .y_label_area_size(80)
        .build_cartesian_2d(
            0.0..outline.end.as_secs_f64() / seconds,
            0.0..if top > 0.0 { top * 1.08 } else { 1.0 },
        )?;
    chart
        .configure_mesh()
        .max_light_lines(0)
        .x_desc("time from the start")
        .y_desc(line.name)
        .axis_desc_style(("sans-serif", 14))
        .x_label_formatter(&|time| format!("{}{unit}", (time * 1e3).round() / 1e3))
        .y_label_formatter(&|value| (line.label)(*value))
        .draw()?;
    let points = line.points.into_iter().map(|(at, value)| (at / seconds, value));
    chart.draw_series(LineSeries::new(points, line.colour.stroke_width(2)))?;
    Ok(())
}
