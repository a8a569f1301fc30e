//! What was asked and admitted over time, drawn with characters.

use super::counts::Counts;
use super::results::Results;
use crate::human;
use crossterm::terminal;
use std::fmt::{self, Display, Formatter};
use std::io::{self, IsTerminal};
use std::time::Duration;

const ROWS: u64 = 10;
/// What the rates at the left take of the width.
const LABEL: usize = 8;
/// Filled by so many eighths, from below.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const REJECTED: char = '░';
/// The width of a terminal whose width is not known, and of what is no terminal.
const USUAL_WIDTH: usize = 80;

/// Columns that there are on standard output.
pub(crate) fn terminal_width() -> usize {
    match terminal::size() {
        Ok((columns @ 20.., _)) if io::stdout().is_terminal() => usize::from(columns),
        _ => USUAL_WIDTH,
    }
}

/// How time is divided into columns: of 1, 2 or 5 times a power of ten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    /// What a column stands for.
    pub(crate) width_ns: u64,
    /// How many there are.
    pub(crate) number: usize,
}

impl Columns {
    /// At most `most` columns for all there is, a tenth of the limit's period or more each.
    pub(crate) fn of(results: &Results, most: usize) -> Columns {
        let counts = || results.lanes.iter().map(|lane| &lane.passed).chain([&results.asked]);
        let span = counts().map(Counts::span_ns).max().unwrap_or(1);
        let finest = counts().map(Counts::bin_ns).max().unwrap_or(1);
        let wanted = span.div_ceil(most as u64).max(results.limit.period_ns() / 10).max(finest);
        let steps = [1, 2, 5].into_iter().cycle();
        let tens = (0..).flat_map(|ten: u32| [10_u64.saturating_pow(ten); 3]);
        let round = steps.zip(tens).map(|(step, ten): (u64, u64)| step.saturating_mul(ten));
        let width_ns = round.into_iter().find(|&width| width >= wanted).unwrap_or(u64::MAX);
        let number = usize::try_from(span.div_ceil(width_ns)).expect("at most as many as wanted");
        Columns { width_ns, number }
    }

    /// The counts per second in each column.
    pub(crate) fn rates(self, counts: &Counts) -> Vec<f64> {
        let rate = |count| human::float(count) / self.width().as_secs_f64();
        counts.columns(self.width_ns, self.number).into_iter().map(rate).collect()
    }

    /// The time that each column stands for.
    pub(crate) fn width(self) -> Duration {
        Duration::from_nanos(self.width_ns)
    }
}

/// Rates over time: admitted requests filled, rejected ones hatched above them.
pub(crate) struct Chart {
    /// Requests per second in each column.
    asked: Vec<f64>,
    passed: Vec<f64>,
    limit: f64,
    columns: Columns,
    /// Characters for each column.
    repeat: usize,
}

impl Chart {
    /// The chart of the first limiter, at most `width` characters wide.
    pub(crate) fn new(results: &Results, width: usize) -> Chart {
        let room = width - LABEL - 1;
        let columns = Columns::of(results, room);
        Chart {
            asked: columns.rates(&results.asked),
            passed: columns.rates(&results.lanes[0].passed),
            limit: results.limit_hz(),
            columns,
            repeat: (room / columns.number).max(1),
        }
    }

    /// What a row stands for: 1, 2 or 5 times a power of ten of the limit, so that the limit is on
    /// a row's edge.
    fn row_hz(&self) -> f64 {
        let most = self.asked.iter().chain(&self.passed).copied().fold(self.limit, f64::max);
        self.limit * round_up(most / self.limit / human::float(ROWS))
    }

    fn row(&self, f: &mut Formatter<'_>, row: u64, row_hz: f64) -> fmt::Result {
        let top = human::float(row + 1) * row_hz;
        let is_limit = (top - self.limit).abs() < row_hz / 2.0;
        let label = if is_limit || (row + 1).is_multiple_of(ROWS / 2) {
            human::short_hz(top)
        } else {
            String::new()
        };
        write!(f, "{label:>LABEL$}{}", if is_limit { '┼' } else { '│' })?;
        for (asked, passed) in self.asked.iter().zip(&self.passed) {
            let [asked, passed] =
                [asked, passed].map(|hz| (hz / row_hz - human::float(row)).clamp(0.0, 1.0));
            let cell = if asked - passed > passed { REJECTED } else { eighths(passed) };
            write!(f, "{}", String::from(cell).repeat(self.repeat))?;
        }
        writeln!(f)
    }

