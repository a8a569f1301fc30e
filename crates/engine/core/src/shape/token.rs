//! Splits the string of a shape into words.

use super::Level;
use crate::error::{ShapeError, ShapeSyntaxError, shown};
use crate::rate::time_ns;
use std::time::Duration;

/// A word of the string. The end of the string is an empty word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    /// The position of the word's first character, counted from 1.
    pub(super) column: usize,
}

impl Token<'_> {
    pub(super) fn is_end(self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn error(self, instead: &str) -> ShapeSyntaxError {
        let here =
            if self.is_end() { "the end".to_owned() } else { format!("`{}`", shown(self.text)) };
        ShapeSyntaxError::new(self.column, format!("{here}: {instead}"))
    }

    pub(super) fn located<T>(self, result: Result<T, ShapeError>) -> Result<T, ShapeSyntaxError> {
        result.map_err(|error| ShapeSyntaxError::new(self.column, error.to_string()))
    }

    pub(super) fn level(self) -> Result<Level, ShapeSyntaxError> {
        self.text.parse().map_err(|error: crate::RateError| self.error(&error.to_string()))
    }

    pub(super) fn time(self) -> Result<Duration, ShapeSyntaxError> {
        let instead = "write a time in whole nanoseconds, a number and a unit, such as 30s, 500ms, 1.5min, 2h or 1d";
        self.maybe_time().ok_or_else(|| self.error(instead))
    }

    pub(super) fn maybe_time(self) -> Option<Duration> {
        let ns = u64::try_from(time_ns(self.text)?).unwrap_or(u64::MAX);
        Some(Duration::from_nanos(ns))
    }
}

#[derive(Debug)]
pub(super) struct Tokens<'a> {
    rest: &'a str,
    column: usize,
}

/// The marks that end a word, and are words themselves. No shape contains `...`, but without this mark, `1/s...6/s`
/// would be read as a range up to `.6/s`.
const MARKS: [&str; 5] = [",", "(", ")", "...", ".."];

impl<'a> Tokens<'a> {
    pub(super) fn of(text: &'a str) -> Tokens<'a> {
        Tokens { rest: text, column: 1 }
    }

    pub(super) fn peek(&self) -> Token<'a> {
        let rest = self.rest.trim_start();
        let spaces = &self.rest[..self.rest.len() - rest.len()];
        let column = self.column + spaces.chars().count();
        let mark = MARKS.iter().find(|mark| rest.starts_with(**mark));
        let length = mark.map_or_else(|| word_length(rest), |mark| mark.len());
        Token { text: &rest[..length], column }
    }

    pub(super) fn take(&mut self) -> Token<'a> {
        let token = self.peek();
        self.rest = &self.rest.trim_start()[token.text.len()..];
        self.column = token.column + token.text.chars().count();
        token
    }

    pub(super) fn take_if(&mut self, text: &str) -> Option<Token<'a>> {
        (self.peek().text == text).then(|| self.take())
    }
}

fn word_length(text: &str) -> usize {
    let ends = |(index, c): &(usize, char)| {
        c.is_whitespace() || MARKS.iter().any(|mark| text[*index..].starts_with(mark))
    };
    text.char_indices().find(ends).map_or(text.len(), |(index, _)| index)
}
