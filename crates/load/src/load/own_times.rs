//! Times that only a target knows, such as those of the parts of an answer.

use hdrhistogram::Histogram;

/// Times of one kind.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct OwnTimes {
    /// What they are called in a report.
    pub name: &'static str,
    /// What they are called in the JSON object.
    pub key: &'static str,
    /// In nanoseconds.
    pub times: Histogram<u64>,
}
