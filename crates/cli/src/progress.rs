//! The live line on standard error: rewritten in place on a terminal, line after line elsewhere.
//!
//! Nothing here fails a run: if standard error is gone, so is the line.

use crate::tally::Tally;
use crossterm::queue;
use crossterm::style::Print;
use crossterm::terminal::{self, Clear, ClearType};
use hdrhistogram::Histogram;
use nanopace::{Ledger, Rate};
use nanopace_console::human;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

/// How a run stands; shown as one line.
#[derive(Debug)]
pub(crate) struct Status {
    /// Time since the start of the schedule.
    pub(crate) elapsed: Duration,
    /// The asked-for rate.
    pub(crate) rate: Rate,
    /// Whether the schedule stands still.
    pub(crate) paused: bool,
    /// The pacer's accounts.
    pub(crate) ledger: Ledger,
    /// What the last second was like.
    pub(crate) recent: Recent,
    /// What is being typed, or was wrong with it.
    pub(crate) note: String,
}

/// What happened between two collections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent {
    hz: f64,
    /// Median and 99th percentile.
    wait: String,
    response: String,
}

impl Recent {
    /// `granted` slots and the times in `tally`, within `span`.
    pub(crate) fn new(granted: u64, tally: &Tally, span: Duration) -> Recent {
        let hz = human::float(granted) / span.as_secs_f64();
        Recent { hz, wait: spread(&tally.wait), response: spread(&tally.response) }
    }
}

fn spread(times: &Histogram<u64>) -> String {
    let time = |quantile| human::time(Duration::from_nanos(times.value_at_quantile(quantile)));
    if times.is_empty() { "-".to_owned() } else { format!("{}/{}", time(0.5), time(0.99)) }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (elapsed, achieved) = (self.elapsed.as_secs_f64(), human::hz(self.recent.hz));
        let paused = if self.paused { " (paused)" } else { "" };
        let (slots, backlog) = (self.ledger.backlog_slots, human::time(self.ledger.backlog));
        let Recent { wait, response, .. } = &self.recent;
        write!(
            f,
            "{elapsed:3.0}s  {achieved} of {}{paused}  backlog {slots} ({backlog})  ",
            self.rate
        )?;
        write!(f, "wait {wait}  response {response}  {}", self.note)
    }
}

/// Where the status goes.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Rewrite one line instead of adding lines.
    in_place: bool,
}

impl Progress {
    /// Progress on standard error.
    pub(crate) fn new() -> Progress {
        Progress { in_place: io::stderr().is_terminal() }
    }

    /// Progress of a run, whose legend is shown at once.
    pub(crate) fn start(title: &str, keys: bool) -> Progress {
        let progress = Progress::new();
        progress.line(title);
        progress.line(
            "elapsed, rate achieved of asked, backlog, p50/p99 of wait and response time in the last second",
        );
        if keys {
            progress
                .line("keys: + and - change the rate, space pauses, 2k and Enter sets it, q stops");
        }
        progress
    }

    /// Shows a new status.
    pub(crate) fn show(&self, status: &Status) {
        self.show_text(&status.to_string());
    }

    /// Shows how it stands now, in a line.
    pub(crate) fn show_text(&self, text: &str) {
        if self.in_place {
            Self::rewrite(text);
        } else {
            self.line(text.trim_end());
        }
    }

    /// Leaves the live line behind.
    pub(crate) fn end(&self) {
        if self.in_place {
            self.line("");
        }
    }

    fn line(&self, text: &str) {
        // Raw mode does not return the carriage by itself.
        let end = if self.in_place { "\r\n" } else { "\n" };
        let _ = write!(io::stderr(), "{text}{end}");
    }

    fn rewrite(text: &str) {
        // A line that wraps could not be rewritten.
        let columns = match terminal::size() {
            Ok((columns @ 1.., _)) => usize::from(columns),
            // It is not known, or said to be none.
            _ => 80,
        };
        let text: String = text.chars().take(columns.saturating_sub(1)).collect();
        let mut stderr = io::stderr().lock();
        let _ = queue!(stderr, Print('\r'), Print(text), Clear(ClearType::UntilNewLine));
        let _ = stderr.flush();
    }
}
