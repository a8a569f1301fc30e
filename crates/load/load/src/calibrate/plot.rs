//! Draws the percentiles of all measurements as a plot.

use super::results::Results;
use super::steps::{sleeps_name, starts_name};
use crate::console::human;
use hdrhistogram::Histogram;
use plotters::coord::combinators::BindKeyPoints;
use plotters::prelude::*;
use std::error::Error;
use std::time::Duration;

struct Curve<'run> {
    name: String,
    times: &'run Histogram<u64>,
}

const SIZE: (u32, u32) = (1_000, 560);
const LEGEND: u32 = 240;
const STEPS: i32 = 20;
/// The ticks of the axis, which has the scale `1 / (1 - p)`: 2 is p50 and 10 000 is p99.99.
const TICKS: [(f64, &str); 5] =
    [(2.0, "p50"), (10.0, "p90"), (100.0, "p99"), (1_000.0, "p99.9"), (10_000.0, "p99.99")];

pub(crate) fn svg(results: &Results) -> Result<String, Box<dyn Error + Send + Sync>> {
    let mut text = String::new();
    draw(&SVGBackend::with_string(&mut text, SIZE).into_drawing_area(), &curves(results))
        // The error borrows the drawing, which is dropped here, so the error is converted to a string.
        .map_err(|error| error.to_string())?;
    Ok(text)
}

fn curves(results: &Results) -> Vec<Curve<'_>> {
    let sleeps = results.sleeps.iter().map(|sleeps| Curve {
        name: sleeps_name(sleeps.asked, sleeps.fine),
        times: &sleeps.oversleep,
    });
    let spinning = results.spinning.iter().map(|spinning| Curve {
        name: "spinning: between readings".to_owned(),
        times: &spinning.gaps,
    });
    let starts = results.starts.iter().map(|starts| Curve {
        name: starts_name(starts.pause, starts.hz),
        times: &starts.lateness,
    });
    sleeps.chain(spinning).chain(starts).collect()
}

impl Curve<'_> {
    /// Returns the points `(1 / (1 - p), nanoseconds)`, up to the highest percentile that the number of values
    /// supports.
    fn points(&self) -> Vec<(f64, f64)> {
        let most = human::float(self.times.len()).min(TICKS[4].0);
        (0..=4 * STEPS)
            .map(|step| 2.0 * 10_f64.powf(f64::from(step) / f64::from(STEPS)))
            .take_while(|&odds| odds <= most)
            .map(|odds| (odds, human::float(self.times.value_at_quantile(1.0 - 1.0 / odds).max(1))))
            .collect()
    }
}

type Drawing<'text> = DrawingArea<SVGBackend<'text>, plotters::coord::Shift>;

fn draw(area: &Drawing<'_>, curves: &[Curve<'_>]) -> Result<(), Box<dyn Error>> {
    area.fill(&WHITE)?;
    let (left, right) = area.split_horizontally(SIZE.0 - LEGEND);
    let most = curves.iter().flat_map(Curve::points).map(|(_, ns)| ns).fold(1e5, f64::max);
    let ranks =
        (TICKS[0].0..TICKS[4].0).log_scale().with_key_points(TICKS.map(|(rank, _)| rank).to_vec());
    let mut chart = ChartBuilder::on(&left)
        .caption("Oversleep, gaps and lateness by percentile", ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(48)
        .y_label_area_size(76)
        .build_cartesian_2d(ranks, (10.0..most * 2.0).log_scale())?;
    chart
        .configure_mesh()
        .max_light_lines(0)
        .x_desc("percentile of all sleeps, gaps or starts")
        .y_desc("time, log scale")
        .axis_desc_style(("sans-serif", 14))
        .x_label_formatter(&|rank| percentile(*rank))
        .y_label_formatter(&|ns| human::time(Duration::from_secs_f64(ns * 1e-9)))
        .draw()?;
    for (index, curve) in curves.iter().enumerate() {
        let colour = colour(index, curves.len());
        chart.draw_series(LineSeries::new(curve.points(), colour.stroke_width(2)))?;
        legend(&right, index, &curve.name, colour)?;
    }
    area.present()?;
    Ok(())
}

fn percentile(rank: f64) -> String {
    TICKS
        .iter()
        .find(|tick| (tick.0 - rank).abs() < 1e-6 * rank)
        .map_or_else(String::new, |tick| tick.1.to_owned())
}

/// Returns a colour between red and violet. Every second colour is darker, so that neighbours are distinguishable.
fn colour(index: usize, count: usize) -> HSLColor {
    let [index, count] = [index, count].map(|number| human::float(number as u64));
    HSLColor(0.8 * index / count, 0.85, if index % 2.0 < 1.0 { 0.35 } else { 0.5 })
}

fn legend(
    area: &Drawing<'_>,
    index: usize,
    name: &str,
    colour: HSLColor,
) -> Result<(), Box<dyn Error>> {
    let y = 60 + 20 * i32::try_from(index)?;
    area.draw(&PathElement::new([(0, y), (22, y)], colour.stroke_width(3)))?;
    area.draw(&Text::new(name.to_owned(), (28, y - 6), ("sans-serif", 13)))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_ends_where_its_values_do() {
        let mut times = Histogram::new(3).unwrap();
        (1..=100).for_each(|ns| times.record(ns).unwrap());
        let points = Curve { name: String::new(), times: &times }.points();
        // The median of 1 to 100 is 50. One hundred values support percentiles up to p99, which has the rank 100.
        assert_eq!(points[0], (2.0, 50.0));
        assert!(points.iter().all(|&(rank, _)| rank <= 100.0), "{points:?}");
        times.clear();
        assert_eq!(Curve { name: String::new(), times: &times }.points(), []);
    }
}
