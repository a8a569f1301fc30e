//! Shapes as text.

use super::level::Level;
use crate::nanos::span_ns;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How a shape was made, in the grammar of shapes.
#[derive(Clone, Debug)]
pub(super) enum Text {
    Item(String),
    Row(Vec<Arc<Text>>),
    /// With a word behind it.
    With(Arc<Text>, String),
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
    /// One rate to another.
    pub(super) fn between(word: &str, from: Level, to: Level, rest: &str) -> Text {
        Text::Item(format!("{word} {from}..{to} {rest}"))
    }

    pub(super) fn then(self, next: Text) -> Text {
        let mut parts = self.into_parts();
        parts.extend(next.into_parts());
        Text::Row(parts)
    }

    fn into_parts(self) -> Vec<Arc<Text>> {
        match self {
            Text::Row(parts) => parts,
            other => vec![Arc::new(other)],
        }
    }

    pub(super) fn with(self, word: impl Into<String>) -> Text {
        Text::With(Arc::new(self), word.into())
    }

    /// Twice is not at all.
    pub(super) fn reversed(self) -> Text {
        match self {
            Text::With(inner, word) if word == REVERSE => Arc::unwrap_or_clone(inner),
            other => other.with(REVERSE),
        }
    }
}

const REVERSE: &str = "reverse";

/// A time in the largest unit that has a whole number of them.
pub(super) fn time_text(time: Duration) -> String {
    let ns = span_ns(time);
    let unit = UNITS.iter().find(|(_, unit_ns)| ns % unit_ns == 0);
    unit.map_or_else(String::new, |(unit, unit_ns)| format!("{}{unit}", ns / unit_ns))
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Text::Item(text) => f.write_str(text),
            Text::Row(parts) => parts.iter().enumerate().try_for_each(|(index, part)| {
                let comma = if index == 0 { "" } else { ", " };
                write!(f, "{comma}{part}")
            }),
            Text::With(inner, word) => match inner.as_ref() {
                Text::Row(_) => write!(f, "({inner}) {word}"),
                _ => write!(f, "{inner} {word}"),
            },
        }
    }
}
