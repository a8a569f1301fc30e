//! Times that only a target knows: those of the parts of an answer.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// What is timed.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub enum Part {
    /// From when a request was sent until the first byte of its answer.
    FirstByte,
    /// From when it was sent until the first item.
    FirstItem,
    /// From the intended start until the first item.
    FirstItemResponse,
    /// From an item to the next one of the same answer.
    ItemGap,
}

impl Part {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Part; 4] =
        [Part::FirstByte, Part::FirstItem, Part::FirstItemResponse, Part::ItemGap];

    /// What its times are called in a report.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Part::FirstByte => "first byte",
            Part::FirstItem => "first item",
            Part::FirstItemResponse => "since due",
            Part::ItemGap => "item gaps",
        }
    }

    /// What its times are called in the JSON object.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Part::FirstByte => "first_byte_time_ns",
            Part::FirstItem => "first_item_time_ns",
            Part::FirstItemResponse => "first_item_response_time_ns",
            Part::ItemGap => "item_gap_time_ns",
        }
    }
}

/// Times of one kind.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct OwnTimes {
    /// Of what.
    pub part: Part,
    /// In nanoseconds.
    pub times: Histogram<u64>,
}

/// Adds others, part by part.
pub(crate) fn add(sum: &mut Vec<OwnTimes>, others: Vec<OwnTimes>) {
    for mut other in others {
        if let Some(own) = sum.iter_mut().find(|own| own.part == other.part) {
            own.times += other.times;
        } else {
            // Others may have longer times.
            other.times.auto(true);
            sum.push(other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_the_same_part_are_added() {
        let of = |part, most, count| {
            let mut times = Histogram::new_with_bounds(1, most, 3).unwrap();
            times.record_n(most, count).unwrap();
            OwnTimes { part, times }
        };
        let mut sum = Vec::new();
        add(&mut sum, vec![of(Part::ItemGap, 1_000, 2)]);
        add(&mut sum, vec![of(Part::FirstItem, 500, 4), of(Part::ItemGap, 1_000, 3)]);
        add(&mut sum, vec![of(Part::FirstItem, 500_000, 1)]);
        let counts: Vec<_> = sum.iter().map(|own| (own.part, own.times.len())).collect();
        assert_eq!(counts, [(Part::ItemGap, 5), (Part::FirstItem, 5)]);
    }
}
