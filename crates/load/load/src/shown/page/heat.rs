//! Draws the heat map, which shows the number of requests by due time and response time.

use super::chart::{Chart, WIDTH};
use super::over_time::{Times, log_axis};
use crate::console::axis::LogTimeAxis;
use crate::console::human;
use crate::results::over_time::Interval;
use crate::results::percentiles::Sample;
use hdrhistogram::Histogram;
use hdrhistogram::iterators::IterationValue;
use maud::{Markup, html};
use std::fmt::{self, Display, Formatter, Write as _};

/// The columns of the table over time with the percentiles of the response times, which the page shows at the pointer.
const COLUMNS: &str = "18 19 20 21";

const ROWS: u16 = 50;
/// The height of a row in pixels.
const ROW: u16 = 4;

const SHADES: u8 = 8;
/// The width in pixels of each shade in the key.
const SWATCH: u16 = 18;

pub(crate) fn map(times: &Times) -> Markup {
    let responses = || times.intervals().iter().map(|interval| interval.due.responses());
    if responses().all(Sample::is_empty) {
        return html! {};
    }
    let axis = log_axis(responses().map(|sample| sample.times));
    let columns: Vec<_> = times.intervals().iter().map(|of| column(of, axis)).collect();
    let spots = || columns.iter().flatten().filter(|spot| spot.all > 0.0).map(|spot| spot.all);
    let scale =
        Scale { fewest: spots().fold(f64::MAX, f64::min), most: spots().fold(0.0, f64::max) };
    let edges: Vec<_> = times.intervals().iter().map(|of| edges(times.place(of))).collect();
    let body = html! {
        g.heat stroke-width=(ROW) {
            @for (colour, is_bound) in [("s", false), ("u", true)] {
                @for level in 1..=SHADES {
                    @let is_wanted = |spot: &Spot| {
                        spot.is_bound() == is_bound && scale.shade(spot.all) == level
                    };
                    @let path = path(&columns, &edges, is_wanted);
                    @if !path.is_empty() { path class=(format!("{colour}{level}")) d=(path) {} }
                }
            }
        }
    };
    Chart {
        about: "Requests by due time and response time. The colour of a spot is \
                the number of requests per second."
            .to_owned(),
        height: u32::from(ROWS * ROW),
        up: axis.ticks().collect(),
        key: html! {
            (key("s", "completed", scale))
            @if columns.iter().flatten().any(Spot::is_bound) {
                (key("u", "not completed (lower bounds)", scale))
            }
        },
        body,
        ..times.chart("heat", "Response times of all requests", COLUMNS)
    }
    .figure()
}

