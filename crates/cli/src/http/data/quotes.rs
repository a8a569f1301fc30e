//! Quotes and commas of CSV (RFC 4180, section 2): what the crate `csv` reads somehow is refused here, as a quote that
//! never closes would take all rows after it for one value; and a row of another length, as only here is known where.

use super::lines::Lines;
use nanopace_load::console::position::begins_character;
use std::fmt::{self, Display, Formatter};
use std::io::{self, Read};

/// Where in a field the bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Begin,
    Plain,
    Quoted,
    /// After a quote within quotes: the end of the field, or the first half of a quote.
    Closed,
}

/// A line and a column of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    line: usize,
    column: usize,
}

impl At {
    fn next(self) -> At {
        At { column: self.column + 1, ..self }
    }
}

impl Display for At {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "line {} column {}", self.line, self.column)
    }
}

/// Reads on, and looks at the quotes and commas.
#[derive(Debug)]
pub(super) struct Quotes<R> {
    inner: R,
    state: State,
    /// Where the last byte was.
    at: At,
    /// Where the last field with quotes began.
    opened: At,
    /// Where the names begin, which are the first record.
    pub(super) names: Vec<At>,
    /// How many values of the record there are so far.
    values: usize,
    /// Whether no record has begun since the last end of a line: the next byte that ends no line begins one.
    is_between: bool,
    /// The lines on which records begin. The first record has the names.
    pub(super) lines: Lines,
}

impl<R: Read> Quotes<R> {
    pub(super) fn new(inner: R) -> Quotes<R> {
        Quotes {
            inner,
            state: State::Begin,
            at: At { line: 1, column: 0 },
            opened: At { line: 1, column: 1 },
            names: Vec::new(),
            values: 0,
            is_between: true,
            lines: Lines::default(),
        }
    }

    fn look(&mut self, byte: u8) -> Result<(), String> {
        self.at.column += usize::from(begins_character(byte));
        let ends_line = b"\r\n".contains(&byte);
        if self.is_between && !ends_line {
            self.lines.begin(self.at.line);
            self.values = 0;
            self.value(self.at)?;
        }
        self.state = match (self.state, byte) {
            (State::Quoted, b'"') => State::Closed,
            (State::Quoted, _) | (State::Closed, b'"') => State::Quoted,
            (_, b',' | b'\n' | b'\r') => State::Begin,
            (State::Begin, b'"') => {
                self.opened = self.at;
                State::Quoted
            }
            (State::Closed, _) => {
                return Err(format!(
                    "{}: a comma or the end of the line must follow a closing quote; \
                     write \"\" for a quote within quotes",
                    self.at
                ));
            }
            _ => State::Plain,
        };
        match self.state {
            State::Begin if !ends_line => self.value(self.at.next())?,
            State::Begin => self.end_record(self.at)?,
            _ => {}
        }
        self.is_between = self.state == State::Begin && ends_line;
        if byte == b'\n' {
            self.at = At { line: self.at.line + 1, column: 0 };
        }
        Ok(())
    }

    /// A value begins here, or a name in the first record.
    fn value(&mut self, at: At) -> Result<(), String> {
        self.values += 1;
        if self.lines.count() == 1 {
            self.names.push(at);
        }
        let names = self.names.len();
        if self.values > names {
            return Err(format!("{at}: a value too many: the first line has {names} names"));
        }
        Ok(())
    }

    /// A record ends here, unless none has begun.
    fn end_record(&self, at: At) -> Result<(), String> {
        let (values, names) = (self.values, self.names.len());
        if !self.is_between && values < names {
            return Err(format!("{at}: {values} values, but the first line has {names} names"));
        }
        Ok(())
    }

    /// Where all of it ends.
    pub(super) fn end(&self) -> At {
        self.at.next()
    }

    fn end_all(&self) -> Result<(), String> {
        match self.state {
            State::Quoted => Err(format!("{}: this quote never closes", self.opened)),
            _ => self.end_record(self.end()),
        }
    }
}

impl<R: Read> Read for Quotes<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(to)?;
        let looked = match bytes {
            0 if !to.is_empty() => self.end_all(),
            _ => to[..bytes].iter().try_for_each(|byte| self.look(*byte)),
        };
        looked.map(|()| bytes).map_err(io::Error::other)
    }
}
