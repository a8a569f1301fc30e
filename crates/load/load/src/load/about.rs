//! Defines `About`, the description that a target gives of itself: its name and its own measurements.

use super::data::rows::Rows;
use super::measures::{Counter, Trend};
use super::own_times::{self, OwnTimes};
use super::stream_times::StreamTimes;
use nanopace::Pacer;

/// The description that a target returns from [`Target::about`](crate::Target::about): its name, and the measurements
/// that it makes itself.
///
/// # Examples
///
/// ```
/// use nanopace_load::{About, Counter, StreamTimes};
///
/// struct Feed {
///     gaps: Counter,
///     times: StreamTimes,
/// }
///
/// impl Feed {
///     fn about(&self) -> About<'_> {
///         About::new().name("feed").counter(&self.gaps).stream_times(&self.times)
///     }
/// }
/// ```
#[derive(Debug, Default)]
#[must_use]
pub struct About<'target> {
    pub(crate) name: Option<String>,
    stream_times: Option<&'target StreamTimes>,
    counters: Vec<&'target Counter>,
    trends: Vec<&'target Trend>,
    rows: Option<&'target Rows>,
}

impl<'target> About<'target> {
    /// Returns a description without measurements. Reports use the name of the target's type, unless
    /// [`name`](About::name) is called.
    pub fn new() -> About<'target> {
        About::default()
    }

    /// Sets the name that reports use.
    pub fn name(mut self, name: impl Into<String>) -> About<'target> {
        self.name = Some(name.into());
        self
    }

    /// Sets the recorder of item times, for targets whose responses are streams. See [`StreamTimes`].
    pub fn stream_times(mut self, times: &'target StreamTimes) -> About<'target> {
        self.stream_times = Some(times);
        self
    }

    /// Adds a counter.
    pub fn counter(mut self, counter: &'target Counter) -> About<'target> {
        self.counters.push(counter);
        self
    }

    /// Adds a trend.
    pub fn trend(mut self, trend: &'target Trend) -> About<'target> {
        self.trends.push(trend);
        self
    }

    /// Sets the rows that calls use, so that `--data-end stop` ends the load after the last row.
    pub fn rows(mut self, rows: &'target Rows) -> About<'target> {
        self.rows = Some(rows);
        self
    }

    pub(crate) fn paced_by(&self, pacer: &Pacer) {
        drop(self.take());
        self.stream_times.iter().for_each(|times| times.paced_by(pacer));
    }

    pub(crate) fn take(&self) -> Vec<OwnTimes> {
        let mut taken = self.stream_times.map_or_else(Vec::new, StreamTimes::take);
        own_times::add(&mut taken, self.trends.iter().map(|trend| trend.take()).collect());
        own_times::add(&mut taken, self.counters.iter().map(|counter| counter.take()).collect());
        taken
    }

    pub(crate) fn most_slots(&self) -> Option<u64> {
        self.rows.and_then(Rows::most_slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::own_times::{counters, timed};
    use crate::load::slot::Slot;
    use nanopace::Rate;
    use std::time::Duration;

    #[test]
    fn measures_of_one_name_are_put_together_and_a_load_begins_with_none() {
        let hits = [Counter::new("hits"), Counter::new("hits")];
        let locks = [Trend::new("lock"), Trend::new("lock")];
        let about = || {
            let about = About::new().counter(&hits[0]).trend(&locks[0]);
            about.trend(&locks[1]).counter(&hits[1])
        };
        let slot = Slot { is_recorded: true, ..Slot::ALONE };
        let measure = || {
            for (counter, trend) in hits.iter().zip(&locks) {
                counter.add(slot, 2);
                trend.record(slot, Duration::from_secs(1));
            }
        };
        let taken = || {
            let own = about().take();
            let times = timed(&own).map(|own| (own.part.name(), own.times.len()));
            (counters(&own).collect::<Vec<_>>(), times.collect::<Vec<_>>())
        };
        measure();
        assert_eq!(taken(), (vec![("hits", 4)], vec![("lock", 2)]));
        measure();
        about().paced_by(&Pacer::new(Rate::per_second(1).unwrap()));
        assert_eq!(taken(), (vec![("hits", 0)], vec![("lock", 0)]));
    }
}
