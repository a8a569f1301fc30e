//! Records when the items of streamed responses arrive.

use super::stream_items::{Items, Scanner};
use crate::console::panics::locked;
use crate::load::own_times::{OwnTimes, Part, no_times, record};
use hdrhistogram::Histogram;
use nanopace::{Nanos, Pacer};
use std::mem;
use std::sync::Mutex;

#[derive(Debug)]
pub(crate) struct ItemTimer {
    items: Items,
    clock: Pacer,
    scanner: Scanner,
    now: Nanos,
    seen: SeenItems,
    /// Whether the exchange ends with the head of the response, because its body is not needed.
    pub(crate) is_head_enough: bool,
}

#[derive(Debug, Default)]
pub(crate) struct SeenItems {
    sent: Nanos,
    first_byte: Option<Nanos>,
    pub(crate) items: Vec<Nanos>,
}

impl ItemTimer {
    pub(crate) fn new(items: Items, clock: &Pacer) -> ItemTimer {
        let (scanner, seen) = (Scanner::new(items.clone()), SeenItems::default());
        ItemTimer {
            items,
            clock: clock.clone(),
            scanner,
            now: Nanos::ZERO,
            seen,
            is_head_enough: false,
        }
    }

    pub(crate) fn begin(&mut self) {
        self.scanner = Scanner::new(self.items.clone());
        self.seen.first_byte = None;
        self.seen.items.clear();
    }

    pub(crate) fn sent(&mut self, at: Nanos) {
        self.seen.sent = at;
    }

    pub(crate) fn came(&mut self) {
        self.now = self.clock.now();
        self.seen.first_byte.get_or_insert(self.now);
    }

    pub(crate) fn observe_body(&mut self, part: &[u8]) {
        for _ in 0..self.scanner.count(part) {
            self.seen.items.push(self.now);
        }
    }

    /// Records the end of the response. A last line without a line break counts as an item, but an unfinished event
    /// does not.
    pub(crate) fn end(&mut self) {
        for _ in 0..self.scanner.at_end() {
            self.seen.items.push(self.now);
        }
    }

    pub(crate) fn seen(&self) -> &SeenItems {
        &self.seen
    }
}

#[derive(Debug)]
pub(crate) struct StreamTimings {
    times: Mutex<[Histogram<u64>; 4]>,
}

const PARTS: [Part; 4] = [Part::FirstByte, Part::FirstItem, Part::FirstItemResponse, Part::ItemGap];

impl StreamTimings {
    pub(crate) fn new() -> StreamTimings {
        StreamTimings { times: Mutex::new(PARTS.map(|_| no_times())) }
    }

    /// Records the times of the items of a response, which may be incomplete. `due` is the intended start of its slot.
    pub(crate) fn record(&self, seen: &SeenItems, due: Nanos) {
        let sent = seen.sent;
        let mut times = locked(&self.times);
        let [first_byte, first_item, response, gaps] = &mut *times;
        if let Some(at) = seen.first_byte {
            record(first_byte, at - sent);
        }
        if let Some(at) = seen.items.first() {
            record(first_item, *at - sent);
            record(response, *at - due);
        }
        for pair in seen.items.windows(2) {
            record(gaps, pair[1] - pair[0]);
        }
    }

    pub(crate) fn take(&self) -> Vec<OwnTimes> {
        let empty = PARTS.map(|_| no_times());
        let mut times = locked(&self.times);
        let taken = mem::replace(&mut *times, empty).into_iter();
        taken.zip(PARTS).map(|(times, part)| OwnTimes { part, times, untimed: 0 }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nanopace::{ManualClock, Rate};
    use std::time::Duration;

    /// Returns the times of a response. Its request is due at 2 ms and sent at 5 ms. Each part arrives after the given
    /// number of milliseconds since the previous part.
    fn times(parts: &[(u64, &str)]) -> [Vec<u64>; 4] {
        let clock = ManualClock::new();
        let pacer = Pacer::builder(Rate::per_second(1).unwrap()).clock(clock.clone()).build();
        let (streams, at) = (StreamTimings::new(), |ms| Nanos::ZERO + Duration::from_millis(ms));
        let mut timed = ItemTimer::new("sse".parse().unwrap(), &pacer);
        timed.begin();
        timed.sent(at(5));
        clock.advance(Duration::from_millis(5));
        for (after, part) in parts {
            clock.advance(Duration::from_millis(*after));
            timed.came();
            timed.observe_body(part.as_bytes());
        }
        timed.end();
        streams.record(timed.seen(), at(2));
        let ms = |times: OwnTimes| {
            times.times.iter_recorded().map(|it| it.value_iterated_to() / 1_000_000).collect()
        };
        streams.take().into_iter().map(ms).collect::<Vec<_>>().try_into().unwrap()
    }

    #[test]
    fn times_are_those_of_the_clock() {
        let one = "data: x\n\n";
        for (parts, expected) in [
            (&[][..], [vec![], vec![], vec![], vec![]]),
            (&[(7, "")], [vec![7], vec![], vec![], vec![]]),
            (&[(7, "da"), (10, "ta: x\n\n")], [vec![7], vec![17], vec![20], vec![]]),
            (
                &[(7, ""), (10, one), (100, one), (30, one)],
                [vec![7], vec![17], vec![20], vec![30, 100]],
            ),
            (&[(7, "data: x\n\ndata: y\n\n")], [vec![7], vec![7], vec![10], vec![0]]),
            (&[(1, one), (20, ": ping\n\n"), (30, one)], [vec![1], vec![1], vec![4], vec![50]]),
        ] {
            assert_eq!(times(parts), expected, "{parts:?}");
        }
    }
}
