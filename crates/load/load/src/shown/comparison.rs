//! Writes a comparison of runs as text and as a JSON object.

use super::times::{AT_LEAST, NONE};
use crate::console::human;
use crate::judged::comparison::{Comparison, Difference, Estimate, Figure, Row, Word};
use serde::Serialize;
use std::fmt::{self, Display, Formatter};
use std::iter;
use std::time::Duration;

/// The usual widths of the columns. Longer texts widen their column.
const WIDTHS: [usize; 5] = [16, 26, 26, 27, 0];

pub(crate) const BESIDE: &str = "B compared with A";

const NOTE: &str = "in brackets: 95 % confidence intervals; ~: too few requests for a reliable interval; >=: lower bound; pp: percentage points";
const FEW_RUNS: &str =
    "the intervals include differences between runs only if each side has at least three runs";
const PAIRED: &str =
    "A and B ran at the same time; variation that both have in common is left out of differences";

pub(crate) fn notes(comparison: &Comparison) -> impl Iterator<Item = &'static str> {
    let is_few = comparison.runs.iter().any(|runs| *runs < 3);
    let (paired, few) = (comparison.is_paired, is_few && !comparison.is_paired);
    [NOTE].into_iter().chain(paired.then_some(PAIRED)).chain(few.then_some(FEW_RUNS))
}

pub(crate) fn sides(comparison: &Comparison) -> [String; 2] {
    if comparison.is_paired {
        return ["A", "B"].map(str::to_owned);
    }
    let [a, b] = comparison.runs.map(|runs| human::count(runs, "run"));
    [format!("A: {a}"), format!("B: {b}")]
}

pub(crate) fn sides_of_run(comparison: &Comparison) -> [&'static str; 2] {
    if comparison.is_paired { ["A", "B"] } else { ["A: baseline", "B: this run"] }
}

pub(crate) fn upshot(rows: &[Row]) -> String {
    let count = |word: Word| rows.iter().filter(|row| row.word == word).count();
    let (all, few, same) = (rows.len(), count(Word::TooFew), count(Word::NoDifference));
    let unknown = if few > 0 { format!("; {} for {few}", Word::TooFew) } else { String::new() };
    match all - few - same {
        0 if same == 0 => format!("{} for all {all} figures", Word::TooFew),
        0 => format!("{} in {same} of {all} figures{unknown}", Word::NoDifference),
        1 => format!("1 of {all} figures differs{unknown}"),
        differ => format!("{differ} of {all} figures differ{unknown}"),
    }
}

#[derive(Debug)]
pub(crate) struct ComparisonText<'a>(pub(crate) &'a Comparison, pub(crate) &'a [String]);

impl Display for ComparisonText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Comparison { rows, told, .. } = self.0;
        told.iter().try_for_each(|told| writeln!(f, "differ    {}", human::visible(told)))?;
        let [a, b] = sides(self.0);
        let head = [String::new(), a, b, BESIDE.to_owned(), String::new()];
        let lines: Vec<_> = iter::once(head).chain(rows.iter().map(cells)).collect();
        lines.iter().try_for_each(|cells| writeln!(f, "{}", aligned(cells, &lines)))?;
        notes(self.0).try_for_each(|note| writeln!(f, "({note})"))?;
        self.1.iter().try_for_each(|missed| writeln!(f, "missed    {missed}"))
    }
}

fn aligned(cells: &[String; 5], lines: &[[String; 5]]) -> String {
    let width = |column: usize| {
        lines.iter().map(|cells| cells[column].len()).chain([WIDTHS[column]]).max().unwrap_or(0)
    };
    let cell = |(column, text): (usize, &String)| format!("{text:<0$} ", width(column));
    cells.iter().enumerate().map(cell).collect::<String>().trim_end().to_owned()
}

pub(crate) fn cells(row: &Row) -> [String; 5] {
    let [a, b] = row.sides.map(|side| estimate(row.figure, side));
    [row.figure.to_string(), a, b, difference(row), row.word.to_string()]
}

fn estimate(figure: Figure, estimate: Option<Estimate>) -> String {
    let Some(Estimate { value, low, high, is_rough, is_bound }) = estimate else {
        return NONE.to_owned();
    };
    let about = match () {
        () if is_bound => AT_LEAST,
        () if is_rough => "~",
        () => "",
    };
    if figure.is_time() {
        let show = if is_rough { human::rough_time } else { human::time };
        let time = |ns: f64| Duration::from_secs_f64(ns * 1e-9);
        let range = human::range(time(low), high.is_finite().then(|| time(high)), show);
        return format!("{about}{} {range}", show(time(value)));
    }
    if figure == Figure::Errors {
        let [value, low, high] = [value, low, high].map(|share| share * 100.0);
        return format!("{about}{value:.3} % ({low:.3} to {high:.3} %)");
    }
    let show = human::short_hz;
    format!("{about}{} ({} to {})", show(value), show(low), show(high))
}

