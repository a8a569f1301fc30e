//! Where a command writes its results: text for people, one JSON object for programs.

use anyhow::Context;
use serde::Serialize;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Where text and JSON go.
///
/// Text goes to standard output. A JSON object goes to a file, or to standard output; then the text
/// goes to standard error instead.
#[derive(Debug)]
pub struct Output {
    json: Option<JsonFile>,
    /// Whether something else is written to standard output.
    is_beside: bool,
}

#[derive(Debug)]
enum JsonFile {
    Stdout,
    File(File),
}

impl Output {
    /// Creates the file for the JSON object, if one is wanted; `-` is standard output.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn create(json: Option<&Path>) -> anyhow::Result<Output> {
        let json = match json {
            None => None,
            Some(path) if path == Path::new("-") => Some(JsonFile::Stdout),
            Some(path) => Some(JsonFile::File(create_file(path)?)),
        };
        Ok(Output { json, is_beside: false })
    }

    /// The same, but text goes to standard error if something else `is_on_stdout`.
    #[must_use]
    pub fn beside(self, is_on_stdout: bool) -> Output {
        Output { is_beside: is_on_stdout, ..self }
    }

    /// Writes the JSON object, if one is wanted, and ends it with a new line.
    ///
    /// # Errors
    ///
    /// If nothing more can be written.
    pub fn write_json<T: Serialize>(&self, object: impl FnOnce() -> T) -> io::Result<()> {
        let Some(json) = &self.json else { return Ok(()) };
        let mut text = serde_json::to_string_pretty(&object())?;
        text.push('\n');
        match json {
            JsonFile::Stdout => io::stdout().write_all(text.as_bytes()),
            JsonFile::File(file) => { file }.write_all(text.as_bytes()),
        }
    }

    /// Writes text.
    ///
    /// # Errors
    ///
    /// If nothing more can be written.
    pub fn write_text(&self, text: &impl Display) -> io::Result<()> {
        let text = text.to_string();
        match self.json {
            Some(JsonFile::Stdout) => io::stderr().write_all(text.as_bytes()),
            _ if self.is_beside => io::stderr().write_all(text.as_bytes()),
            _ => io::stdout().write_all(text.as_bytes()),
        }
    }
}

/// Creates the file at `path`.
///
/// # Errors
///
/// If it cannot be written; the message names it.
pub fn create_file(path: &Path) -> anyhow::Result<File> {
    File::create(path).with_context(|| format!("cannot write {}", path.display()))
}