    fn time_axis(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let length = self.columns.number * self.repeat;
        let end =
            time(self.columns.width() * u32::try_from(self.columns.number).unwrap_or(u32::MAX));
        writeln!(f, "{:LABEL$}└{}", "", "─".repeat(length))?;
        writeln!(f, "{:LABEL$} 0s{end:>1$}", "", length.saturating_sub(2))
    }
}

impl Display for Chart {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let each = time(self.columns.width());
        writeln!(
            f,
            "requests per second, each column {each}: █ admitted, {REJECTED} rejected, ┼ limit"
        )?;
        let row_hz = self.row_hz();
        (0..ROWS).rev().try_for_each(|row| self.row(f, row, row_hz))?;
        self.time_axis(f)
    }
}

/// Longer times are told in minutes, hours and so on.
const LONG: Duration = Duration::from_secs(600);

/// A time to three digits, or to two units.
pub(crate) fn time(time: Duration) -> String {
    if time.is_zero() {
        return "0s".to_owned();
    }
    if time < LONG {
        return human::time(time);
    }
    let units = humantime::format_duration(Duration::from_secs(time.as_secs())).to_string();
    units.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// 1, 2 or 5 times a power of ten, `value` or more.
fn round_up(value: f64) -> f64 {
    let ten = 10_f64.powf(value.log10().floor());
    // What is a power of ten should not become twice that by rounding.
    [1.0, 2.0, 5.0, 10.0]
        .map(|step| step * ten)
        .into_iter()
        .find(|step| *step > value * 0.999_999)
        .unwrap_or(value)
}

/// A character filled to this part; what is not nothing can be seen.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 8")]
fn eighths(part: f64) -> char {
    let eighths = (part.clamp(0.0, 1.0) * 8.0).round() as usize;
    if part > 0.0 { EIGHTHS[eighths.max(1)] } else { EIGHTHS[0] }
}

/// Rates over time in a line, `top` being a full character.
pub(crate) fn line(rates: &[f64], top: f64) -> String {
    rates.iter().map(|rate| eighths(rate / top)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_the_smallest_rate() {
        assert_eq!(line(&[0.0, 0.1, 10.0, 15.0, 20.0], 20.0), " ▁▄▆█");
    }

    #[test]
    fn long_times_have_two_units() {
        for (seconds, text) in
            [(0, "0s"), (599, "599s"), (600, "10m"), (9_999, "2h 46m"), (86_400, "1day")]
        {
            assert_eq!(time(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn steps_are_round() {
        for (value, rounded) in
            [(1.0, 1.0), (1.1, 2.0), (0.2, 0.2), (0.3, 0.5), (70.0, 100.0), (0.1, 0.1)]
        {
            assert!((round_up(value) - rounded).abs() < 1e-9, "{value}: {}", round_up(value));
        }
    }

    /// Up to 10/s admitted, then 15/s asked and 10/s admitted.
    #[test]
    fn the_chart_stacks_what_was_rejected_on_what_was_admitted() {
        let chart = Chart {
            asked: vec![5.0, 10.0, 15.0],
            passed: vec![5.0, 10.0, 10.0],
            limit: 10.0,
            columns: Columns { width_ns: 1_000_000_000, number: 3 },
            repeat: 2,
        };
        let lines: Vec<_> = chart.to_string().lines().map(str::to_owned).collect();
        assert_eq!(
            lines[1..],
            [
                "  20.0/s│      ",
                "        │      ",
                "        │    ░░",
                "        │    ░░",
                "        │    ░░",
                "  10.0/s┼  ████",
                "        │  ████",
                "        │▄▄████",
                "        │██████",
                "        │██████",
                "        └──────",
                "         0s3.00s",
            ]
        );
    }
}
