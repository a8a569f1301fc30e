//! Defines the times that only a target can measure, such as the times of the parts of a response.

use crate::console::panics::locked;
use hdrhistogram::Histogram;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) enum Part {
    FirstByte,
    /// The time from the send of a request, or from the call of `StreamTimes::watch`, to the first item.
    FirstItem,
    /// The time from the intended start to the first item.
    FirstItemResponse,
    ItemGap,
    /// The time from the write of the last bytes of a request until the kernel has sent the last byte.
    Sending,
    /// The time from the arrival of the last byte of a response in the kernel until the response was read.
    Reading,
    Trend(Name),
    Counter(Name),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Name(pub(crate) &'static str);

/// All names that were deserialized. Names are never freed.
static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Name, D::Error> {
        let read = String::deserialize(from)?;
        let mut names = locked(&NAMES);
        if let Some(known) = names.get(read.as_str()) {
            return Ok(Name(known));
        }
        let name = read.leak();
        names.insert(name);
        Ok(Name(name))
    }
}

impl Part {
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Part::FirstByte => "first byte",
            Part::FirstItem => "first item",
            Part::FirstItemResponse => "since due",
            Part::ItemGap => "item gaps",
            Part::Sending => "sending",
            Part::Reading => "reading",
            Part::Trend(Name(name)) | Part::Counter(Name(name)) => name,
        }
    }

    #[must_use]
    pub(crate) fn key(self) -> &'static str {
        match self {
            Part::FirstByte => "first_byte_time_ns",
            Part::FirstItem => "first_item_time_ns",
            Part::FirstItemResponse => "first_item_response_time_ns",
            Part::ItemGap => "item_gap_time_ns",
            Part::Sending => "sending_time_ns",
            Part::Reading => "reading_time_ns",
            Part::Trend(Name(name)) | Part::Counter(Name(name)) => name,
        }
    }

    #[must_use]
    pub(crate) fn option(self) -> &'static str {
        match self {
            Part::Sending | Part::Reading => "write --kernel-timestamps",
            _ => "write --items sse or --items lines",
        }
    }

    pub(crate) fn of_own_target(self) -> &'static str {
        match self {
            Part::FirstItem | Part::FirstItemResponse | Part::ItemGap => {
                "pass the target's StreamTimes to About::stream_times in about()"
            }
            _ => "only the HTTP client of nanopace run measures them",
        }
    }
}

impl OwnTimes {
    pub(crate) fn counter(&self) -> Option<(&'static str, u64)> {
        match self.part {
            Part::Counter(Name(name)) => Some((name, self.untimed)),
            _ => None,
        }
    }
}

pub(crate) fn timed(own: &[OwnTimes]) -> impl Iterator<Item = &OwnTimes> {
    own.iter().filter(|own| own.counter().is_none())
}

pub(crate) fn counters(own: &[OwnTimes]) -> impl Iterator<Item = (&'static str, u64)> {
    own.iter().filter_map(OwnTimes::counter)
}

#[derive(Clone, Debug)]
pub(crate) struct OwnTimes {
    pub(crate) part: Part,
    /// The times in nanoseconds.
    pub(crate) times: Histogram<u64>,
    /// The number of events whose time is unknown, or the value of a counter.
    pub(crate) untimed: u64,
}

/// Longer times are recorded as one day.
const LONGEST_NS: u64 = 86_400 * 1_000_000_000;

#[must_use]
pub(crate) fn no_times() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("these bounds are valid")
}

pub(crate) fn record(times: &mut Histogram<u64>, time: Duration) {
    times.saturating_record(u64::try_from(time.as_nanos()).unwrap_or(LONGEST_NS));
}

pub(crate) fn add(sum: &mut Vec<OwnTimes>, others: Vec<OwnTimes>) {
    for mut other in others {
        if let Some(own) = sum.iter_mut().find(|own| own.part == other.part) {
            own.times += other.times;
            own.untimed = own.untimed.saturating_add(other.untimed);
        } else {
            // A histogram of the same part that is added later may contain longer times.
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
            OwnTimes { part, times, untimed: count }
        };
        let mut sum = Vec::new();
        add(&mut sum, vec![of(Part::ItemGap, 1_000, 2)]);
        add(&mut sum, vec![of(Part::FirstItem, 500, 4), of(Part::ItemGap, 1_000, 3)]);
        add(&mut sum, vec![of(Part::FirstItem, 500_000, 1)]);
        let counts = sum.iter().map(|own| (own.part, own.times.len(), own.untimed));
        let counts: Vec<_> = counts.collect();
        assert_eq!(counts, [(Part::ItemGap, 5, 5), (Part::FirstItem, 5, 5)]);
    }
}