fn key(colour: &str, name: &str, scale: Scale) -> Markup {
    let width = u16::from(SHADES) * SWATCH;
    html! {
        span.scale {
            (name) " "
            svg.swatch.heat width=(width) height="26" stroke-width="12" role="img" aria-label=(scale.to_string()) {
                @for level in 1..=SHADES {
                    path class=(format!("{colour}{level}")) d=(format!("M{} 6h{SWATCH}", u16::from(level - 1) * SWATCH)) {}
                }
                @for (level, anchor) in [(0, "start"), (SHADES / 2, "middle"), (SHADES, "end")] {
                    text x=(u16::from(level) * SWATCH) y="24" text-anchor=(anchor) { (human::short_hz(scale.most_of(level))) }
                }
            }
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Spot {
    all: f64,
    bounds: f64,
}

impl Spot {
    fn is_bound(&self) -> bool {
        self.bounds * 2.0 > self.all
    }
}

fn column(interval: &Interval, axis: LogTimeAxis) -> Vec<Spot> {
    let mut spots = vec![Spot::default(); usize::from(ROWS)];
    let sample = interval.due.responses();
    let rates = |times: &Histogram<u64>| rates(times, interval.length().as_secs_f64(), axis);
    for (row, rate) in rates(sample.times) {
        spots[row].all += rate;
    }
    for (row, rate) in sample.bounds.map(rates).unwrap_or_default() {
        spots[row].bounds += rate;
    }
    spots
}

/// Returns a row and a rate in slots per second for each step of the histogram. A row can occur several times.
fn rates(times: &Histogram<u64>, seconds: f64, axis: LogTimeAxis) -> Vec<(usize, f64)> {
    let steps = times.iter_recorded();
    let rate = |step: IterationValue<u64>| {
        let slots = human::float(step.count_since_last_iteration());
        (row(axis.part(step.value_iterated_to())), slots / seconds)
    };
    steps.map(rate).collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 49")]
fn row(part: f64) -> usize {
    ((part * f64::from(ROWS)) as usize).min(usize::from(ROWS) - 1)
}

/// If `most` is less than ten times `fewest`, the scale begins at a tenth of `most`, so that only dark shades are used.
#[derive(Clone, Copy, Debug)]
struct Scale {
    fewest: f64,
    most: f64,
}

impl Scale {
    fn factor(self) -> f64 {
        (self.most / self.fewest).max(10.0)
    }

    /// Returns the shade for a rate. Shade 0 means that there are no slots.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 8")]
    fn shade(self, rate: f64) -> u8 {
        if rate <= 0.0 {
            return 0;
        }
        let part = (rate / self.most).ln() / self.factor().ln() + 1.0;
        (part * f64::from(SHADES)).ceil().clamp(1.0, f64::from(SHADES)) as u8
    }

    fn most_of(self, shade: u8) -> f64 {
        self.most * self.factor().powf(f64::from(shade) / f64::from(SHADES) - 1.0)
    }
}

impl Display for Scale {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let [least, most] = [0, SHADES].map(|shade| human::short_hz(self.most_of(shade)));
        write!(f, "from {least} to {most}")
    }
}

/// Returns the edges of a column in whole units, which keeps the file small. Each column is at least one unit wide.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 1000")]
fn edges((from, to): (f64, f64)) -> (u32, u32) {
    let [from, to] = [from, to].map(|part| (part * WIDTH).round() as u32);
    (from, to.max(from + 1))
}

fn path(columns: &[Vec<Spot>], edges: &[(u32, u32)], is_wanted: impl Fn(&Spot) -> bool) -> String {
    let mut path = String::new();
    for row in 0..usize::from(ROWS) {
        let up = usize::from(ROW) * (usize::from(ROWS) - row) - usize::from(ROW) / 2;
        let spots = columns.iter().zip(edges).filter(|(column, _)| is_wanted(&column[row]));
        let mut pen = None;
        for (from, to) in joined(spots.map(|(_, edges)| *edges)) {
            let _ = match pen {
                None => write!(path, "M{from} {up}h{}", to - from),
                Some(pen) => write!(path, "m{} 0h{}", from - pen, to - from),
            };
            pen = Some(to);
        }
    }
    path
}

fn joined(spots: impl Iterator<Item = (u32, u32)>) -> Vec<(u32, u32)> {
    spots.fold(Vec::new(), |mut joined, (from, to)| {
        match joined.last_mut() {
            Some((_, end)) if *end >= from => *end = to.max(*end),
            _ => joined.push((from, to)),
        }
        joined
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_are_logarithmic_and_nothing_has_none() {
        let scale = Scale { fewest: 1.0, most: 1e4 };
        assert_eq!([0.0, 1.0, 11.0, 101.0, 1e4].map(|rate| scale.shade(rate)), [0, 1, 3, 5, 8]);
        assert_eq!(Scale { fewest: 5.0, most: 5.0 }.shade(5.0), 8);
    }

    #[test]
    fn a_scale_has_the_numbers_of_its_shades() {
        for scale in [Scale { fewest: 1.0, most: 1e4 }, Scale { fewest: 3.0, most: 4.0 }] {
            for shade in 1..=SHADES {
                let most = scale.most_of(shade);
                assert_eq!(scale.shade(most * 0.999), shade, "{scale}");
                assert_eq!(scale.shade(most * 1.001), (shade + 1).min(SHADES), "{scale}");
            }
        }
        assert_eq!(Scale { fewest: 1.0, most: 1e4 }.to_string(), "from 1.00/s to 10.0k/s");
    }

    #[test]
    fn strokes_go_through_all_spots() {
        let column = |rows: [f64; 2]| {
            let mut all = vec![Spot::default(); usize::from(ROWS)];
            (all[0].all, all[1].all) = (rows[0], rows[1]);
            all
        };
        let columns = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 1.0]].map(column);
        let path = path(&columns, &[(0, 3), (3, 7), (7, 10), (10, 13)], |spot| spot.all > 0.0);
        assert_eq!(path, "M0 198h7m3 0h3M3 194h10");
    }
}
