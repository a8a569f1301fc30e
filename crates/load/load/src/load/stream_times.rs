//! When the items of streamed answers came, as a target's own calls note it.

use super::own_times::{OwnTimes, Part, no_times, record};
use super::slot::Slot;
use hdrhistogram::Histogram;
use nanopace::{Nanos, Pacer};
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// In the order in which they are recorded.
const PARTS: [Part; 3] = [Part::FirstItem, Part::FirstItemResponse, Part::ItemGap];

/// When the items of streamed answers came: the messages of a gRPC stream, the rows of a cursor. A target that has one
/// gives it to reports as its [`stream_times`](crate::Target::stream_times). These have three columns more, to three
/// digits and up to a day: *first item*, from when the call began to watch; *since due*, the same from the intended
/// start; and *item gaps*, between two items of a stream. `--fail-if` may be about `first-item`, `first-item-response`
/// and `item-gap` times. Nothing is recorded of the warm-up.
///
/// # Examples
///
/// ```
/// use nanopace_load::{Done, Failure, Load, Slot, StreamTimes, Target};
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
///     fn stream_times(&self) -> Option<&StreamTimes> {
///         Some(&self.times)
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
    /// Whose clock it is by, and what was recorded, from the first load on.
    paced: Mutex<Option<(Pacer, [Histogram<u64>; 3])>>,
}

/// The stream of one call. What came of it is recorded when this is dropped: also of a call that fails or is given up.
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
    /// None if nothing is to be recorded.
    clock: Option<Pacer>,
    due: Nanos,
    began: Nanos,
    /// When each item came.
    came: Vec<Nanos>,
    items: u64,
}

impl StreamTimes {
    /// Nothing came yet.
    #[must_use]
    pub fn new() -> StreamTimes {
        StreamTimes::default()
    }

    /// Watches the stream of a call. To be called when the request is about to be sent: the first item is timed from
    /// here.
    pub fn watch(&self, slot: Slot) -> StreamWatch<'_> {
        let clock = self.paced().as_ref().map(|(pacer, _)| pacer.clone());
        let clock = clock.filter(|_| slot.is_recorded);
        let began = clock.as_ref().map_or(Nanos::ZERO, Pacer::now);
        let due = slot.intended_start;
        StreamWatch { times: self, clock, due, began, came: Vec::new(), items: 0 }
    }

    /// The next load is paced by this.
    pub(crate) fn paced_by(&self, pacer: &Pacer) {
        *self.paced() = Some((pacer.clone(), PARTS.map(|_| no_times())));
    }

    /// All that was recorded since the last time.
    pub(crate) fn take(&self) -> Vec<OwnTimes> {
        let mut paced = self.paced();
        let none = PARTS.map(|_| no_times());
        let taken = paced.as_mut().map(|(_, times)| mem::replace(times, none.clone()));
        taken
            .unwrap_or(none)
            .into_iter()
            .zip(PARTS)
            .map(|(times, part)| OwnTimes { part, times, unknown: 0 })
            .collect()
    }

    fn paced(&self) -> MutexGuard<'_, Option<(Pacer, [Histogram<u64>; 3])>> {
        // What is in it is whole at any moment.
        self.paced.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StreamWatch<'_> {
    /// An item is there.
    pub fn item(&mut self) {
        self.items += 1;
        self.came.extend(self.clock.as_ref().map(Pacer::now));
    }

    /// How many there were.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }
}

impl Drop for StreamWatch<'_> {
    fn drop(&mut self) {
        let Some(first) = self.came.first() else { return };
        let mut paced = self.times.paced();
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

    /// What is recorded in milliseconds, part by part.
    fn taken(times: &StreamTimes) -> Vec<Vec<u64>> {
        let ms = |own: OwnTimes| {
            own.times.iter_recorded().map(|it| it.value_iterated_to() / 1_000_000).collect()
        };
        times.take().into_iter().map(ms).collect()
    }

    /// Of a stream that was due at 2 ms and is watched from 5 ms on, whose items come after so many milliseconds each.
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
    fn what_nobody_took_is_not_of_the_next_load() {
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
