//! Records when the items of streamed responses arrive, for targets of your own.

use super::own_times::{OwnTimes, Part, no_times, record};
use super::slot::Slot;
use crate::console::panics::locked;
use hdrhistogram::Histogram;
use nanopace::{Nanos, Pacer};
use std::mem;
use std::sync::Mutex;

const PARTS: [Part; 3] = [Part::FirstItem, Part::FirstItemResponse, Part::ItemGap];

/// Records the arrival times of items in streamed responses, such as the messages of a gRPC stream or the rows of a
/// cursor. A target lists its `StreamTimes` in [`About`](crate::About). Reports then have three more columns: *first
/// item*, from the start of the watch to the first item; *since due*, from the intended start to the first item; and
/// *item gaps*, between two items of a stream. Times have three significant digits; a time above one day is recorded as
/// one day. `--fail-if` accepts `first-item`, `first-item-response` and `item-gap` times. The warm-up is not recorded.
///
/// # Examples
///
/// ```
/// use nanopace_load::{About, Done, Failure, Load, Slot, StreamTimes, Target};
///
/// #[derive(Default)]
/// struct Feed {
///     times: StreamTimes,
/// }
///
/// impl Target for Feed {
///     type Session = ();
///
///     async fn connect(&self, _index: usize) -> Result<(), Failure> {
///         Ok(())
///     }
///
///     async fn call(&self, _session: &mut (), slot: Slot) -> Result<Done, Failure> {
///         let mut stream = self.times.watch(slot);
///         for _message in 0..3 {
///             tokio::task::yield_now().await;
///             stream.item();
///         }
///         Ok(Done::new().items(stream.items()))
///     }
///
///     fn about(&self) -> About<'_> {
///         About::new().stream_times(&self.times)
///     }
/// }
///
/// # fn main() -> Result<(), nanopace_load::LoadError> {
/// let load = Load::new("1k/s".parse()?).requests(100).fail_if("count item-gap = 200")?;
/// let report = load.run_blocking(Feed::default())?;
/// assert_eq!((report.items(), report.missed().len()), (300, 0));
/// assert!(report.first_item_time(0.5) <= report.first_item_response_time(0.5));
/// println!("from one item to the next: {:?} in the median", report.item_gap_time(0.5));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct StreamTimes {
    /// The pacer of the load, and the recorded times. `None` before the first load.
    paced: Mutex<Option<(Pacer, [Histogram<u64>; 3])>>,
}

/// Watches the stream of one call. Dropping the watch records the arrival times of the items seen so far, even if the
/// call failed or was given up.
///
/// ```
/// use nanopace_load::{Slot, StreamTimes, StreamWatch};
///
/// fn first_of(times: &StreamTimes, slot: Slot) -> u64 {
///     let mut stream: StreamWatch<'_> = times.watch(slot);
///     stream.item();
///     stream.items()
/// }
/// ```
#[derive(Debug)]
#[must_use]
pub struct StreamWatch<'target> {
    times: &'target StreamTimes,
    clock: Option<Pacer>,
    due: Nanos,
    began: Nanos,
    came: Vec<Nanos>,
    items: u64,
}

impl StreamTimes {
    /// Returns a recorder without times.
    #[must_use]
    pub fn new() -> StreamTimes {
        StreamTimes::default()
    }

    /// Watches the stream of a call. Call `watch` just before you send the request: the time to the first item counts
    /// from the call of `watch`.
    pub fn watch(&self, slot: Slot) -> StreamWatch<'_> {
        let clock = locked(&self.paced).as_ref().map(|(pacer, _)| pacer.clone());
        let clock = clock.filter(|_| slot.is_recorded);
        let began = clock.as_ref().map_or(Nanos::ZERO, Pacer::now);
        let due = slot.intended_start;
        StreamWatch { times: self, clock, due, began, came: Vec::new(), items: 0 }
    }

    pub(crate) fn paced_by(&self, pacer: &Pacer) {
        *locked(&self.paced) = Some((pacer.clone(), PARTS.map(|_| no_times())));
    }

    pub(crate) fn take(&self) -> Vec<OwnTimes> {
        let mut paced = locked(&self.paced);
        let none = PARTS.map(|_| no_times());
        let taken = paced.as_mut().map(|(_, times)| mem::replace(times, none.clone()));
        taken
            .unwrap_or(none)
            .into_iter()
            .zip(PARTS)
            .map(|(times, part)| OwnTimes { part, times, untimed: 0 })
            .collect()
    }
}

