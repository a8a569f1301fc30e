//! The starts of the demonstration as text: a row for all nodes together, and one for each.

use super::record::{COLUMN, LENGTH, Record};
use crate::console::chart::{eighths, width};
use crate::console::human::float;
use crate::console::{Progress, human};
use crossterm::cursor::MoveToPreviousLine;
use crossterm::queue;
use crossterm::style::Print;
use crossterm::terminal::{Clear, ClearType};
use std::fmt::{self, Display, Formatter};
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

/// The width of what is beside the rows.
const LABELS: usize = 22;

/// A row per node, up to a moment of the load.
#[derive(Debug)]
pub(super) struct Chart<'run> {
    pub(super) record: &'run Record,
    /// The rate that is asked for.
    pub(super) hz: f64,
    /// The width of the terminal, in characters.
    pub(super) width: usize,
    pub(super) until: Duration,
}

impl Display for Chart<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let all = 1.5 * self.hz;
        self.row(f, "all", &self.record.totals(), all)?;
        self.record.each().try_for_each(|(number, columns)| {
            self.row(f, &format!("node {number}"), &columns, all / 3.0)
        })
    }
}

impl Chart<'_> {
    /// A row whose characters are full at the rate `top`.
    fn row(&self, f: &mut Formatter<'_>, name: &str, columns: &[u64], top: f64) -> fmt::Result {
        let wide = self.width.saturating_sub(LABELS).max(10);
        let each = columns.len().div_ceil(wide).max(1);
        let full = top * COLUMN.as_secs_f64() * float(each as u64);
        let over = usize::try_from(self.until.as_nanos() / COLUMN.as_nanos()).unwrap_or(0) / each;
        let bars = columns.chunks(each).take(over);
        let bars: String = bars.map(|part| eighths(float(part.iter().sum()) / full)).collect();
        let wide = columns.len().div_ceil(each);
        writeln!(f, "{name:<8} {bars:<wide$} {:>10}", Record::rate(columns, self.until))
    }
}

/// The chart while it grows: in place on a terminal, as a line per second elsewhere.
#[derive(Debug)]
pub(super) struct Live {
    hz: f64,
    is_terminal: bool,
    /// How many lines the chart had.
    lines: u16,
    second: u64,
}

impl Live {
    pub(super) fn new(hz: f64) -> Live {
        Live { hz, is_terminal: io::stderr().is_terminal(), lines: 0, second: 0 }
    }

    /// Shows what has been done until this moment of the load.
    pub(super) fn show(&mut self, record: &Record, until: Duration) {
        // What has just been done may not have been said yet.
        let until = until.saturating_sub(COLUMN).min(LENGTH);
        if self.is_terminal {
            let chart = Chart { record, hz: self.hz, width: width(true), until };
            self.redraw(&chart.to_string());
        } else if until.as_secs() > self.second {
            self.second = until.as_secs();
            Progress::of_a_job().add_line(&line(record, until));
        }
    }

    /// The chart goes: it is shown once more with the results.
    pub(super) fn end(&mut self) {
        if self.is_terminal {
            self.redraw("");
        }
    }

    fn redraw(&mut self, text: &str) {
        let mut stderr = io::stderr().lock();
        if self.lines > 0 {
            let _ = queue!(stderr, MoveToPreviousLine(self.lines));
        }
        let _ = queue!(stderr, Clear(ClearType::FromCursorDown), Print(text));
        let _ = stderr.flush();
        self.lines = u16::try_from(text.lines().count()).unwrap_or(0);
    }
}

/// The rates of the last half second.
fn line(record: &Record, until: Duration) -> String {
    let each = record.each().map(|(_, columns)| Record::rate(&columns, until));
    let each: Vec<String> = each.collect();
    let all = Record::rate(&record.totals(), until);
    format!("{:>4}  all {all}, each {}", human::time(until), each.join(" "))
}
