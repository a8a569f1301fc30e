//! Writes the results of a command: text for people, and a JSON object for programs.

use super::result_file::{ResultFile, cannot_write};
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

/// Text goes to standard output, or to standard error if another output goes to standard output.
#[derive(Debug)]
pub(crate) struct Output {
    json: Option<ResultFile>,
    is_stdout_taken: bool,
}

impl Output {
    pub(crate) fn create(json: Option<&Path>) -> anyhow::Result<Output> {
        let json = ResultFile::optional("--json", json)?;
        Ok(Output { is_stdout_taken: json.as_ref().is_some_and(ResultFile::is_stdout), json })
    }

    #[must_use]
    pub(crate) fn with_stdout_taken(self, is_taken: bool) -> Output {
        Output { is_stdout_taken: self.is_stdout_taken || is_taken, ..self }
    }

    pub(crate) fn write_json<T: Serialize>(&self, object: impl FnOnce() -> T) -> io::Result<()> {
        let Some(json) = &self.json else { return Ok(()) };
        let mut text = serde_json::to_string_pretty(&object())?;
        text.push('\n');
        json.write_text(&text)
    }

    pub(crate) fn write_text(&self, text: &impl Display) -> io::Result<()> {
        let text = text.to_string();
        let written = if self.is_stdout_taken {
            io::stderr().write_all(text.as_bytes())
        } else {
            let mut stdout = io::stdout();
            stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
        };
        written.map_err(|error| cannot_write("the report", &error))
    }
}
