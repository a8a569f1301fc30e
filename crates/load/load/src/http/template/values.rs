//! Provides the values of placeholders. Random values depend only on the slot number, the step and the seed.

use crate::load::data::Data;
use crate::load::data::order::mixed;
use fastrand::Rng;
use hyper::header::HeaderValue;
use std::time::SystemTime;

#[derive(Debug)]
pub(crate) struct Values<'data> {
    pub(crate) slot: u64,
    pub(crate) random: Rng,
    pub(crate) time: fn() -> SystemTime,
    row: Option<(&'data Data, usize)>,
    taken: &'data [Vec<u8>],
}

impl<'data> Values<'data> {
    pub(crate) fn of_slot(slot: u64, seed: u64, data: Option<&'data Data>) -> Values<'data> {
        Values::of_step(0, slot, seed, data, &[])
    }

    /// Returns the values of a step. Each step of a slot's scenario has its own random values.
    pub(crate) fn of_step(
        step: u64,
        slot: u64,
        seed: u64,
        data: Option<&'data Data>,
        taken: &'data [Vec<u8>],
    ) -> Values<'data> {
        let random = Rng::with_seed(mixed(seed ^ mixed(slot)).wrapping_add(step));
        let row = data.map(|data| (data, data.row_of_slot(slot)));
        Values { slot, random, time: SystemTime::now, row, taken }
    }

    pub(crate) fn of_row(row: usize, data: &'data Data) -> Values<'data> {
        Values { row: Some((data, row)), ..Values::of_slot(0, 0, None) }
    }

    pub(crate) fn of(&self, column: usize) -> &'data [u8] {
        self.row.map_or(b"", |(data, row)| data.value(row, column))
    }

    pub(crate) fn taken(&self, index: usize) -> &'data [u8] {
        self.taken.get(index).map_or(b"", Vec::as_slice)
    }
}

pub(crate) fn fits_header(value: &[u8]) -> bool {
    HeaderValue::from_bytes(value).is_ok()
}

pub(crate) fn fits_url(value: &[u8]) -> bool {
    let is_fine = |byte: &u8| is_unreserved(*byte) || b"/?&=%:@!$'()*+,;".contains(byte);
    value.iter().all(is_fine)
}

/// Returns whether a value can be a path segment. The segments `.` and `..` would change the path.
pub(crate) fn fits_path(value: &[u8]) -> bool {
    ![&b"."[..], b".."].contains(&value)
}

pub(crate) fn fits_json(value: &[u8]) -> bool {
    std::str::from_utf8(value).is_ok()
}

/// Appends a value with percent-encoding, so that it stays within one path segment or one part of a query.
pub(crate) fn encode(value: &[u8], to: &mut Vec<u8>) {
    for byte in value {
        if is_unreserved(*byte) {
            to.push(*byte);
        } else {
            let digits =
                [byte >> 4, byte & 15].map(|digit| b"0123456789ABCDEF"[usize::from(digit)]);
            to.extend([b'%', digits[0], digits[1]]);
        }
    }
}

pub(crate) fn encoded(value: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    encode(value, &mut whole);
    whole
}

/// Returns whether a byte is an unreserved character (RFC 3986, section 2.3).
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}
