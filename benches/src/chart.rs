//! Line charts of a figure against the number of threads, as SVG.

use plotters::coord::Shift;
use plotters::prelude::*;
use std::error::Error;
use std::path::Path;

/// One line of a chart.
#[derive(Clone, Debug)]
pub struct Line {
    /// As the legend has it.
    pub name: &'static str,
    /// Number of threads and figure.
    pub points: Vec<(u32, f64)>,
}

const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(90, 90, 90),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(190, 150, 0),
];

/// Draws the lines on two logarithmic axes.
///
/// # Errors
/// When the file can't be written.
pub fn draw(file: &Path, title: &str, unit: &str, lines: &[Line]) -> Result<(), Box<dyn Error>> {
    let root = SVGBackend::new(file, (800, 480)).into_drawing_area();
    root.fill(&WHITE)?;
    draw_on(&root, title, unit, lines)?;
    root.present()?;
    Ok(())
}

fn draw_on(
    root: &DrawingArea<SVGBackend<'_>, Shift>,
    title: &str,
    unit: &str,
    lines: &[Line],
) -> Result<(), Box<dyn Error>> {
    let all = || lines.iter().flat_map(|line| &line.points);
    let low = all().map(|point| point.1).fold(f64::MAX, f64::min);
    let high = all().map(|point| point.1).fold(0.0, f64::max);
    let most_threads = all().map(|point| point.0).max().unwrap_or(1);
    let mut chart = ChartBuilder::on(root)
        .caption(title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d((1..most_threads).log_scale(), (low / 2.0..high * 2.0).log_scale())?;
    chart.configure_mesh().x_desc("threads").y_desc(unit).light_line_style(WHITE).draw()?;
    for (line, colour) in lines.iter().zip(COLOURS) {
        chart
            .draw_series(LineSeries::new(line.points.iter().copied(), colour.stroke_width(2)).point_size(3))?
            .label(line.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::MiddleRight)
        .border_style(BLACK)
        .background_style(WHITE)
        .draw()?;
    Ok(())
}