impl StreamWatch<'_> {
    /// Records that an item has arrived.
    pub fn item(&mut self) {
        self.items += 1;
        self.came.extend(self.clock.as_ref().map(Pacer::now));
    }

    /// Returns the number of items so far.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }
}

impl Drop for StreamWatch<'_> {
    fn drop(&mut self) {
        let Some(first) = self.came.first() else { return };
        let mut paced = locked(&self.times.paced);
        let Some((_, [first_item, response, gaps])) = paced.as_mut() else { return };
        record(first_item, *first - self.began);
        record(response, *first - self.due);
        self.came.windows(2).for_each(|pair| record(gaps, pair[1] - pair[0]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nanopace::{ManualClock, Rate};
    use std::time::Duration;

    const NONE: [[u64; 0]; 3] = [[]; 3];

    fn taken(times: &StreamTimes) -> Vec<Vec<u64>> {
        let ms = |own: OwnTimes| {
            own.times.iter_recorded().map(|it| it.value_iterated_to() / 1_000_000).collect()
        };
        times.take().into_iter().map(ms).collect()
    }

    /// Returns the recorded times of one call. The call is due at 2 ms, and its stream is watched from 5 ms. Each
    /// element of `after` is the time in milliseconds from the previous item, or from 5 ms, to the next item.
    fn of_stream(is_recorded: bool, after: &[u64]) -> Vec<Vec<u64>> {
        let (clock, times) = (ManualClock::new(), StreamTimes::new());
        let pacer = Pacer::builder(Rate::per_second(1).unwrap()).clock(clock.clone()).build();
        times.paced_by(&pacer);
        let due = Nanos::ZERO + Duration::from_millis(2);
        clock.advance(Duration::from_millis(5));
        let mut stream = times.watch(Slot { is_recorded, intended_start: due, ..Slot::ALONE });
        for after in after {
            clock.advance(Duration::from_millis(*after));
            stream.item();
        }
        assert_eq!(stream.items(), after.len() as u64);
        drop(stream);
        let recorded = taken(&times);
        assert_eq!(taken(&times), NONE);
        recorded
    }

    #[test]
    fn items_are_timed_from_the_watch_and_from_the_intended_start() {
        for (after, expected) in [
            (&[][..], [vec![], vec![], vec![]]),
            (&[7], [vec![7], vec![10], vec![]]),
            (&[7, 100, 0, 30], [vec![7], vec![10], vec![0, 30, 100]]),
        ] {
            assert_eq!(of_stream(true, after), expected, "{after:?}");
            assert_eq!(of_stream(false, after), NONE, "of the warm-up: {after:?}");
        }
    }

    #[test]
    fn times_that_were_not_taken_do_not_reach_the_next_load() {
        let times = StreamTimes::new();
        let pacer = Pacer::new(Rate::per_second(1).unwrap());
        for _ in 0..2 {
            times.paced_by(&pacer);
            times.watch(Slot { is_recorded: true, ..Slot::ALONE }).item();
        }
        let counts = times.take().into_iter().map(|own| own.times.len());
        assert_eq!(counts.collect::<Vec<_>>(), [1, 1, 0]);
    }

    #[test]
    fn without_a_load_items_are_only_counted() {
        let times = StreamTimes::new();
        let mut stream = times.watch(Slot { is_recorded: true, ..Slot::ALONE });
        stream.item();
        assert_eq!(stream.items(), 1);
        drop(stream);
        assert_eq!(taken(&times), NONE);
    }
}
