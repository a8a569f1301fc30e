//! Shows progress on standard error. On a terminal, one line is rewritten. Elsewhere, each update of a job adds a line.
//!
//! Write errors are ignored: a job must not fail because standard error is not available.

use crossterm::queue;
use crossterm::style::Print;
use crossterm::terminal::{self, Clear, ClearType};
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

const USUAL_WIDTH: usize = 80;

#[derive(Debug)]
pub(crate) struct Progress {
    in_place: bool,
    /// Whether the last state of the live line stays on the terminal after the job.
    stays: bool,
}

impl Progress {
    #[must_use]
    pub(crate) fn of_a_job() -> Progress {
        Progress { in_place: io::stderr().is_terminal(), stays: true }
    }

    /// Creates the progress of a part of a job. Its line is erased at the end. Without a terminal, [`Progress::show`]
    /// writes nothing.
    #[must_use]
    pub(crate) fn of_a_part() -> Progress {
        Progress { stays: false, ..Progress::of_a_job() }
    }

    pub(crate) fn show(&self, status: &impl Display) {
        if self.in_place {
            rewrite(&status.to_string());
        } else if self.stays {
            self.add_line(status.to_string().trim_end());
        }
    }

    pub(crate) fn end(&self) {
        match (self.in_place, self.stays) {
            (true, true) => self.add_line(""),
            (true, false) => rewrite(""),
            _ => {}
        }
    }

    /// Writes a line that stays. It replaces the live line until [`Progress::show`] is called again.
    pub(crate) fn tell(&self, text: &str) {
        if self.in_place {
            let _ = queue!(io::stderr(), Print('\r'), Clear(ClearType::UntilNewLine));
        }
        self.add_line(text);
    }

    pub(crate) fn add_line(&self, text: &str) {
        // In raw mode, a line feed does not return the cursor to the first column.
        let end = if self.in_place { "\r\n" } else { "\n" };
        let _ = write!(io::stderr(), "{text}{end}");
    }
}

fn rewrite(text: &str) {
    // A line that wraps cannot be rewritten, so it is cut to the width of the terminal.
    let width = match terminal::size() {
        Ok((columns @ 1.., _)) => usize::from(columns),
        _ => USUAL_WIDTH,
    };
    let text: String = text.chars().take(width.saturating_sub(1)).collect();
    let mut stderr = io::stderr().lock();
    let _ = queue!(stderr, Print('\r'), Print(text), Clear(ClearType::UntilNewLine));
    let _ = stderr.flush();
}
