//! Reads CSV records (RFC 4180), which span several lines if a quoted value contains line breaks. Unlike in the RFC,
//! the value of the last column may contain commas without quotes.

use crate::console::position::{line_and_column, utf8};
use std::io::BufRead;
use std::ops::Range;

/// The byte offset of an error in its record, and the error message.
pub(super) type Wrong = (usize, String);

#[derive(Debug)]
pub(super) struct Value {
    pub(super) text: String,
    /// The byte offset at which the value begins, after leading blanks.
    pub(super) at: usize,
    pub(super) next: Option<usize>,
}

#[derive(Debug)]
pub(super) struct Record<R> {
    input: R,
    pub(super) text: String,
    line: usize,
    lines: usize,
}

impl<R: BufRead> Record<R> {
    pub(super) fn new(input: R) -> Record<R> {
        Record { input, text: String::new(), line: 0, lines: 0 }
    }

    pub(super) fn next(&mut self) -> Result<bool, Wrong> {
        loop {
            self.text.clear();
            self.line = self.lines + 1;
            if !self.more()? {
                return Ok(false);
            }
            if !self.text.trim().is_empty() {
                return Ok(true);
            }
        }
    }

    pub(super) fn place(&self, at: usize) -> String {
        let (line, column) = line_and_column(self.text.as_bytes(), at.min(self.text.len()));
        format!("line {} column {column}", self.line + line - 1)
    }

    fn more(&mut self) -> Result<bool, Wrong> {
        let (mut bytes, before) = (Vec::new(), self.text.len());
        let read = self.input.read_until(b'\n', &mut bytes);
        if read.map_err(|error| (before, error.to_string()))? == 0 {
            return Ok(false);
        }
        self.lines += 1;
        let is_marked = self.lines == 1 && bytes.starts_with("\u{feff}".as_bytes());
        let bytes = &bytes[if is_marked { 3 } else { 0 }..];
        let text = utf8(bytes);
        let valid = text.err().unwrap_or(bytes.len());
        self.text.push_str(&String::from_utf8_lossy(&bytes[..valid]));
        text.map(|_| true).map_err(|at| (before + at, "this is not UTF-8".to_owned()))
    }

    pub(super) fn value(&mut self, begin: usize, is_last: bool) -> Result<Value, Wrong> {
        let open = self.text.len() - self.text[begin..].trim_start_matches([' ', '\t']).len();
        if self.text[open..].starts_with('"') {
            return self.quoted(open);
        }
        let comma = self.text[begin..].find(',').filter(|_| !is_last).map(|length| begin + length);
        let (text, at) = trimmed(&self.text, begin..comma.unwrap_or(self.text.len()));
        Ok(Value { text: text.to_owned(), at, next: comma.map(|comma| comma + 1) })
    }

    fn quoted(&mut self, open: usize) -> Result<Value, Wrong> {
        let (mut text, mut at) = (String::new(), open + 1);
        loop {
            let Some(length) = self.text[at..].find('"') else {
                text.push_str(&self.text[at..]);
                at = self.text.len();
                if self.more()? {
                    continue;
                }
                return Err((open, "this quoted value has no closing quote".to_owned()));
            };
            text.push_str(&self.text[at..at + length]);
            at += length + 1;
            if !self.text[at..].starts_with('"') {
                break;
            }
            text.push('"');
            at += 1;
        }
        let rest = self.text[at..].trim_start();
        match rest.chars().next() {
            None => Ok(Value { text, at: open, next: None }),
            Some(',') => Ok(Value { text, at: open, next: Some(self.text.len() - rest.len() + 1) }),
            Some(_) => Err((open, "write \"\" for a quote within quotes".to_owned())),
        }
    }
}

fn trimmed(text: &str, part: Range<usize>) -> (&str, usize) {
    let (begin, part) = (part.start, text[part].trim_end());
    (part.trim_start(), begin + part.len() - part.trim_start().len())
}
