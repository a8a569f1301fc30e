//! Reads interval logs.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

pub(crate) fn histograms(log: &[u8], tag: &str) -> Vec<Histogram<u64>> {
    IntervalLogIterator::new(log)
        .filter_map(|entry| match entry.unwrap() {
            LogEntry::Interval(interval) if interval.tag().is_some_and(|t| t.as_str() == tag) => {
                Some(decode(interval.encoded_histogram()))
            }
            _ => None,
        })
        .collect()
}

pub(crate) fn decode(text: &str) -> Histogram<u64> {
    let bytes = base64::Engine::decode(&base64::prelude::BASE64_STANDARD, text).unwrap();
    Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap()
}
