//! Draws the load over time as an SVG image.

use super::outline::Outline;
use crate::console::axis::{TimeAxis, short_count};
use crate::console::human;
use crate::console::line_plot::{self, PlotLine};
use plotters::style::RGBColor;
use std::error::Error;

/// The number of columns in the image. Each column is less than two pixels wide.
const COLUMNS: usize = 600;
const MOMENTS: u64 = 10;
const RATE: RGBColor = RGBColor(50, 100, 170);
const COUNT: RGBColor = RGBColor(170, 60, 20);

type Point = (f64, f64);

pub(crate) fn svg(outline: &Outline, title: &str) -> Result<String, Box<dyn Error + Send + Sync>> {
    let (unit, seconds) = TimeAxis::new(outline.end, MOMENTS).unit();
    let line = |points: Vec<Point>, name, colour, label| PlotLine {
        points: points.into_iter().map(|(at, value)| (at / seconds, value)).collect(),
        expected: Vec::new(),
        names: ["time from the start", name],
        unit,
        colour,
        label,
    };
    let rate = line(steps(outline), "requests per second", RATE, human::short_hz);
    line_plot::svg(title, [rate, line(sums(outline), "requests so far", COUNT, short_count)])
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

fn moments(outline: &Outline) -> Vec<f64> {
    let column = outline.end.as_secs_f64() / human::float(COLUMNS as u64);
    (0..=COLUMNS as u64).map(|index| column * human::float(index)).collect()
}
