//! Formats shapes in the grammar that `parse.rs` accepts.

use super::leaf::time_between;
use super::level::Level;
use crate::nanos::{duration, span_ns};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Debug)]
pub(super) enum Text {
    /// A constant rate and its duration in nanoseconds, which is `i64::MAX` if the rate never ends.
    Hold(Level, i64),
    Item(String),
    Row(Vec<Piece>),
    With(Arc<Text>, String),
    /// The part of an expression from one time to another. `i64::MAX` means the end of the expression.
    Part(Arc<Text>, i64, i64),
}

#[derive(Clone, Debug)]
pub(super) struct Piece {
    text: Arc<Text>,
    time_ns: i64,
}

const UNITS: [(&str, i64); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

impl Text {
    pub(super) fn between(word: &str, from: Level, to: Level, rest: &str) -> Text {
        Text::Item(format!("{word} {from}..{to} {rest}"))
    }

    pub(super) fn then(self, time_ns: i64, next: Text, next_ns: i64) -> Text {
        let mut pieces = self.into_pieces(time_ns);
        pieces.extend(next.into_pieces(next_ns));
        Text::Row(pieces)
    }

    fn into_pieces(self, time_ns: i64) -> Vec<Piece> {
        match self {
            Text::Row(pieces) => pieces,
            other => vec![Piece { text: Arc::new(other), time_ns }],
        }
    }

    pub(super) fn part(self: &Arc<Text>, from_ns: i64, until_ns: i64) -> Arc<Text> {
        let nested = || Text::Part(Arc::clone(self), from_ns, until_ns);
        Arc::new(match self.as_ref() {
            _ if from_ns == 0 && until_ns == i64::MAX => return Arc::clone(self),
            Text::Row(pieces) => return row_part(pieces, from_ns, until_ns),
            Text::Hold(level, time_ns) => {
                Text::Hold(*level, time_between(from_ns, until_ns.min(*time_ns)))
            }
            Text::Part(whole, start_ns, end_ns) => {
                let moved = |ns: i64| start_ns.checked_add(ns).filter(|&ns| ns < i64::MAX);
                let end = if until_ns == i64::MAX { Some(*end_ns) } else { moved(until_ns) };
                moved(from_ns).zip(end).map_or_else(nested, |(from_ns, until_ns)| {
                    Text::Part(Arc::clone(whole), from_ns, until_ns)
                })
            }
            Text::Item(_) | Text::With(..) => nested(),
        })
    }

    /// Returns the constant rates at the beginning and at the end, or `None` where no constant rate is known.
    pub(super) fn held(&self) -> (Option<Level>, Option<Level>) {
        match self {
            Text::Hold(level, _) => (Some(*level), Some(*level)),
            Text::Row(pieces) => {
                let first = pieces.first().and_then(|piece| piece.text.held().0);
                (first, pieces.last().and_then(|piece| piece.text.held().1))
            }
            _ => (None, None),
        }
    }

    pub(super) fn with(self, word: impl Into<String>) -> Text {
        Text::With(Arc::new(self), word.into())
    }

    pub(super) fn reversed(self) -> Text {
        match self {
            Text::Hold(..) => self,
            Text::With(inner, word) if word == REVERSE => Arc::unwrap_or_clone(inner),
            other => other.with(REVERSE),
        }
    }
}

const REVERSE: &str = "reverse";

pub(super) fn time_text(time: Duration) -> String {
    let ns = span_ns(time);
    let unit = UNITS.iter().find(|(_, unit_ns)| ns % unit_ns == 0);
    unit.map_or_else(String::new, |(unit, unit_ns)| format!("{}{unit}", ns / unit_ns))
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Text::Hold(level, i64::MAX) => write!(f, "hold {level} 1s forever"),
            Text::Hold(level, ns) => write!(f, "hold {level} {}", time_text(duration(*ns))),
            Text::Item(text) => f.write_str(text),
            Text::Row(pieces) => pieces.iter().enumerate().try_for_each(|(index, piece)| {
                let comma = if index == 0 { "" } else { ", " };
                write!(f, "{comma}{}", piece.text)
            }),
            Text::With(inner, word) => match inner.as_ref() {
                Text::Row(_) => write!(f, "({inner}) {word}"),
                _ => write!(f, "{inner} {word}"),
            },
            Text::Part(whole, from_ns, until_ns) => {
                write!(f, "{whole}")?;
                if *from_ns > 0 {
                    write!(f, " skip {}", time_text(duration(*from_ns)))?;
                }
                if *until_ns < i64::MAX {
                    write!(f, " take {}", time_text(duration(until_ns - from_ns)))?;
                }
                Ok(())
            }
        }
    }
}

impl Piece {
    fn part(&self, from_ns: i64, until_ns: i64) -> Option<Piece> {
        let (from_ns, end_ns) = (from_ns.max(0), until_ns.min(self.time_ns));
        let until_ns = if end_ns == self.time_ns { i64::MAX } else { end_ns };
        (from_ns < end_ns).then(|| Piece {
            text: self.text.part(from_ns, until_ns),
            time_ns: time_between(from_ns, end_ns),
        })
    }
}

fn row_part(pieces: &[Piece], from_ns: i64, until_ns: i64) -> Arc<Text> {
    let (mut start_ns, mut parts) = (0, Vec::new());
    for piece in pieces {
        parts.extend(piece.part(from_ns - start_ns, time_between(start_ns, until_ns)));
        start_ns = start_ns.saturating_add(piece.time_ns);
    }
    match &parts[..] {
        [only] => Arc::clone(&only.text),
        _ => Arc::new(Text::Row(parts)),
    }
}
