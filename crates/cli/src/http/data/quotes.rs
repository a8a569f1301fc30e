//! Quotes of CSV (RFC 4180, section 2): what the crate `csv` reads somehow is refused here, as a quote that
//! never closes would take all rows behind it for one value.

use super::lines::Lines;
use std::io::{self, Read};

/// Where in a field the bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Begin,
    Plain,
    Quoted,
    /// Behind a quote within quotes: the end of the field, or the first half of a quote.
    Closed,
}

/// Reads on, and looks at the quotes.
#[derive(Debug)]
pub(super) struct Quotes<R> {
    inner: R,
    state: State,
    line: usize,
    column: usize,
    /// Where the last field with quotes began.
    opened: (usize, usize),
    /// Whether the next byte begins a record, unless it ends a line.
    is_between: bool,
    /// Those of records, of which the first has the names.
    pub(super) lines: Lines,
}

impl<R: Read> Quotes<R> {
    pub(super) fn new(inner: R) -> Quotes<R> {
        Quotes {
            inner,
            state: State::Begin,
            line: 1,
            column: 0,
            opened: (1, 1),
            is_between: true,
            lines: Lines::default(),
        }
    }

    fn look(&mut self, byte: u8) -> Result<(), String> {
        self.column += 1;
        let ends_line = b"\r\n".contains(&byte);
        if self.is_between && !ends_line {
            self.lines.begin(self.line);
        }
        self.state = match (self.state, byte) {
            (State::Quoted, b'"') => State::Closed,
            (State::Quoted, _) | (State::Closed, b'"') => State::Quoted,
            (_, b',' | b'\n' | b'\r') => State::Begin,
            (State::Begin, b'"') => {
                self.opened = (self.line, self.column);
                State::Quoted
            }
            (State::Closed, _) => {
                let (line, column) = (self.line, self.column);
                return Err(format!(
                    "line {line} column {column}: a comma or the end of the line must follow a closing quote; \
                     write \"\" for a quote within quotes"
                ));
            }
            _ => State::Plain,
        };
        self.is_between = self.state == State::Begin && ends_line;
        if byte == b'\n' {
            (self.line, self.column) = (self.line + 1, 0);
        }
        Ok(())
    }

    fn end(&self) -> Result<(), String> {
        let (line, column) = self.opened;
        match self.state {
            State::Quoted => Err(format!("line {line} column {column}: this quote never closes")),
            _ => Ok(()),
        }
    }
}

impl<R: Read> Read for Quotes<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(to)?;
        let looked = match bytes {
            0 if !to.is_empty() => self.end(),
            _ => to[..bytes].iter().try_for_each(|byte| self.look(*byte)),
        };
        looked.map(|()| bytes).map_err(io::Error::other)
    }
}
