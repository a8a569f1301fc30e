//! The heat map: how many requests had which response time, and when.

use super::chart::{Chart, WIDTH};
use super::over_time::{Times, log_axis};
use crate::axis::LogTimeAxis;
use crate::run::recording::over_time::Interval;
use hdrhistogram::Histogram;
use maud::{Markup, html};
use nanopace_console::human;
use std::fmt::Write as _;

/// Rows of the map, and how high they are in dots.
const ROWS: u16 = 50;
const ROW: u16 = 4;

/// Shades from the fewest requests to the most, on a logarithmic scale.
const SHADES: u8 = 8;

/// The map of response times.
pub(crate) fn map(times: &Times) -> Markup {
    let responses = || times.intervals().iter().map(|interval| &interval.brief.response);
    if responses().all(Histogram::is_empty) {
        return html! {};
    }
    let axis = log_axis(responses());
    let columns: Vec<_> = times.intervals().iter().map(|of| column(of, axis)).collect();
    let spots = || columns.iter().flatten().copied().filter(|&requests| requests > 0.0);
    let range = (spots().fold(f64::MAX, f64::min), spots().fold(0.0, f64::max));
    let edges: Vec<_> = times.intervals().iter().map(|of| edges(times.place(of))).collect();
    let body = html! {
        g.heat stroke-width=(ROW) {
            @for level in 1..=SHADES {
                @let path = path(&columns, &edges, |requests| shade(requests, range) == level);
                @if !path.is_empty() { path class=(format!("s{level}")) d=(path) {} }
            }
        }
    };
    Chart {
        about:
            "How many requests had which response time, and when. A darker spot stands for more; \
                on a dark screen, a lighter one."
                .to_owned(),
        height: u32::from(ROWS * ROW),
        up: axis.ticks().collect(),
        key: key(),
        body,
        ..times.chart("heat", "Response times of all requests", "15 16 17 18")
    }
    .figure()
}

fn key() -> Markup {
    html! {
        span {
            "few "
            svg.swatch.heat width=(u16::from(SHADES) * 14) height="12" stroke-width="12" aria-hidden="true" {
                @for level in 1..=SHADES {
                    path class=(format!("s{level}")) d=(format!("M{} 6h14", (level - 1) * 14)) {}
                }
            }
            " many requests"
        }
    }
}

/// Requests per second in each row, from below.
fn column(interval: &Interval, axis: LogTimeAxis) -> Vec<f64> {
    let mut rows = vec![0.0; usize::from(ROWS)];
    let seconds = interval.length().as_secs_f64();
    for step in interval.brief.response.iter_recorded() {
        let requests = human::float(step.count_since_last_iteration());
        rows[row(axis.part(step.value_iterated_to()))] += requests / seconds;
    }
    rows
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 49")]
fn row(part: f64) -> usize {
    ((part * f64::from(ROWS)) as usize).min(usize::from(ROWS) - 1)
}

/// The shade between the fewest and the most; none for nothing. Where the most are less
/// than ten times the fewest, all are many.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 8")]
fn shade(requests: f64, (fewest, most): (f64, f64)) -> u8 {
    if requests <= 0.0 {
        return 0;
    }
    let part = (requests / most).ln() / (most / fewest).max(10.0).ln() + 1.0;
    (part * f64::from(SHADES)).ceil().clamp(1.0, f64::from(SHADES)) as u8
}

/// Whole numbers keep the map small. Each column is seen, however narrow it is.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 1000")]
fn edges((from, to): (f64, f64)) -> (u32, u32) {
    let [from, to] = [from, to].map(|part| (part * WIDTH).round() as u32);
    (from, to.max(from + 1))
}

/// Horizontal strokes through all spots for which `is_wanted`; neighbours are one.
fn path(columns: &[Vec<f64>], edges: &[(u32, u32)], is_wanted: impl Fn(f64) -> bool) -> String {
    let mut path = String::new();
    for row in 0..usize::from(ROWS) {
        let up = usize::from(ROW) * (usize::from(ROWS) - row) - usize::from(ROW) / 2;
        let spots = columns.iter().zip(edges).filter(|(column, _)| is_wanted(column[row]));
        let mut pen = None;
        for (from, to) in joined(spots.map(|(_, edges)| *edges)) {
            // A text takes all that is written to it.
            let _ = match pen {
                None => write!(path, "M{from} {up}h{}", to - from),
                Some(pen) => write!(path, "m{} 0h{}", from - pen, to - from),
            };
            pen = Some(to);
        }
    }
    path
}

/// Neighbours as one.
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
        let shades = |range| [0.0, 1.0, 11.0, 101.0, 1e4].map(|requests| shade(requests, range));
        assert_eq!(shades((1.0, 1e4)), [0, 1, 3, 5, 8]);
        assert_eq!(shade(5.0, (5.0, 5.0)), 8);
    }

    #[test]
    fn strokes_go_through_all_spots() {
        let column = |rows: [f64; 2]| {
            let mut all = vec![0.0; usize::from(ROWS)];
            all[..2].copy_from_slice(&rows);
            all
        };
        let columns = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 1.0]].map(column);
        let path = path(&columns, &[(0, 3), (3, 7), (7, 10), (10, 13)], |part| part > 0.0);
        assert_eq!(path, "M0 198h7m3 0h3M3 194h10");
    }
}
