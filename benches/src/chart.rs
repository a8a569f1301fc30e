//! Draws line charts with two logarithmic axes as SVG.

use plotters::coord::Shift;
use plotters::coord::combinators::BindKeyPoints;
use plotters::prelude::*;
use std::error::Error;
use std::path::Path;

/// One line of a chart.
#[derive(Clone, Debug)]
pub struct Line {
    /// The name in the legend.
    pub name: String,
    /// The points as (x, y).
    pub points: Vec<(f64, f64)>,
}

/// The title and the axes of a chart.
#[derive(Clone, Debug)]
pub struct Chart<'a> {
    /// The title above the chart.
    pub title: &'a str,
    /// The name of the x axis, and its labelled marks: at least two values in ascending order. The axis runs from the
    /// first mark to the last.
    pub across: (&'a str, &'a [(f64, String)]),
    /// The name of the y axis.
    pub up: &'a str,
}

const SIZE: (u32, u32) = (900, 480);
const LEGEND: u32 = 180;
const COLOURS: [RGBColor; 9] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(90, 90, 90),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(190, 150, 0),
    RGBColor(86, 180, 233),
    RGBColor(150, 60, 60),
    RGBColor(110, 80, 190),
];

impl Chart<'_> {
    /// Draws the lines.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn draw(&self, file: &Path, lines: &[Line]) -> Result<(), Box<dyn Error>> {
        let root = SVGBackend::new(file, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let (left, right) = root.split_horizontally(SIZE.0 - LEGEND);
        self.plot(&left, lines)?;
        legend(&right, lines)?;
        root.present()?;
        Ok(())
    }

    fn plot(
        &self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
        lines: &[Line],
    ) -> Result<(), Box<dyn Error>> {
        let (what, marks) = self.across;
        let values: Vec<f64> = marks.iter().map(|mark| mark.0).collect();
        let across = (values[0]..values[values.len() - 1]).log_scale().with_key_points(values);
        let up = || lines.iter().flat_map(|line| &line.points).map(|point| point.1);
        let (low, high) = (up().fold(f64::MAX, f64::min), up().fold(0.0, f64::max));
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, ("sans-serif", 20))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(across, (low / 2.0..high * 2.0).log_scale())?;
        let is_at = |value: f64| move |mark: &&(f64, String)| (mark.0 / value - 1.0).abs() < 1e-6;
        let name = |value: &f64| {
            marks.iter().find(is_at(*value)).map_or_else(String::new, |mark| mark.1.clone())
        };
        chart
            .configure_mesh()
            .x_desc(what)
            .y_desc(self.up)
            .x_label_formatter(&name)
            .y_label_formatter(&f64::to_string)
            .max_light_lines(0)
            .draw()?;
        for (line, colour) in lines.iter().zip(COLOURS) {
            let points = line.points.iter().copied();
            chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
        }
        Ok(())
    }
}

fn legend(area: &DrawingArea<SVGBackend<'_>, Shift>, lines: &[Line]) -> Result<(), Box<dyn Error>> {
    for ((line, colour), y) in lines.iter().zip(COLOURS).zip((60..).step_by(22)) {
        area.draw(&PathElement::new([(0, y), (22, y)], colour.stroke_width(3)))?;
        area.draw(&Text::new(line.name.clone(), (28, y - 7), ("sans-serif", 14)))?;
    }
    Ok(())
}