/// Formats a difference as a percentage of the first side's value or, for errors, in percentage points. An end of the
/// interval at -100 % or beyond all measured values says nothing, and is left out.
pub(crate) fn difference(row: &Row) -> String {
    let is_share = row.figure == Figure::Errors;
    let relative = if is_share { row.difference } else { row.relative() };
    let Some(Difference { by, low, high }) = relative else { return NONE.to_owned() };
    let [by, low, high] = [by, low, high].map(|share| share * 100.0);
    let unit = if is_share { "pp" } else { "%" };
    let range = match [low > -100.0, high.is_finite()] {
        [true, true] => format!(" ({low:+.1} to {high:+.1} {unit})"),
        [true, false] => format!(" ({low:+.1} {unit} or more)"),
        [false, true] => format!(" ({high:+.1} {unit} or less)"),
        [false, false] => String::new(),
    };
    format!("{by:+.1} {unit}{range}")
}

/// A comparison as a JSON object. Programs depend on the names of its fields, so the names must not change.
#[derive(Debug, Serialize)]
pub(crate) struct ComparisonObject {
    runs: [usize; 2],
    differ: Vec<String>,
    figures: Vec<FigureObject>,
    failed: Vec<String>,
}

/// A figure on both sides. Times are in nanoseconds, rates are per second, and errors are a share.
#[derive(Debug, Serialize)]
struct FigureObject {
    figure: String,
    a: Option<Estimate>,
    b: Option<Estimate>,
    difference: Option<Difference>,
    relative: Option<Difference>,
    word: &'static str,
}

impl ComparisonObject {
    pub(crate) fn new(comparison: &Comparison, failed: &[String]) -> ComparisonObject {
        ComparisonObject {
            runs: comparison.runs,
            differ: comparison.told.clone(),
            figures: comparison.rows.iter().map(FigureObject::new).collect(),
            failed: failed.to_vec(),
        }
    }
}

impl FigureObject {
    fn new(row: &Row) -> FigureObject {
        let [a, b] = row.sides;
        FigureObject {
            figure: row.figure.to_string(),
            a,
            b,
            difference: row.difference,
            relative: row.relative(),
            word: row.word.key(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_bound_has_a_sign_and_no_difference() {
        let estimate = |is_bound, high| {
            Some(Estimate { value: 6.4e6, low: 1.3e6, high, is_rough: true, is_bound })
        };
        let sides = [estimate(true, f64::INFINITY), estimate(false, 7e6)];
        let figure = Figure::Response(50.0);
        let row = Row { figure, sides, difference: None, word: Word::TooFew };
        let [_, a, b, difference, _] = cells(&row);
        assert_eq!(
            [&*a, &*b, &*difference],
            [">=6.4ms (1.3ms or more)", "~6.4ms (1.3 to 7.0ms)", "-"]
        );
    }

    #[test]
    fn a_difference_has_its_unit_and_the_known_ends_of_its_interval() {
        let shown = |figure, low, high| {
            let side = |value| Estimate {
                value,
                low: value,
                high: value,
                is_rough: false,
                is_bound: false,
            };
            let sides = [Some(side(1.0)), Some(side(0.5))];
            let difference = Some(Difference { by: -0.5, low, high });
            super::difference(&Row { figure, sides, difference, word: Word::NoDifference })
        };
        let time = Figure::Response(50.0);
        assert_eq!(shown(time, -0.75, 0.19), "-50.0 % (-75.0 to +19.0 %)");
        assert_eq!(shown(time, -1.25, 0.19), "-50.0 % (+19.0 % or less)");
        assert_eq!(shown(time, -0.75, f64::INFINITY), "-50.0 % (-75.0 % or more)");
        assert_eq!(shown(time, f64::NEG_INFINITY, f64::INFINITY), "-50.0 %");
        assert_eq!(shown(Figure::Errors, -0.75, 0.19), "-50.0 pp (-75.0 to +19.0 pp)");
    }

    #[test]
    fn an_upshot_counts_the_figures_that_differ() {
        let rows = |word: Word, times: usize| -> Vec<Row> {
            let words = (0..12).map(|index| if index < times { word } else { Word::TooFew });
            let row = |(figure, word)| Row { figure, sides: [None; 2], difference: None, word };
            Figure::all().zip(words).map(row).collect()
        };
        let few = "too few samples for ";
        assert_eq!(upshot(&rows(Word::TooFew, 0)), format!("{few}all 12 figures"));
        assert_eq!(
            upshot(&rows(Word::NoDifference, 1)),
            format!("no difference seen in 1 of 12 figures; {few}11")
        );
        assert_eq!(upshot(&rows(Word::Slower, 1)), format!("1 of 12 figures differs; {few}11"));
        assert_eq!(upshot(&rows(Word::Slower, 3)), format!("3 of 12 figures differ; {few}9"));
    }

    #[test]
    fn columns_are_aligned_also_with_long_differences() {
        let line = |difference: &str, word: &str| {
            ["p50 wait", "1.00us", "2.00us", difference, word].map(str::to_owned)
        };
        let long = "+100.0 % (+100.0 to +12345.0 %)";
        let lines = [line("+1.0 %", "slower"), line(long, "slower")];
        let ends = lines.each_ref().map(|cells| aligned(cells, &lines).len());
        assert_eq!(ends, [16 + 26 + 26 + long.len() + 4 + "slower".len(); 2]);
    }
}
