//! Times that only a target knows: those of the parts of an answer.

use hdrhistogram::Histogram;

/// What is timed.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// From when a request was sent until the first byte of its answer.
    FirstByte,
    /// From then until the first item.
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
