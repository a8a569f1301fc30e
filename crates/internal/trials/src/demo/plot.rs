//! Draws the picture of the demonstration: the total rate above, and the starts of each node below.

use super::record::{COLUMN, Event, LENGTH, Record};
use anyhow::{Result, anyhow};
use nanopace::Rate;
use nanopace_fleet::Account;
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use std::error::Error;

const SIZE: (u32, u32) = (1_000, 620);
const HEAD: u32 = 64;
const UPPER: u32 = 230;
const NAMED: usize = 4;
const ALL: RGBColor = RGBColor(40, 60, 90);
const ASKED: RGBColor = RGBColor(210, 60, 40);
const GREY: RGBColor = RGBColor(110, 110, 110);
const NODES: [RGBColor; 5] = [
    RGBColor(58, 110, 165),
    RGBColor(200, 90, 70),
    RGBColor(80, 150, 130),
    RGBColor(128, 105, 170),
    RGBColor(205, 150, 60),
];

type Panel<'text> = DrawingArea<SVGBackend<'text>, Shift>;
type Plane<'a, 'text> =
    ChartContext<'a, SVGBackend<'text>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

pub(super) fn svg(record: &Record, account: &Account, rate: Rate) -> Result<String> {
    let mut text = String::new();
    draw(&SVGBackend::with_string(&mut text, SIZE).into_drawing_area(), record, account, rate)
        // Only the message is kept, because the error borrows the drawing.
        .map_err(|error| anyhow!(error.to_string()))?;
    Ok(text)
}

fn draw(
    area: &Panel<'_>,
    record: &Record,
    account: &Account,
    rate: Rate,
) -> Result<(), Box<dyn Error>> {
    area.fill(&WHITE)?;
    let (head, rest) = area.split_vertically(HEAD);
    let (upper, lower) = rest.split_vertically(UPPER);
    draw_head(&head, account, rate)?;
    draw_all(&upper, record, rate.as_hz())?;
    draw_each(&lower, record, rate.as_hz())?;
    area.present()?;
    Ok(())
}

fn draw_head(head: &Panel<'_>, account: &Account, rate: Rate) -> Result<(), Box<dyn Error>> {
    let title = format!(
        "A fleet of four at {rate}: one node is killed, another joins, the load stays on course"
    );
    let closes = if account.closes() { "the account closes" } else { "the account does not close" };
    let sums = format!(
        "{} slots = {} started + {} skipped + {} lost - {} twice: {closes}",
        account.expected,
        account.started(),
        account.skipped(),
        account.lost(),
        account.twice()
    );
    head.draw(&Text::new(title, (24, 14), ("sans-serif", 19)))?;
    head.draw(&Text::new(sums, (24, 42), ("sans-serif", 14).into_font().color(&GREY)))?;
    Ok(())
}

fn plane<'a, 'text>(
    panel: &'a Panel<'text>,
    top: f64,
    name: &str,
    events: &[Event],
) -> Result<Plane<'a, 'text>, Box<dyn Error + 'a>>
where
    'text: 'a,
{
    let mut plane = ChartBuilder::on(panel)
        .margin(6)
        .margin_right(24)
        .x_label_area_size(36)
        .y_label_area_size(76)
        .build_cartesian_2d(0.0..LENGTH.as_secs_f64(), 0.0..top)?;
    plane
        .configure_mesh()
        .max_light_lines(0)
        .y_labels(5)
        .disable_x_mesh()
        .x_desc("time since the load began")
        .y_desc(name)
        .axis_desc_style(("sans-serif", 13))
        .x_label_formatter(&|time| format!("{time:.0} s"))
        .y_label_formatter(&|hz| format!("{hz:.0}/s"))
        .draw()?;
    for event in events {
        let at = event.at.as_secs_f64();
        plane.draw_series([PathElement::new([(at, 0.0), (at, top)], GREY)])?;
    }
    Ok(plane)
}

fn draw_all(panel: &Panel<'_>, record: &Record, hz: f64) -> Result<(), Box<dyn Error>> {
    let top = 1.5 * hz;
    let mut plane =
        plane(panel, top, "all, per 100 ms", &record.events).map_err(|error| error.to_string())?;
    let steps = record.totals().into_iter().enumerate().flat_map(|(column, starts)| {
        let hz = f64::from(starts) / COLUMN.as_secs_f64();
        [(from(column), hz), (from(column + 1), hz)]
    });
    let asked = ASKED.mix(0.35).stroke_width(6);
    plane.draw_series(LineSeries::new([(0.0, hz), (LENGTH.as_secs_f64(), hz)], asked))?;
    plane.draw_series(LineSeries::new(steps, ALL.stroke_width(2)))?;
    for event in &record.events {
        let at = (event.at.as_secs_f64() + 0.06, top * 0.97);
        plane.draw_series([Text::new(event.what.clone(), at, ("sans-serif", 13))])?;
    }
    let label = ("sans-serif", 13).into_font().color(&ASKED);
    plane.draw_series([Text::new("requested rate", (0.06, hz * 1.12), label)])?;
    Ok(())
}

fn draw_each(panel: &Panel<'_>, record: &Record, hz: f64) -> Result<(), Box<dyn Error>> {
    let mut plane =
        plane(panel, 1.25 * hz, "by node", &record.events).map_err(|error| error.to_string())?;
    let mut below = vec![0.0; record.totals().len()];
    for (number, columns) in &record.nodes {
        let colour = NODES[usize::from(number.saturating_sub(1)) % NODES.len()];
        let mut bars = Vec::new();
        let first = columns.iter().position(|&starts| starts > 0).unwrap_or(0);
        let named = (first + NAMED).min(columns.len() - 1);
        let middle = below[named] + f64::from(columns[named]) / COLUMN.as_secs_f64() * 0.62;
        for (column, &starts) in columns.iter().enumerate() {
            let top = below[column] + f64::from(starts) / COLUMN.as_secs_f64();
            let corners = [(from(column), below[column]), (from(column + 1), top)];
            bars.push(Rectangle::new(corners, colour.filled()));
            below[column] = top;
        }
        plane.draw_series(bars)?;
        let style = ("sans-serif", 13).into_font().color(&WHITE);
        let name = Text::new(format!("node {number}"), (from(named), middle), style);
        plane.draw_series([name])?;
    }
    Ok(())
}

fn from(column: usize) -> f64 {
    (COLUMN * u32::try_from(column).unwrap_or(u32::MAX)).as_secs_f64()
}
