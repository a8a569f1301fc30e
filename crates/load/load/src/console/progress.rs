//! The live line on standard error: rewritten in place on a terminal, line after line elsewhere.
//!
//! Nothing here fails a job: without standard error, there is no line.

use crossterm::queue;
use crossterm::style::Print;
use crossterm::terminal::{self, Clear, ClearType};
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

/// The width where the terminal's is not known.
const USUAL_WIDTH: usize = 80;

/// Writes lines to standard error.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Whether one line is rewritten, instead of adding lines.
    in_place: bool,
    /// Whether the live line stays when it has ended.
    stays: bool,
}

impl Progress {
    /// Progress of a whole job.
    #[must_use]
    pub(crate) fn of_a_job() -> Progress {
        Progress { in_place: io::stderr().is_terminal(), stays: true }
    }

    /// Progress that is erased when it ends: of a part of a job, or of a job that soon shows its results. Without a
    /// terminal, [`Progress::show`] writes nothing.
    #[must_use]
    pub(crate) fn of_a_part() -> Progress {
        Progress { stays: false, ..Progress::of_a_job() }
    }

    /// Shows how the job is going now, in one line.
    pub(crate) fn show(&self, status: &impl Display) {
        if self.in_place {
            rewrite(&status.to_string());
        } else if self.stays {
            self.add_line(status.to_string().trim_end());
        }
    }

    /// Moves on from the live line.
    pub(crate) fn end(&self) {
        match (self.in_place, self.stays) {
            (true, true) => self.add_line(""),
            (true, false) => rewrite(""),
            _ => {}
        }
    }

    /// Writes a line that stays, in place of the live line until that is shown again.
    pub(crate) fn tell(&self, text: &str) {
        if self.in_place {
            let _ = queue!(io::stderr(), Print('\r'), Clear(ClearType::UntilNewLine));
        }
        self.add_line(text);
    }

    /// Writes a line that stays.
    pub(crate) fn add_line(&self, text: &str) {
        // In raw mode, a new line does not return the carriage.
        let end = if self.in_place { "\r\n" } else { "\n" };
        let _ = write!(io::stderr(), "{text}{end}");
    }
}

fn rewrite(text: &str) {
    // Cut to the width: a line that wraps could not be rewritten.
    let width = match terminal::size() {
        Ok((columns @ 1.., _)) => usize::from(columns),
        _ => USUAL_WIDTH,
    };
    let text: String = text.chars().take(width.saturating_sub(1)).collect();
    let mut stderr = io::stderr().lock();
    let _ = queue!(stderr, Print('\r'), Print(text), Clear(ClearType::UntilNewLine));
    let _ = stderr.flush();
}
