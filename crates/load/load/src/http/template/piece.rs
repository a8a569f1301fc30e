//! Defines the pieces of a template: fixed text, and values that are filled in.

use super::values::{Values, encode};
use fastrand::Rng;
use std::io::Write;
use std::iter;
use std::ops::RangeInclusive;
use std::time::UNIX_EPOCH;

#[derive(Debug, PartialEq)]
pub(crate) enum Piece {
    Text(Box<[u8]>),
    Slot,
    Now,
    NowMs,
    /// A random UUID with 122 random bits (RFC 9562, section 5.4).
    Uuid,
    Random(RangeInclusive<i64>),
    RandomText(usize),
    Column(usize, Form),
    Taken(usize, Form),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    Plain,
    Encoded,
    /// The value is a JSON string, with its quotes.
    Json,
}

impl Piece {
    /// Returns whether the piece becomes the same text in all templates that are filled for the same slot.
    pub(crate) fn is_steady(&self) -> bool {
        matches!(self, Piece::Text(_) | Piece::Slot | Piece::Column(..) | Piece::Taken(..))
    }

    pub(crate) fn fill(&self, values: &mut Values<'_>, to: &mut Vec<u8>) {
        match self {
            Piece::Text(text) => to.extend_from_slice(text),
            Piece::Slot => number(to, values.slot),
            Piece::Now => push(to, humantime::format_rfc3339_millis((values.time)())),
            Piece::NowMs => {
                let since = (values.time)().duration_since(UNIX_EPOCH);
                number(to, since.unwrap_or_default().as_millis());
            }
            Piece::Uuid => uuid(&mut values.random, to),
            Piece::Random(range) => number(to, values.random.i64(range.clone())),
            Piece::RandomText(length) => {
                let random = &mut values.random;
                to.extend(iter::repeat_with(|| random.alphanumeric() as u8).take(*length));
            }
            Piece::Column(column, form) => form.write(values.of(*column), to),
            Piece::Taken(index, form) => form.write(values.taken(*index), to),
        }
    }
}

impl Form {
    fn write(self, value: &[u8], to: &mut Vec<u8>) {
        match self {
            Form::Plain => to.extend_from_slice(value),
            Form::Encoded => encode(value, to),
            Form::Json => serde_json::to_writer(to, &String::from_utf8_lossy(value))
                .expect("writing to a `Vec` cannot fail"),
        }
    }
}

fn uuid(random: &mut Rng, to: &mut Vec<u8>) {
    let mut bytes = random.u128(..).to_be_bytes();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    for (index, byte) in bytes.into_iter().enumerate() {
        if [4, 6, 8, 10].contains(&index) {
            to.push(b'-');
        }
        to.extend([byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[usize::from(digit)]));
    }
}

fn number(to: &mut Vec<u8>, number: impl itoa::Integer) {
    to.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn push(to: &mut Vec<u8>, text: impl std::fmt::Display) {
    write!(to, "{text}").expect("writing to a `Vec` cannot fail");
}
