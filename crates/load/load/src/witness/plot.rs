//! Draws the gaps as an SVG image, together with their distribution (Poisson arrivals) or the lateness over time (even
//! arrivals).

use crate::console::axis::short_count;
use crate::console::human::{self, float, percent};
use crate::console::line_plot::{self, PlotLine};
use crate::results::evenness::{ExpectedLoad, slots_late};
use plotters::style::RGBColor;
use std::error::Error;

/// The number of columns into which each horizontal axis is divided.
const COLUMNS: usize = 300;
/// The end of the axis of gaps, in nominal gaps. Longer gaps are in the last column.
const LONGEST: f64 = 3.0;

/// Draws requests from their arrival times, which are in ascending order, in nanoseconds since any moment.
pub(crate) fn svg(
    arrivals: &[u64],
    expected: ExpectedLoad,
) -> Result<String, Box<dyn Error + Send + Sync>> {
    let first = arrivals.first().copied().unwrap_or_default();
    let seconds: Vec<f64> = arrivals.iter().map(|ns| float(ns - first) * 1e-9).collect();
    let slots: Vec<f64> = seconds.iter().map(|time| time * expected.rate).collect();
    let each = 1.0 / float(slots.len().max(2) as u64 - 1);
    let gaps = slots.windows(2).map(|pair| (pair[1] - pair[0], each));
    let process = if expected.is_poisson { "Poisson" } else { "even" };
    let title = format!("expected: {}, {process}", human::short_hz(expected.rate));
    let sizes = PlotLine {
        points: columns(gaps, LONGEST, |sum, each| sum + each),
        expected: Vec::new(),
        names: ["gap, in nominal gaps (3: 3 or more)", "share of gaps"],
        unit: "",
        colour: RGBColor(50, 100, 170),
        label: percent,
    };
    let second =
        if expected.is_poisson { distribution(&sizes.points) } else { lateness(&seconds, &slots) };
    line_plot::svg(&title, [sizes, second])
}

fn distribution(sizes: &[(f64, f64)]) -> PlotLine<'static> {
    let shorter = sizes.iter().scan(0.0, |sum, &(gap, share)| {
        let below = *sum;
        *sum += share;
        Some((gap, below))
    });
    PlotLine {
        points: shorter.collect(),
        expected: sizes.iter().map(|&(gap, _)| (gap, 1.0 - (-gap).exp())).collect(),
        names: ["gap, in nominal gaps", "share of shorter gaps (grey: Poisson)"],
        unit: "",
        colour: RGBColor(170, 60, 20),
        label: percent,
    }
}

fn lateness(seconds: &[f64], slots: &[f64]) -> PlotLine<'static> {
    let end = seconds.last().copied().unwrap_or_default();
    let late = seconds.iter().copied().zip(slots_late(slots));
    PlotLine {
        points: columns(late, end, f64::max),
        expected: Vec::new(),
        names: ["time", "lateness, in nominal gaps"],
        unit: "s",
        colour: RGBColor(170, 60, 20),
        label: short_count,
    }
}

/// Distributes values among columns. Values at `end` and beyond are in one additional column.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of COLUMNS")]
fn columns(
    values: impl Iterator<Item = (f64, f64)>,
    end: f64,
    combine: impl Fn(f64, f64) -> f64,
) -> Vec<(f64, f64)> {
    let most = float(COLUMNS as u64);
    let begin = |column| (float(column) * end / most, 0.0);
    let mut columns: Vec<(f64, f64)> = (0..=COLUMNS as u64).map(begin).collect();
    for (at, value) in values {
        let (_, column) = &mut columns[((at / end * most) as usize).min(COLUMNS)];
        *column = combine(*column, value);
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poisson_gaps_are_drawn_beside_an_exponential_distribution() {
        let sizes: Vec<_> = (0..=3_u32).map(|gap| (f64::from(gap), 0.25)).collect();
        let PlotLine { points, expected, .. } = distribution(&sizes);
        assert_eq!(points, [(0.0, 0.0), (1.0, 0.25), (2.0, 0.5), (3.0, 0.75)]);
        assert!((expected[2].1 - 0.864_664_7).abs() < 1e-6, "{expected:?}");
        let names = |is_poisson| svg(&[0, 7, 9], ExpectedLoad { rate: 1.0, is_poisson }).unwrap();
        assert!(names(true).contains("shorter gaps") && !names(true).contains("lateness"));
        assert!(names(false).contains("lateness"));
    }

    #[test]
    fn each_value_is_in_its_column() {
        let values = [(0.0, 1.0), (1.5, 2.0), (1.509, 4.0), (3.0, 8.0), (7.0, 16.0)];
        let found = columns(values.into_iter(), 3.0, |sum, each| sum + each);
        let is_full = |column: &&(f64, f64)| column.1 > 0.0;
        let full: Vec<_> = found.iter().filter(is_full).copied().collect();
        assert_eq!(full, [(0.0, 1.0), (1.5, 6.0), (3.0, 24.0)]);
    }
}
